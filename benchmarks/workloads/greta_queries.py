"""The queries of GRETA, Section 1, end to end: an Arrow table in, an Arrow table out (`query.run`).

CPU time of all threads together, as if there were one core; medians. Twins as in `aggregation`: the two-step twin and
the quadratic scan get the same table in the same run, of a size they can do, and their preparation counts too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.naive_twin import two_step
from benchmarks.plain_problem import Problem, by_window_and_group, cluster_problem, stock_problem, traffic_problem
from benchmarks.quadratic_scan import PRIME, scanned
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most, rate, slower
from benchmarks.timing import interleaved
from benchmarks.workloads.aggregation import A_PLUS, SCAN, TWIN, Rows, aggregate
from tests.kernels import forced
from trendweave import Query, datasets, query
from trendweave.programs.trends import aggregates

QUERIES = Path(__file__).parents[2] / "examples" / "queries"
MOST_REPEATS = 3  # of what takes seconds


def paper_query(name: str) -> Query:
    return query((QUERIES / f"{name}.tw").read_text(encoding="utf-8"))


@workload("greta-q1")
def greta_q1(repeat: int) -> list[ResultRow]:
    """Down-trends of 2.25M stock transactions, 10 minutes every 10 seconds: each event lies in 60 windows."""
    down_trends = paper_query("greta_q1")
    events = datasets.stock(2_250_000, seed=1)
    longest = _check(down_trends, events, stock_problem(events, 600, 10), 10, "sector", every=400)
    seconds = interleaved(
        {
            "text": lambda: down_trends.run(events, numbers="text"),
            "float64": lambda: down_trends.run(events, numbers="float64"),
        },
        min(repeat, MOST_REPEATS),
        process_time,
    )
    name = "Q1, 60-fold overlap"
    exact = f'exact, numbers="text": counts have up to {longest} digits, more than the 38 of a decimal'
    return [
        rate(name, events.num_rows, seconds["text"], 1, exact),
        rate(name, events.num_rows, seconds["float64"], None, 'numbers="float64"'),
        *_with_twins(down_trends, "Q1", repeat, datasets.stock(19 * 22, seed=1), datasets.stock(19 * 2_000, seed=1),
                     lambda table: stock_problem(table, 600, 10), 10, "sector", "text"),
    ]  # fmt: skip


@workload("greta-q1-overlap")
def overlap(repeat: int) -> list[ResultRow]:
    """Q1 without its edge predicate: what 60-fold overlap costs against windows that do not overlap."""
    text = "RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] GROUP-BY sector WITHIN 10 minutes SLIDE "
    sliding, tumbling = query(text + "10 seconds"), query(text + "10 minutes")
    events = datasets.stock(1_140_000, seed=1)  # a whole number of windows
    for asked, slide in ((sliding, 10), (tumbling, 600)):
        _check_all_subsets(asked.run(events, numbers="text"), events, slide)

    problem = stock_problem(events, 600, 10, falling=False)
    letters = np.ones(problem.time.size, np.uint64)
    arrays = {
        "sliding": Rows(problem.starts, problem.time, problem.first, problem.last, letters),
        "tumbling": Rows(problem.starts, problem.time, problem.time // 600, problem.time // 600, letters),
    }
    rows = []
    for numbers, kernel_numbers in (("float64", "float64"), ("text", "exact")):
        seconds = interleaved(
            {
                "sliding": lambda numbers=numbers: sliding.run(events, numbers=numbers),
                "tumbling": lambda numbers=numbers: tumbling.run(events, numbers=numbers),
                "sliding kernel": lambda n=kernel_numbers: aggregate(arrays["sliding"], A_PLUS, numbers=n),
                "tumbling kernel": lambda n=kernel_numbers: aggregate(arrays["tumbling"], A_PLUS, numbers=n),
            },
            min(repeat, MOST_REPEATS),
            process_time,
        )
        note = (
            f'numbers="{numbers}": {seconds["sliding"] * 1e3:.0f} / {seconds["tumbling"] * 1e3:.0f} ms; '
            f"kernel alone {seconds['sliding kernel'] * 1e3:.0f} / {seconds['tumbling kernel'] * 1e3:.0f} ms "
            f"({seconds['sliding kernel'] / seconds['tumbling kernel']:.2f} x); 60 times the rows"
        )
        ratio = seconds["sliding"] / seconds["tumbling"]
        rows.append(at_most("Q1 without predicate, 600-bit counts", "time 60-fold / tumbling", ratio, "x", 1.5, note))
    return rows


@workload("greta-q2")
def greta_q2(repeat: int) -> list[ResultRow]:
    """CPU cycles in 2M events of a cluster, a minute every half."""
    cycles = paper_query("greta_q2")
    events = datasets.cluster(2_000_000, seed=1)
    _check(cycles, events, cluster_problem(events, 60, 30), 30, "mapper", every=20)
    return [
        *_rates("Q2", cycles, events, repeat, 2),
        *_with_twins(cycles, "Q2", repeat, datasets.cluster(15_000, seed=1), datasets.cluster(200_000, seed=1),
                     lambda table: cluster_problem(table, 60, 30), 30, "mapper", "decimal"),
    ]  # fmt: skip


@workload("greta-q3")
def greta_q3(repeat: int) -> list[ResultRow]:
    """Cars that slow down without an accident before, in 2M events of traffic, 5 minutes every minute."""
    slow_downs = paper_query("greta_q3")
    events = datasets.traffic(2_000_000, seed=1)
    _check(slow_downs, events, traffic_problem(events, 300, 60), 60, "segment", every=1)
    few = datasets.traffic(200_000, seed=1)
    return [
        *_rates("Q3", slow_downs, events, repeat, 3),
        *_with_twins(slow_downs, "Q3", repeat, few, few, lambda table: traffic_problem(table, 300, 60), 60, "segment",
                     "decimal", "; a car stays in a segment for two or three reports, so trends are short"),
    ]  # fmt: skip


def _rates(name: str, asked: Query, events: pa.Table, repeat: int, bar: float) -> list[ResultRow]:
    seconds = interleaved(
        {numbers: lambda n=numbers: asked.run(events, numbers=n) for numbers in ("decimal", "float64")},
        min(repeat, MOST_REPEATS),
        process_time,
    )
    return [
        rate(name, events.num_rows, seconds["decimal"], bar, 'exact, numbers="decimal"'),
        rate(name, events.num_rows, seconds["float64"], None, 'numbers="float64"'),
    ]


def _with_twins(
    asked: Query,
    name: str,
    repeat: int,
    few: pa.Table,
    more: pa.Table,
    problem_of: Callable[[pa.Table], Problem],
    slide: int,
    group: str,
    numbers: Any,
    note: str = "",
) -> list[ResultRow]:
    """Ratios to the two-step twin on `few` events and to the quadratic scan on `more`."""
    problem = problem_of(few)
    found = by_window_and_group(problem, *two_step(problem))
    expected = {key: int(numbers_of[0]) for key, numbers_of in found.items()}
    _compare(asked, asked.run(few, numbers="text"), expected, found, slide, group)

    def quadratic(table: pa.Table) -> pa.Table:
        with patch.object(aggregates, "aggregate", partial(forced.aggregate, force_way="scan")):
            return asked.run(table, numbers=numbers)

    def twin() -> object:
        problem = problem_of(few)
        return by_window_and_group(problem, *two_step(problem))

    assert quadratic(more).equals(asked.run(more, numbers=numbers))
    times = min(repeat, MOST_REPEATS)
    with_twin = interleaved({"ours": lambda: asked.run(few, numbers=numbers), TWIN: twin}, times, process_time)
    with_scan = interleaved(
        {"ours": lambda: asked.run(more, numbers=numbers), SCAN: lambda: quadratic(more)}, times, process_time
    )
    return [
        *slower(name, few.num_rows, with_twin, note),
        *slower(name, more.num_rows, with_scan, note),
    ]


# Answers


def _check(asked: Query, events: pa.Table, problem: Problem, slide: int, group: str, every: int) -> int:
    """Compare the windows whose number `every` divides with a plain scan; returns the digits of the largest number."""
    result = asked.run(events, numbers="text")
    trends = by_window_and_group(problem, *scanned(problem, np.int64, every))
    expected = {key: int(numbers[0]) for key, numbers in trends.items()}
    floats = by_window_and_group(problem, *scanned(problem, np.float64, every))
    wanted = {key: (expected[key], trends[key], floats[key]) for key in expected}
    window = _windows(result, slide)
    chosen = result.filter(pa.array(window % every == 0))
    assert chosen.num_rows > 0
    for column in asked.plan.aggregates:
        found = _by_key(chosen, slide, group, column.name)
        for key, (count, residues, approximate) in wanted.items():
            value = found.get(key)
            if column.function == "AVG":
                assert _is_ratio(value, approximate[2], approximate[1])
            else:
                expected_residue = count if column.path is None else int(residues[2])
                assert int(value or 0) % PRIME == expected_residue % PRIME, (column.name, key)
        assert found.keys() <= wanted.keys()
    texts = [result[column.name] for column in asked.plan.aggregates if pa.types.is_string(result[column.name].type)]
    return max(pc.max(pc.utf8_length(text)).as_py() for text in texts)


def _compare(asked: Query, result: pa.Table, counts: dict, numbers: dict, slide: int, group: str) -> None:
    """With what the two-step twin found: trends, measured events in them and the sum of their values."""
    for column in asked.plan.aggregates:
        found = _by_key(result, slide, group, column.name)
        for key, count in counts.items():
            value = found.get(key)
            if column.function == "AVG":
                assert _is_ratio(value, numbers[key][2], numbers[key][1])
            else:
                assert int(value or 0) == (count if column.path is None else int(numbers[key][2]))
        assert found.keys() <= counts.keys()


def _is_ratio(value: float | None, total: float, count: float) -> bool:
    return value is None if count == 0 else value is not None and bool(np.isclose(value, total / count, rtol=1e-9))


def _windows(result: pa.Table, slide: int) -> np.ndarray:
    return pc.cast(result["window_start"], pa.int64()).to_numpy() // (slide * 1_000_000)


def _by_key(result: pa.Table, slide: int, group: str, column: str) -> dict[tuple[int, int], Any]:
    keys = zip(_windows(result, slide).tolist(), result[group].to_pylist(), strict=True)
    return dict(zip(keys, result[column].to_pylist(), strict=True))


def _check_all_subsets(result: pa.Table, events: pa.Table, slide: int) -> None:
    """Every set of events of a company, one a second, is a trend: 2 ** n - 1 of n. Sector 9 has one company, the others
    have two."""
    begin, end = (pc.cast(edge, pa.int64()).as_py() // 1_000_000 for edge in pc.min_max(events["time"]).values())
    window = _windows(result, slide) * slide
    seconds = np.minimum(window + 600, end + 1) - np.maximum(window, begin)
    for n, sector, count in zip(seconds.tolist(), result["sector"].to_pylist(), result["count"], strict=True):
        assert int(count.as_py()) == (1 if sector == 9 else 2) * (2**n - 1)
    assert result.num_rows == 10 * len(range(begin // slide * slide - 600 + slide, end + 1, slide))
