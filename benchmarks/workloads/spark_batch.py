"""Queries on Spark DataFrames, against Spark alone and against a self-join and a window function.

The floor reads the same Parquet columns, filters, brings keys together and sorts them by time, and that is all. Rows
meet as columns unless a row of the table says otherwise; both roads are timed in turn. Wall time of one machine with
two tasks at once, medians, all sides in turn in one session; JVM and kernels are warm. Every answer is compared with
that of the in-process runner. `spark_instead` and `spark_skew` go on with it.
"""

from __future__ import annotations

from benchmarks import spark_alternatives as instead
from benchmarks.registry import ResultRow, workload
from benchmarks.spark_bench import Bench, memory, share, two_tasks
from benchmarks.spark_events import sequences
from benchmarks.spark_sessions import check_rows, compute, floor
from benchmarks.workloads.greta_queries import paper_query
from trendweave import datasets, query

EVENTS = 5_000_000
REPEATS = 3
#: Spark looks at the size of a batch for Python after every row, unless this says that no batch is too large.
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
HOUR = 3_600
WINDOW = "10 minutes"
TUMBLING = f"WITHIN {WINDOW} SLIDE {WINDOW}"
PER_KEY = query(f"RETURN key, COUNT(*) PATTERN SEQ(A+, B) WHERE [key] GROUP-BY key {TUMBLING}")
PAIRS_PER_KEY = query(f"RETURN key, COUNT(*) PATTERN SEQ(A, B) WHERE [key] GROUP-BY key {TUMBLING}")


@workload("spark_batch")
def spark_batch(repeat: int) -> list[ResultRow]:
    """Queries over 5M events in Parquet files: throughput against Spark alone, a self-join and a window function."""
    with two_tasks(min(repeat, REPEATS)) as bench:
        return [
            *_down_trends(bench),
            *_sequences_per_key(bench, "SEQ(A+, B), 100k keys of 50 events", EVENTS // 50, None),
            *_sequences_per_key(bench, "SEQ(A+, B), 1M keys of 5 events", EVENTS // 5, 300),
            *_pairs_per_key(bench),
        ]


def _down_trends(bench: Bench) -> list[ResultRow]:
    asked, table = paper_query("greta_q1"), datasets.stock(EVENTS, seed=1, companies=1_000)
    events = bench.read("stock", table)
    check_rows(asked.run(events, numbers="text"), asked.run(table, numbers="text"))
    calls = {
        "floor": lambda: compute(floor(events, ["Stock"], ["company", "sector"], ["price"])),
        "text": lambda: compute(asked.run(events, numbers="text")),
        "float64": lambda: compute(asked.run(events, numbers="float64")),
    }
    seconds, peak = bench.timed(calls)
    name = "Q1, 10 min / 10 s, 1k companies"
    exact = 'exact, numbers="text"'
    bench.spark.conf.set(BATCH_BYTES, str(2**31 - 1))
    larger, _ = bench.timed(calls)
    bench.spark.conf.unset(BATCH_BYTES)
    unchecked = f"{BATCH_BYTES} at its largest (docs/spark.md)"
    alone = seconds["floor"]
    return [
        share(name, EVENTS, alone, seconds["text"], 0.6, exact),
        share(name, EVENTS, alone, seconds["float64"], 0.8, 'numbers="float64"'),
        share(name, EVENTS, larger["floor"], larger["text"], None, f"{exact}; {unchecked}"),
        share(name, EVENTS, larger["floor"], larger["float64"], None, f'numbers="float64"; {unchecked}'),
        memory(name, peak),
    ]


def _sequences_per_key(bench: Bench, name: str, keys: int, visit: int | None) -> list[ResultRow]:
    table = sequences(EVENTS, keys, HOUR, visit)
    events = bench.read(f"keys-{keys}", table)
    check_rows(PER_KEY.run(events), PER_KEY.run(table))
    calls = {
        "floor": lambda: compute(floor(events, ["A", "B"], ["key"])),
        "columns": lambda: compute(PER_KEY.run(events)),
    }
    seconds, peak = bench.timed(calls)
    note = "windows of 10 minutes, one row per key and window"
    return [
        share(name, EVENTS, seconds["floor"], seconds["columns"], 1.0, note),
        memory(name, peak),
    ]


def _pairs_per_key(bench: Bench) -> list[ResultRow]:
    others = {
        "self-join": lambda events: instead.pairs_by_self_join(events, WINDOW),
        "window function": lambda events: instead.pairs_by_window_function(events, WINDOW),
    }
    note = "; neither says A+ or a predicate between neighbours"
    table = sequences(EVENTS, EVENTS // 50, HOUR)
    return bench.compared("SEQ(A, B), 100k keys, 10 min / 10 min", PAIRS_PER_KEY, table, others, note, bar=1.5)
