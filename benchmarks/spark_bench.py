"""What benchmarks of queries on Spark share: a session, events in files, calls in turn, and rows of their tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.registry import ResultRow
from benchmarks.result_rows import at_least, at_most, duration, slower
from benchmarks.spark_events import write
from benchmarks.spark_sessions import check_rows, compute, forget_peaks, peak_megabytes, start
from benchmarks.timing import interleaved
from trendweave import Query

#: The highest resident size of a worker on the road of rows, before there was another.
MOST_MEMORY = 460


class Bench:
    """The measurements that share a session."""

    def __init__(self, spark: SparkSession, folder: Path, repeats: int) -> None:
        self.spark, self.folder, self.repeats = spark, folder, repeats

    def read(self, name: str, table: pa.Table) -> DataFrame:
        return self.spark.read.parquet(write(table, self.folder / name))

    def compared(
        self,
        name: str,
        asked: Query,
        table: pa.Table,
        others: dict[str, Callable[[DataFrame], DataFrame]],
        note: str,
        numbers: str = "decimal",
        bar: float | None = None,
    ) -> list[ResultRow]:
        events = self.read(name.replace("/", "per"), table)
        expected = asked.run(table, numbers=numbers)
        calls = {"ours": lambda: compute(asked.run(events, numbers=numbers))}
        for other, frame in others.items():
            check_rows(frame(events), expected)
            calls[other] = lambda frame=frame: compute(frame(events))
        return slower(name, table.num_rows, interleaved(calls, self.repeats), note, bar)

    def timed(self, calls: dict[str, Callable[[], None]]) -> tuple[dict[str, float], float]:
        """Medians, and the highest resident size of a Python worker in MiB."""
        forget_peaks()
        return interleaved(calls, self.repeats), peak_megabytes()


@contextmanager
def two_tasks(repeats: int) -> Iterator[Bench]:
    """In a session that runs two tasks at a time."""
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        try:
            yield Bench(spark, Path(place), repeats)
        finally:
            spark.stop()


def share(name: str, events: int, alone: float, ours: float, bar: float | None, note: str) -> ResultRow:
    """Throughput against Spark alone."""
    rate = events / ours / 1e6
    sizes = f"{events:,} events; Spark alone {duration(alone)}, ours {duration(ours)} ({rate:.2f} M events/s)"
    return at_least(name, "throughput / Spark alone", alone / ours, "x", bar, f"{sizes}; {note}")


def memory(name: str, peak: float) -> ResultRow:
    """The highest resident size of a Python worker, in MiB."""
    return at_most(name, "highest resident size of a Python worker", peak, "MiB", MOST_MEMORY)
