"""Queries on stores by Spark's tasks: a bucketed store against Spark's own read, shuffle and sort of the same events,
and rare patterns against Spark's own filters on Parquet files with our engine behind them.

All calls in turn in one session, medians, and answers compared with those of the in-process runner.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.random_patterns import synthetic_events
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, duration
from benchmarks.spark_events import sequences, write
from benchmarks.spark_sessions import check_rows, compute, floor, start
from benchmarks.timing import interleaved
from benchmarks.workloads.greta_queries import paper_query
from trendweave import EventStore, Query, datasets, query

EVENTS = 5_000_000
REPEATS = 5
HOUR = 3_600
PER_KEY = query("RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key WITHIN 10 minutes SLIDE 10 minutes")
RARE = query(
    "RETURN COUNT(*) PATTERN SEQ(E a, E b, E c) WHERE a.a5 < 0.0001 AND b.a5 > 0.9995 AND c.a5 BETWEEN 0.5 AND 0.51 "
    "WITHIN 300 seconds SLIDE 300 seconds"
)


@workload("store-spark")
def store_spark(repeat: int) -> list[ResultRow]:
    """5M events in a bucketed store on Spark against Spark alone, and rare patterns against Parquet filters."""
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        try:
            bench = _Bench(spark, Path(place), min(repeat, REPEATS))
            stock = datasets.stock(EVENTS, seed=1, companies=1_000)
            names = ["company", "sector"]
            return [
                *bench.against_the_floor(
                    "SEQ(A+, B), 100k keys", PER_KEY, sequences(EVENTS, EVENTS // 50, HOUR), ["key"],
                    lambda events: floor(events, ["A", "B"], ["key"]), 3.0,
                ),
                *bench.against_the_floor(
                    "Q1, 10 min / 10 s, 1k companies", paper_query("greta_q1"), stock, ["company"],
                    lambda events: floor(events, ["Stock"], names, ["price"]), 1.5,
                ),
                *bench.against_filters("rare pattern", RARE, synthetic_events(2 * EVENTS)),
            ]  # fmt: skip
        finally:
            spark.stop()


class _Bench:
    """The measurements that share a session."""

    def __init__(self, spark: SparkSession, folder: Path, repeats: int) -> None:
        self.spark, self.folder, self.repeats = spark, folder, repeats

    def against_the_floor(
        self,
        name: str,
        asked: Query,
        table: pa.Table,
        keys: list[str],
        alone: Callable[[DataFrame], DataFrame],
        bar: float,
    ) -> list[ResultRow]:
        """A store in buckets of its keys, in float64."""
        folder = self.folder / name.replace("/", "per")
        frame = self.spark.read.parquet(write(table, folder / "files"))
        store = EventStore.create(folder / "store", table.schema, type="type", keys=keys, buckets=16)
        store.append(table)
        store = EventStore.open(folder / "store")
        check_rows(asked.run(store, spark=self.spark, numbers="text"), asked.run(table, numbers="text"))
        calls = {
            "floor": lambda: compute(alone(frame)),
            "store": lambda: compute(asked.run(store, spark=self.spark, numbers="float64")),
        }
        seconds = interleaved(calls, self.repeats)
        note = f"{table.num_rows:,} events; Spark alone {duration(seconds['floor'])}, ours {duration(seconds['store'])}"
        return [at_least(name, "throughput / Spark alone", seconds["floor"] / seconds["store"], "x", bar, note)]

    def against_filters(self, name: str, asked: Query, table: pa.Table) -> list[ResultRow]:
        """The query on a DataFrame: Spark reads the columns that it needs, with what can be filtered."""
        frame = self.spark.read.parquet(write(table, self.folder / "rare" / "files"))
        store = EventStore.create(self.folder / "rare" / "store", table.schema, type=None, index=["a5"])
        store.append(table)
        store = EventStore.open(self.folder / "rare" / "store")
        check_rows(asked.run(store, spark=self.spark), asked.run(table, type=None))
        calls = {
            "frame": lambda: compute(asked.run(frame, type=None)),
            "store": lambda: compute(asked.run(store, spark=self.spark)),
        }
        seconds = interleaved(calls, self.repeats)
        note = f"{table.num_rows:,} events; by filters {duration(seconds['frame'])}, ours {duration(seconds['store'])}"
        return [at_least(name, "Parquet filters / store", seconds["frame"] / seconds["store"], "x", 5, note)]
