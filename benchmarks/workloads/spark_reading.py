"""Queries over Parquet files that Spark's tasks read themselves (`trendweave.read`), against Spark alone and against
the same queries on a DataFrame.

As in `spark_batch`: the floor reads the same columns, filters, brings keys together and sorts them by time; all calls
in turn in one session, medians, and answers compared with those of the in-process runner.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import trendweave
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration
from benchmarks.spark_events import sequences, write
from benchmarks.spark_sessions import check_rows, compute, floor, forget_peaks, peak_megabytes, start
from benchmarks.timing import interleaved
from benchmarks.workloads.greta_queries import paper_query
from trendweave import Query, datasets, query

EVENTS = 5_000_000
REPEATS = 5
HOUR = 3_600
PER_KEY = query("RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key WITHIN 10 minutes SLIDE 10 minutes")


@workload("spark_reading")
def spark_reading(repeat: int) -> list[ResultRow]:
    """Queries over 5M events in Parquet files that tasks read: throughput against Spark alone and a DataFrame."""
    with tempfile.TemporaryDirectory() as place:
        spark = start(2, Path(place))
        try:
            bench = _Bench(spark, Path(place), min(repeat, REPEATS))
            stock = datasets.stock(EVENTS, seed=1, companies=1_000)
            names = ["company", "sector"]
            return [
                *bench.against_the_floor(
                    "Q1, 10 min / 10 s, 1k companies", paper_query("greta_q1"), stock,
                    lambda events: floor(events, ["Stock"], names, ["price"]), {"float64": 1.5, "text": 1.0},
                ),
                *bench.sequences_per_key("SEQ(A+, B), 100k keys of 50 events", EVENTS // 50, None),
                *bench.sequences_per_key("SEQ(A+, B), 1M keys of 5 events", EVENTS // 5, 300),
            ]  # fmt: skip
        finally:
            spark.stop()


class _Bench:
    """The measurements that share a session."""

    def __init__(self, spark: SparkSession, folder: Path, repeats: int) -> None:
        self.spark, self.folder, self.repeats = spark, folder, repeats

    def sequences_per_key(self, name: str, keys: int, visit: int | None) -> list[ResultRow]:
        table = sequences(EVENTS, keys, HOUR, visit)
        bars = {"decimal": 1.0}
        return self.against_the_floor(name, PER_KEY, table, lambda events: floor(events, ["A", "B"], ["key"]), bars)

    def against_the_floor(
        self,
        name: str,
        asked: Query,
        table: pa.Table,
        alone: Callable[[DataFrame], DataFrame],
        bars: dict[str, float],
    ) -> list[ResultRow]:
        """A row per way of writing numbers, with its bar, and one for memory."""
        place = write(table, self.folder / name.replace("/", "per"))
        events, frame = trendweave.read(self.spark, place), self.spark.read.parquet(place)
        exact = "text" if "text" in bars else "decimal"
        check_rows(asked.run(events, numbers=exact), asked.run(table, numbers=exact))
        calls: dict[str, Callable[[], None]] = {"floor": lambda: compute(alone(frame))}
        for numbers in bars:
            calls[f"read {numbers}"] = lambda numbers=numbers: compute(asked.run(events, numbers=numbers))
            calls[f"frame {numbers}"] = lambda numbers=numbers: compute(asked.run(frame, numbers=numbers))
        forget_peaks()
        seconds = interleaved(calls, self.repeats)
        peak = peak_megabytes()
        rows = []
        for numbers, bar in bars.items():
            ours, of_frame = seconds[f"read {numbers}"], seconds[f"frame {numbers}"]
            note = (
                f"{EVENTS:,} events; Spark alone {duration(seconds['floor'])}, ours {duration(ours)} "
                f'({EVENTS / ours / 1e6:.2f} M events/s), on a DataFrame {duration(of_frame)}; numbers="{numbers}"'
            )
            rows.append(at_least(name, "throughput / Spark alone", seconds["floor"] / ours, "x", bar, note))
        return [*rows, at_most(name, "highest resident size of a Python worker", peak, "MiB")]
