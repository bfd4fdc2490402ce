"""The kernels alone: one window, sorted arrays in, rows out. CPU time of one core, medians.

"two-step twin" builds all trends and then aggregates them (`naive_twin`), "quadratic scan" is GRETA's way as our kernel
has it: every event looks at all earlier ones. Both get the same input in the same run, of a size they can do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from time import process_time

import numpy as np

from benchmarks.naive_twin import two_step
from benchmarks.plain_problem import KLEENE, KLEENE_FALLING, SEQUENCE_OF_THREE, one_window
from benchmarks.quadratic_scan import PRIME, scanned
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most, rate, slower
from benchmarks.timing import interleaved, median_seconds
from tests.kernels.forced import aggregate
from trendweave import datasets, query
from trendweave.kernels import Comparison, Condition, Rows, Template

TWIN, SCAN = "two-step twin", "quadratic scan"
A_PLUS = Template(np.array([0]), np.array([True]), np.array([True]), np.array([0]), np.array([0]))
A_B_C = Template(
    np.arange(3), np.array([True, False, False]), np.array([False, False, True]), np.array([0, 1]), np.array([1, 2])
)


def rows_of_one_window(variable: np.ndarray) -> Rows:
    n = variable.size
    window = np.zeros(n, np.int64)
    return Rows(np.array([0, n]), np.arange(n), window, window, np.uint64(1) << variable.astype(np.uint64))


def all_same(n: int) -> np.ndarray:
    return np.zeros(n, np.int64)


def drifting_price(n: int) -> np.ndarray:
    """It rises by 3 with each event, give or take 8: an event is above a few of those that follow it."""
    noise = np.random.Generator(np.random.PCG64(1)).integers(-8, 8, n, endpoint=True)
    return np.arange(n) * 3 + noise + 8


def falling(*codes: np.ndarray) -> list[Condition]:
    return [Condition(tuple(Comparison(code, ">", code) for code in codes))]


def falling_trends(price: np.ndarray) -> int:
    """Modulo PRIME, for a drifting price: event i is above j only if 3 * (j - i) < 16, so five events back are all."""
    ending = np.zeros(price.size + 5, np.int64)
    prices = [10**9] * 5 + price.tolist()
    ending_here = ending.tolist()
    for i in range(5, len(prices)):
        ending_here[i] = (1 + sum(ending_here[j] for j in range(i - 5, i) if 0 < prices[j] - prices[i] < 10**8)) % PRIME
    return sum(ending_here) % PRIME


@workload("sequence-of-three")
def sequence_of_three(repeat: int) -> list[ResultRow]:
    """SEQ(A, B, C) without predicate, one window of a million events."""
    variable = np.random.Generator(np.random.PCG64(1)).integers(0, 3, 1_000_000)
    rows = rows_of_one_window(variable)
    pairs = np.cumsum((variable == 1) * np.cumsum(variable == 0))
    assert aggregate(rows, A_B_C).count.tolist() == [int(((variable == 2) * pairs).sum())]
    seconds = median_seconds(lambda: aggregate(rows, A_B_C), repeat, process_time)

    few = variable[:400]
    few_rows, problem = rows_of_one_window(few), one_window(few, SEQUENCE_OF_THREE)
    assert aggregate(few_rows, A_B_C).count.tolist() == two_step(problem)[2][0].tolist()
    with_twin = interleaved(
        {"ours": lambda: aggregate(few_rows, A_B_C), TWIN: lambda: two_step(problem)}, repeat, process_time
    )
    more = rows_of_one_window(variable[:50_000])
    with_scan = interleaved(
        {"ours": lambda: aggregate(more, A_B_C), SCAN: lambda: aggregate(more, A_B_C, force_way="scan")},
        min(repeat, 3),
        process_time,
    )
    name = "SEQ(A, B, C), no predicate, one window"
    return [
        rate(name, variable.size, seconds, 30),
        *slower(name, few.size, with_twin),
        *slower(name, 50_000, with_scan),
    ]


@workload("falling-price")
def falling_price(repeat: int) -> list[ResultRow]:
    """S.price > NEXT(S).price, one window of half a million events, and of half as many."""
    name = "S.price > NEXT(S).price, drifting, one window"
    calls = {}
    for n in (250_000, 500_000):
        price, rows = drifting_price(n), rows_of_one_window(all_same(n))
        assert int(aggregate(rows, A_PLUS, falling(price)).count[0]) % PRIME == falling_trends(price)
        calls[str(n)] = lambda price=price, rows=rows: aggregate(rows, A_PLUS, falling(price))
    seconds = interleaved(calls, max(repeat, 7), process_time)

    n = 5_000
    price, rows = drifting_price(n), rows_of_one_window(all_same(n))
    problem = one_window(all_same(n), KLEENE_FALLING, price)
    assert aggregate(rows, A_PLUS, falling(price)).count.tolist() == two_step(problem)[2][0].tolist()
    with_twin = interleaved(
        {"ours": lambda: aggregate(rows, A_PLUS, falling(price)), TWIN: lambda: two_step(problem)},
        min(repeat, 3),
        process_time,
    )
    more = 100_000
    prices, many_rows = drifting_price(more), rows_of_one_window(all_same(more))
    with_scan = interleaved(
        {
            "ours": lambda: aggregate(many_rows, A_PLUS, falling(prices)),
            SCAN: lambda: aggregate(many_rows, A_PLUS, falling(prices), force_way="scan"),
        },
        min(repeat, 3),
        process_time,
    )
    return [
        rate(name, 500_000, seconds["500000"], 5),
        at_most(name, "time for 500k / 250k events", seconds["500000"] / seconds["250000"], "x", 2.4),
        *slower(name, n, with_twin, "; a drifting price has few trends"),
        *slower(name, more, with_scan),
    ]


@workload("two-edge-predicates")
def two_edge_predicates(repeat: int) -> list[ResultRow]:
    """Two comparisons of an event with the next: no ranking serves both, so every event looks at all earlier ones."""
    name = "two edge predicates (scan), one window"
    random = np.random.Generator(np.random.PCG64(2))

    def inputs(n: int) -> tuple[Rows, list[Condition], tuple[np.ndarray, np.ndarray]]:
        codes = drifting_price(n), random.integers(0, 1_000, n)
        return rows_of_one_window(all_same(n)), falling(*codes), codes

    rows, conditions, codes = inputs(20_000)
    expected = scanned(one_window(all_same(20_000), KLEENE_FALLING, *codes), np.int64)[2][0]
    assert (aggregate(rows, A_PLUS, conditions).count % PRIME).tolist() == expected.tolist()
    seconds = median_seconds(lambda: aggregate(rows, A_PLUS, conditions), min(repeat, 5), process_time)

    n = 5_000
    rows_5k, conditions_5k, codes_5k = inputs(n)
    problem = one_window(all_same(n), KLEENE_FALLING, *codes_5k)
    assert aggregate(rows_5k, A_PLUS, conditions_5k).count.tolist() == two_step(problem)[2][0].tolist()
    few = interleaved(
        {"ours": lambda: aggregate(rows_5k, A_PLUS, conditions_5k), TWIN: lambda: two_step(problem)},
        min(repeat, 3),
        process_time,
    )
    return [
        rate(name, 20_000, seconds, 0.15, "this is the quadratic scan itself"),
        *slower(name, n, few, "; few trends, the twin also scans"),
    ]


@workload("exact-3000-bits")
def exact_numbers(repeat: int) -> list[ResultRow]:
    """A+ over 3,000 events has 2 ** 3000 - 1 trends."""
    n = 3_000
    rows = rows_of_one_window(all_same(n))
    assert aggregate(rows, A_PLUS).count.tolist() == [2**n - 1]
    table = datasets.stock(n, seed=1, companies=1)
    all_trends = query("RETURN COUNT(*) PATTERN Stock S+")
    assert all_trends.run(table, numbers="text")["count"].to_pylist() == [str(2**n - 1)]
    seconds = interleaved(
        {"kernel": lambda: aggregate(rows, A_PLUS), "query": lambda: all_trends.run(table, numbers="text")},
        repeat,
        process_time,
    )

    few = rows_of_one_window(all_same(18))
    problem = one_window(all_same(18), KLEENE)
    assert aggregate(few, A_PLUS).count.tolist() == two_step(problem)[2][0].tolist() == [2**18 - 1]
    twin = interleaved({"ours": lambda: aggregate(few, A_PLUS), TWIN: lambda: two_step(problem)}, repeat, process_time)
    scan = interleaved(
        {"ours": lambda: aggregate(rows, A_PLUS), SCAN: lambda: aggregate(rows, A_PLUS, force_way="scan")},
        min(repeat, 3),
        process_time,
    )
    name = "A+ over 3,000 events, exact (3,000 bits)"
    return [
        at_most(name, "CPU time", seconds["kernel"] * 1e3, "ms", 50),
        at_most(name, "CPU time from a table", seconds["query"] * 1e3, "ms", None, 'query.run, numbers="text"'),
        *slower("A+, exact", 18, twin, "; each event doubles it"),
        *slower("A+, exact", n, scan),
    ]


@workload("memory")
def memory(repeat: int) -> list[ResultRow]:
    """A million events in one window, one edge predicate: bytes per event while the kernel runs."""
    n = 1_000_000
    price, rows = drifting_price(n), rows_of_one_window(all_same(n))
    small = drifting_price(10)
    aggregate(rows_of_one_window(all_same(10)), A_PLUS, falling(small))
    tracemalloc.start()
    count = int(aggregate(rows, A_PLUS, falling(price)).count[0])
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count % PRIME == falling_trends(price)
    child = subprocess.run([sys.executable, "-c", _CHILD], check=True, capture_output=True, text=True)
    grown, seen = json.loads(child.stdout)
    assert seen == count
    name = "one edge predicate, one window of 1M events"
    return [
        at_most(name, "memory traced", traced / n, "bytes/event", 200, "peak of tracemalloc during the kernel call"),
        at_most(
            name, "memory resident", grown / n, "bytes/event", 200,
            "new process: highest minus earlier resident size (Linux, VmHWM reset before the call); input not counted",
        ),
    ]  # fmt: skip


_CHILD = """
import json, pathlib
from benchmarks.workloads.aggregation import A_PLUS, aggregate, all_same, drifting_price, falling, rows_of_one_window

def kilobytes(name):
    text = pathlib.Path("/proc/self/status").read_text()
    return int(text.split(name + ":")[1].split()[0])

n = 1_000_000
price, rows = drifting_price(n), rows_of_one_window(all_same(n))
aggregate(rows_of_one_window(all_same(10)), A_PLUS, falling(drifting_price(10)))
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = kilobytes("VmRSS")
count = int(aggregate(rows, A_PLUS, falling(price)).count[0])
print(json.dumps([(kilobytes("VmHWM") - before) * 1024, count]))
"""
