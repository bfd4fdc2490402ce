"""Many queries in one Spark job, and on one Spark stream, against one of them.

HAMLET's ride sharing: 50 queries over one Kleene type, by district. One query reads the events of three types, all of
them those of twenty. Wall time of one machine with two tasks at once, both sides in turn in one session.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from benchmarks.spark_events import write
from benchmarks.spark_sessions import compute, start
from benchmarks.spark_streams import ROCKSDB, read_stream, run, write_stream
from benchmarks.timing import interleaved
from benchmarks.workloads.many_queries import rides, shared_kleene
from trendweave import Workload

QUERIES = 50
EVENTS = 2_000_000
STREAMED, AT_ONCE = 1_000_000, 100_000
COLUMNS = ["time", "type", "district"]


@workload("workloads_spark")
def workloads_spark(repeat: int) -> list[ResultRow]:
    """50 queries in one Spark job and on one stream, against one of them."""
    with _session() as (spark, folder):
        return [*_batch(spark, folder, min(repeat, 3)), *_stream(spark, folder, min(repeat, 2))]


@contextmanager
def _session() -> Iterator[tuple[SparkSession, Path]]:
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        try:
            yield spark, Path(place)
        finally:
            spark.stop()


def _asked() -> dict[str, Workload]:
    many = shared_kleene(QUERIES)
    return {"one": many.without(*many.names[1:]), "many": many}


def _batch(spark: SparkSession, folder: Path, repeats: int) -> list[ResultRow]:
    events = spark.read.parquet(write(rides(EVENTS, 120), folder / "rides"))
    one, many = _asked().values()
    alone = one[one.names[0]]
    small = rides(100_000, 120)
    found = many.run(spark.createDataFrame(small.to_pandas()), numbers="float64").toArrow()
    assert many.rows(found, one.names[0]).num_rows == alone.run(small, numbers="float64").num_rows
    seconds = interleaved(
        {
            "one": lambda: compute(alone.run(events, numbers="float64")),
            "many": lambda: compute(many.run(events, numbers="float64")),
        },
        repeats,
    )
    note = f"{EVENTS:,} events, {duration(seconds['many'])} and {duration(seconds['one'])}"
    ratio = seconds["many"] / seconds["one"]
    return [at_most(f"{QUERIES} queries in one Spark job", "time / that of one query", ratio, "x", 2.5, note)]


def _stream(spark: SparkSession, folder: Path, repeats: int) -> list[ResultRow]:
    files = write_stream(rides(STREAMED, 120), folder / "stream", AT_ONCE)
    one, many = _asked().values()
    batches: dict[str, list[float]] = {"one": [], "many": []}
    for number in range(repeats):
        for name, asked in (("one", one[one.names[0]]), ("many", many)):
            rows = asked.run(read_stream(spark, files, COLUMNS), watermark="1 second", numbers="float64")
            batches[name] += run(rows, folder / f"checkpoint-{name}-{number}").batches
    seconds = {name: median(times) for name, times in batches.items()}
    note = f"{AT_ONCE:,} events a micro-batch, {duration(seconds['many'])} and {duration(seconds['one'])}"
    ratio = seconds["one"] / seconds["many"]
    return [at_least(f"{QUERIES} queries on one Spark stream", "rate / that of one query", ratio, "x", 0.4, note)]
