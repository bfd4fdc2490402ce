"""Many queries at once, one core, in this process: against each query alone, and by how sharing is decided."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import permutations
from time import perf_counter, process_time
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, at_most, duration, rate
from benchmarks.timing import interleaved, median_seconds
from trendweave import datasets, warm_up
from trendweave import workload as make_workload
from trendweave.datasets.ride_sharing import TYPES
from trendweave.programs.shared import merged
from trendweave.workload import Workload

OTHERS = [name for name in TYPES if name != "Travel"]
EVENTS = 1_000_000
#: Events per minute at which counts of windows of 20 minutes fit floats.
CALM = 200
SETTINGS = ("auto", "always", "never")


def shared_kleene(queries: int) -> Workload:
    """HAMLET, Section 5.1, first workload: the same Kleene part, window, group and aggregate, other first and last
    types."""
    pairs = list(permutations(OTHERS, 2))
    chosen = pairs[:: len(pairs) // queries][:queries]
    return make_workload(
        {
            f"{first}_{last}": f"RETURN district, COUNT(*) PATTERN SEQ({first} A, Travel T+, {last} B) "
            "WHERE [district] GROUP-BY district WITHIN 1 minute SLIDE 1 minute"
            for first, last in chosen
        }
    )


def diverse_kleene(queries: int) -> Workload:
    """Its second workload: Kleene parts of length one to three, windows of 5 to 20 minutes, other aggregates."""
    parts = ("Travel T+", "(SEQ(Travel T, Stop S))+", "(SEQ(Travel T, Stop S, Wait W))+")
    wanted = ("COUNT(*)", "COUNT(T)", "AVG(T.speed) AS speed", "MAX(T.speed) AS fastest", "SUM(T.duration) AS minutes")
    others = [name for name in OTHERS if name not in ("Stop", "Wait")]
    return make_workload(
        {
            f"q{number}": f"RETURN district, {wanted[number % 5]} "
            f"PATTERN SEQ({others[number % 17]} A, {parts[number % 3]}) WHERE [district] "
            f"GROUP-BY district WITHIN {5 + 5 * (number % 4)} minutes SLIDE 5 minutes"
            for number in range(queries)
        }
    )


def nothing_in_common(queries: int) -> Workload:
    """Other types, keys and windows in every query."""
    keys = ("district", "driver", "rider", "request_type")
    pairs = [(OTHERS[i], OTHERS[i + 1]) for i in range(0, 18, 2)]
    return make_workload(
        {
            f"q{number}": f"RETURN {keys[number % 4]}, COUNT(*) PATTERN SEQ({first} A, {last} B) "
            f"WHERE [{keys[number % 4]}] AND A.price < B.price "
            f"GROUP-BY {keys[number % 4]} WITHIN {1 + number} minutes SLIDE {1 + number} minutes"
            for number, (first, last) in enumerate(pairs[:queries])
        }
    )


@cache
def rides(events: int, burst: float, per_minute: int = 10_000) -> pa.Table:
    return datasets.ride_sharing(events, seed=1, burst=burst, events_per_minute=per_minute)


def one_by_one(queries: Workload, events: pa.Table, **options: Any) -> int:
    return sum(queries[name].run(events, **options).num_rows for name in queries)


def together(queries: Workload, events: pa.Table, **options: Any) -> int:
    return queries.run(events, **options).num_rows


@workload("many-queries")
def many_queries(repeat: int) -> list[ResultRow]:
    """HAMLET's ride sharing (Figures 8 and 10): 10 and 50 queries over one Kleene type, from an Arrow table."""
    warm_up()
    rows = []
    events = rides(EVENTS, 120)
    for queries, bar, kernel_bar in ((10, 5.0, 20.0), (50, 3.0, 10.0)):
        run = partial(together, shared_kleene(queries), events, numbers="float64")
        seconds = median_seconds(run, repeat, process_time)
        rows.append(rate(f"{queries} queries over one Kleene type, float64", EVENTS, seconds, bar))
        seconds = kernel_seconds(shared_kleene(queries), events, repeat)
        rows.append(rate(f"{queries} queries over one Kleene type, kernel alone", EVENTS, seconds, kernel_bar))
    bits = largest_count(events)
    run = partial(together, shared_kleene(50), events, numbers="text")
    seconds = median_seconds(run, repeat, process_time)
    rows.append(rate("50 queries over one Kleene type, exact", EVENTS, seconds, 1.0, f"counts of up to {bits} bits"))
    return rows


def kernel_seconds(queries: Workload, events: pa.Table, repeat: int) -> float:
    """The kernel on what a run has given it."""
    calls: list[Callable[[], object]] = []
    kernel = merged.aggregate_shared

    def note(*arguments: Any, **named: Any) -> Any:
        calls.append(partial(kernel, *arguments, **named))
        return kernel(*arguments, **named)

    with mock.patch.object(merged, "aggregate_shared", note):
        together(queries, events, numbers="float64")
    assert calls, "these queries are computed together"
    return median_seconds(lambda: [call() for call in calls], repeat, process_time)


def largest_count(events: pa.Table) -> int:
    counts = shared_kleene(50).run(events, numbers="log2").column("count").to_numpy()
    return int(np.ceil(counts.max()))


@workload("together-or-one-by-one")
def together_or_one_by_one(repeat: int) -> list[ResultRow]:
    """50 queries that share against each of them alone, and queries that share nothing."""
    warm_up()
    rows = []
    cases = {
        "50 queries over one Kleene type": (shared_kleene(50), rides(500_000, 120), 10.0, {"numbers": "float64"}),
        "50 diverse queries": (diverse_kleene(50), rides(200_000, 120, CALM), None, {"numbers": "float64"}),
        "9 queries that share nothing": (nothing_in_common(9), rides(200_000, 120), 0.95, {}),
    }
    for name, (queries, events, bar, options) in cases.items():
        runs = {
            "together": partial(together, queries, events, **options),
            "one by one": partial(one_by_one, queries, events, **options),
        }
        assert runs["together"]() == runs["one by one"]()
        seconds = interleaved(runs, repeat)
        ratio = seconds["one by one"] / seconds["together"]
        note = f"{events.num_rows:,} events, {duration(seconds['together'])} and {duration(seconds['one by one'])}"
        rows.append(at_least(name, "one by one / together", ratio, "x", bar, note))
    return rows


@workload("sharing-decisions")
def sharing_decisions(repeat: int) -> list[ResultRow]:
    """HAMLET's Figures 11 and 12: sharing decided per burst, against always and never, on bursty and calm streams."""
    warm_up()
    rows = []
    best = 0.0
    for make, name, per_minute in ((shared_kleene, "one Kleene type", 10_000), (diverse_kleene, "diverse", CALM)):
        for queries in (20, 50, 100):
            for burst in (1, 5, 30, 120):
                events = rides(200_000, burst, per_minute)
                asked = make(queries)
                runs = {
                    setting: partial(together, asked, events, numbers="float64", sharing=setting)
                    for setting in SETTINGS
                }
                seconds = interleaved(runs, repeat, process_time)
                static = sorted((seconds["always"], seconds["never"]))
                best = max(best, static[1] / seconds["auto"])
                note = ", ".join(f"{setting} {duration(seconds[setting])}" for setting in SETTINGS)
                title = f"{queries} queries, {name}, bursts of {burst}"
                rows.append(at_most(title, "auto / better of both", seconds["auto"] / static[0], "x", 1.1, note))
    rows.append(at_least("sharing decided per burst", "best gain over the worse of both", best, "x", 1.3))
    return rows


LETTERS = "ABCDEFGHIJKLMNOPQRST"


def sequences(kind: str, length: int, queries: int) -> Workload:
    """Sequences that have `length` types in common, at the beginning or in the middle, and two of their own."""
    common = ", ".join(f"{letter} {letter.lower()}" for letter in LETTERS[:length])
    texts = {}
    for number in range(queries):
        own = LETTERS[8 + 2 * number : 10 + 2 * number]
        first, last = (f"{letter} {letter.lower()}" for letter in own)
        inner = f"{common}, {first}, {last}" if kind == "prefix" else f"{first}, {common}, {last}"
        texts[f"q{number}"] = f"RETURN COUNT(*) PATTERN SEQ({inner}) WITHIN 1 minute SLIDE 1 minute"
    return make_workload(texts)


@cache
def letters(events: int) -> pa.Table:
    random = np.random.default_rng(5)
    kinds = np.array(list(LETTERS))[random.integers(0, len(LETTERS), events)]
    return pa.table({"time": np.arange(events) // 20, "type": kinds})


@workload("prefixes-and-stretches")
def prefixes_and_stretches(repeat: int) -> list[ResultRow]:
    """A-Seq, Figure 16: what sharing a prefix, or a stretch anywhere, gains over each query alone."""
    warm_up()
    theirs = {
        ("prefix", "length"): "theirs 3 x at 2 to 5 x at 6",
        ("prefix", "queries"): "theirs about 2 x",
        ("stretch", "length"): "theirs 1.3 x at 2 to 2.6 x at 6",
        ("stretch", "queries"): "theirs about 2 x",
    }
    rows = []
    events = letters(500_000)
    for kind in ("prefix", "stretch"):
        for varied, sizes in (("length", [(n, 3) for n in range(2, 7)]), ("queries", [(3, n) for n in range(2, 7)])):
            for length, queries in sizes:
                asked = sequences(kind, length, queries)
                runs = {"together": partial(together, asked, events), "alone": partial(one_by_one, asked, events)}
                seconds = interleaved(runs, repeat)
                title = f"{kind} of {length}, {queries} queries"
                note = f"{events.num_rows:,} events, {duration(seconds['together'])}; {theirs[kind, varied]}"
                rows.append(
                    at_least(title, "alone / together", seconds["alone"] / seconds["together"], "x", None, note)
                )
    return rows


@workload("compile-a-workload")
def compile_a_workload(repeat: int) -> list[ResultRow]:
    """1,000 queries of several shapes: read, checked, planned, and what they share."""
    texts = {}
    for number in range(250):
        first, last = OTHERS[number % 19], OTHERS[(number * 7 + 3) % 19]
        texts |= {
            f"kleene{number}": f"RETURN COUNT(*) PATTERN SEQ({first} A, Travel T+, {last} B) WHERE [district] "
            f"WITHIN {1 + number % 9} minutes SLIDE 1 minute",
            f"rising{number}": f"RETURN driver, COUNT(*) PATTERN {first} A+ WHERE [driver] AND A.price < NEXT(A).price "
            f"AND A.speed > {number} GROUP-BY driver WITHIN 5 minutes SLIDE 5 minutes",
            f"limit{number}": f"RETURN EACH A.rider PATTERN {last} A WHERE A.price > {number} WITHIN 1 minute",
            f"missing{number}": f"RETURN EACH rider PATTERN SEQ({first} A, NOT {last} B) WHERE [rider] AND "
            f"A.duration > {number} GROUP-BY rider WITHIN 2 minutes",
        }
    seconds = []
    for _ in range(repeat):
        start = perf_counter()
        made = make_workload(texts)
        made.explain()
        seconds.append(perf_counter() - start)
    assert len(made) == 1_000
    return [at_most("1,000 queries", "to read, plan and explain", sorted(seconds)[repeat // 2], "s", 5)]
