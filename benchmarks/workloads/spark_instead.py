"""Queries on Spark DataFrames, against what a user would write instead: lists with functions in Python, and a join of
pairs. As in `spark_batch`, all sides in turn in one session, medians, and answers compared."""

from __future__ import annotations

from benchmarks import spark_alternatives as instead
from benchmarks.registry import ResultRow, workload
from benchmarks.spark_bench import two_tasks
from benchmarks.spark_events import sequences
from benchmarks.workloads.greta_queries import paper_query
from benchmarks.workloads.spark_batch import HOUR, PER_KEY, REPEATS, WINDOW
from trendweave import datasets, query

FALLING_PAIRS = query(
    "RETURN sector, COUNT(*) PATTERN SEQ(Stock S, Stock T) WHERE [company, sector] AND S.price > T.price "
    "GROUP-BY sector WITHIN 10 minutes SLIDE 10 seconds"
)


@workload("spark_instead")
def spark_instead(repeat: int) -> list[ResultRow]:
    """Queries on DataFrames against lists with Python functions, and against a join: times of the others / ours."""
    few = sequences(500_000, 10_000, HOUR)
    stock = datasets.stock(50_000, seed=1, companies=1_000)
    fewer = datasets.stock(19 * 300, seed=1)
    with two_tasks(min(repeat, REPEATS)) as bench:
        return [
            *bench.compared("SEQ(A+, B), 10k keys, 10 min / 10 min", PER_KEY, few, {
                "list and UDF that builds trends": lambda events: instead.sequences_by_enumeration(events, WINDOW),
                "list and UDF that counts": lambda events: instead.sequences_by_counting(events, WINDOW),
            }, "; four A a window: each more doubles what is built"),
            *bench.compared("falling pairs, 1k companies, 10 min / 10 s", FALLING_PAIRS, stock, {
                "self-join": lambda events: instead.falling_pairs_by_self_join(events, 600, 10),
            }, "; only 50 seconds of events: what is joined grows with their square"),
            *bench.compared("Q1, 19 companies, 10 min / 10 s", paper_query("greta_q1"), fewer, {
                "list and UDF that counts": lambda events: instead.falling_trends_by_counting(events, 600, 10),
            }, "; only 5 minutes of events: a full window takes four times as long per event", "text"),
        ]  # fmt: skip
