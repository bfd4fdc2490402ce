"""A script: everything over Spark Connect, with a server on this machine and a client that knows no JVM.

Each piece of work prints one line of JSON: its name, and rows or what an error said.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import trendweave
from tests.streaming.running import ROCKSDB, Files, counted, run_to_the_end
from trendweave import operators as ops
from trendweave.errors import TrendweaveError
from trendweave.runners.spark.versions import collect_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY = (
    "RETURN g, COUNT(*), AVG(S.x) PATTERN S+ WHERE [k] AND S.x < NEXT(S).x GROUP-BY g "
    "WITHIN 30 seconds SLIDE 10 seconds"
)
OTHER = "RETURN k, COUNT(*) PATTERN S+ WHERE [k] AND S.x > NEXT(S).x GROUP-BY k WITHIN 10 seconds SLIDE 10 seconds"
CHAIN = "FILTER x > 5 | AGGREGATE SUM(x) AS total OVER 3 ROWS BY k"
COLUMNS = "time timestamp, k long, g long, x long"


def make_events(rows: int = 120, first: int = 0) -> pa.Table:
    numbers = range(first, first + rows)
    return pa.table(
        {
            "time": pa.array([1_000_000 * number for number in numbers], pa.timestamp("us", "UTC")),
            "k": [number % 4 for number in numbers],
            "g": [number % 2 for number in numbers],
            "x": [number * 37 % 101 for number in numbers],
        }
    )


class Work:
    """Pieces of work, by name."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        pq.write_table(make_events(), folder / "events.parquet")
        self.frame: DataFrame = spark.read.parquet(str(folder / "events.parquet"))

    def batch(self) -> Any:
        rows = trendweave.query(QUERY).run(self.frame, type=None)
        return type(rows).__module__, *as_texts(collect_arrow(rows))

    def metrics(self) -> Any:
        metrics = trendweave.Metrics()
        collect_arrow(trendweave.query(QUERY).run(self.frame, type=None, metrics=metrics))
        return metrics.get["rows"], metrics.get["trends"] > 0

    def workload(self) -> Any:
        return as_texts(collect_arrow(trendweave.workload({"up": QUERY, "down": OTHER}).run(self.frame, type=None)))

    def operators(self) -> Any:
        return as_texts(collect_arrow(ops.pipe(CHAIN).run(self.frame)))

    def files(self) -> Any:
        events = trendweave.read(self.spark, str(self.folder / "events.parquet"))
        return as_texts(collect_arrow(trendweave.query(QUERY).run(events, type=None)))

    def store(self) -> Any:
        store = trendweave.EventStore.create(self.folder / "store", make_events().schema)
        store.append(self.frame)
        return as_texts(collect_arrow(trendweave.query(QUERY).run(store, spark=self.spark)))

    def follow(self) -> Any:
        store = trendweave.EventStore.create(self.folder / "followed", make_events().schema)
        store.append(make_events())
        return run_to_the_end(store.follow(self.spark), self.folder / "checkpoint of followed")[0].num_rows

    def stream(self) -> Any:
        files = Files(self.folder / "arriving")
        for first in (0, 60):
            files.write(make_events(60, first))
        files.write(make_events(1, 10_000))
        files.write(make_events(7))
        self.spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        rows = trendweave.query(QUERY).run(
            files.stream(self.spark, COLUMNS), type=None, watermark="1 second", buckets=2
        )
        found, finished = run_to_the_end(rows, self.folder / "checkpoint")
        return counted(finished, "late"), *as_texts(found)

    def stream_without_rocksdb(self) -> Any:
        self.spark.conf.unset("spark.sql.streaming.stateStore.providerClass")
        events = Files(self.folder / "nothing").stream(self.spark, COLUMNS)
        return trendweave.query(QUERY).run(events, type=None, watermark="1 second").columns


def as_texts(rows: pa.Table) -> list[str]:
    return sorted(json.dumps({name: str(value) for name, value in row.items()}) for row in rows.to_pylist())


def report(name: str, work: Callable[[], Any]) -> None:
    try:
        found = {"found": work()}
    except (TrendweaveError, PySparkException) as error:
        found = {"error": str(error)}
    print("RESULT " + json.dumps({"name": name, **found}), flush=True)


def main(folder: str, names: list[str]) -> None:
    # PySpark starts the server itself.
    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.connect.grpc.binding.address", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    work = Work(spark, Path(folder))
    for name in names:
        report(name, getattr(work, name))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
