"""Trends on a card: the same numbers as the kernels for processors at full size, and how fast they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tools.gpu_timing import seconds_on
from trendweave.gpu.card import Card
from trendweave.gpu.trends.entry import aggregate as aggregate_on_card
from trendweave.gpu.trends.numbers import FLOATS
from trendweave.gpu.trends.passes import CardPasses
from trendweave.kernels import (
    Aggregate,
    Comparison,
    Condition,
    PairTest,
    Results,
    Rows,
    Selection,
    Template,
    aggregate,
)

#: Takes the name of a figure or a check, and numbers with their names.
Report = Callable[..., None]


@dataclass(frozen=True)
class Case:
    """A question to both kinds of kernels."""

    name: str
    rows: Rows
    template: Template
    conditions: list[Condition]
    aggregates: list[Aggregate]
    numbers: str = "exact"


def make_rows(
    rng: np.random.Generator, segments: int, length: int, letters: int = 1, window: tuple[int, int] = (0, 0)
) -> Rows:
    """Segments of one length, a new tick at three of four rows; windows of (rows, slide), or one for all."""
    count = segments * length
    tick = np.cumsum(rng.random(count) < 0.75)
    size, slide = window
    first, last = np.zeros(count, np.int64), np.zeros(count, np.int64)
    if size:
        last = tick // slide
        first = np.maximum((tick - size) // slide + 1, 0)
    of_row = np.uint64(1) << rng.integers(0, letters, count).astype(np.uint64)
    return Rows(np.arange(segments + 1) * length, tick, first, last, of_row)


def make_template(variables: list[int], starts: list[int], finals: list[int], steps: list[tuple[int, int]]) -> Template:
    """States by the variables that they read."""
    states = np.arange(len(variables))
    source, target = (np.array(side, np.int32) for side in zip(*steps, strict=True))
    return Template(np.array(variables, np.int32), np.isin(states, starts), np.isin(states, finals), source, target)


ONE = make_template([0], [0], [0], [(0, 0)])
SEQUENCE = make_template([0, 1, 2], [0], [2], [(0, 1), (1, 2)])
NESTED = make_template([0, 1], [0], [1], [(0, 0), (0, 1), (1, 0)])


def make_cases(rng: np.random.Generator, scale: float) -> Iterator[Case]:
    """Every kind of condition and number, about a million rows each at scale 1."""

    def size(segments: int) -> int:
        return max(1, int(segments * scale))

    def length(rows: int) -> int:
        return max(50, int(rows * min(1.0, 50 * scale)))

    def codes(rows: Rows, most: int) -> np.ndarray:
        return rng.integers(-1, most, rows.tick.size)

    many = make_rows(rng, size(1000), length(1000))
    x, k = codes(many, 500), codes(many, 8)
    values = rng.integers(-1000, 1000, many.tick.size)
    floats = rng.standard_normal(many.tick.size)
    measured = [Aggregate("sum", 1, values), Aggregate("sum", 1, floats), Aggregate("max", 1, values, values % 7 != 0)]
    rising = [Condition((Comparison(x, "<", x),))]
    for numbers in ("exact", "float64"):
        yield Case(f"one comparison, {numbers}", many, ONE, rising, measured, numbers)
    yield Case("an equality", many, ONE, [Condition((Comparison(k, "=", k),))], [Aggregate("count", 1)], "float64")
    both = [Condition((Comparison(k, "=", k), Comparison(x, ">=", x)))]
    yield Case("an equality and a comparison", many, ONE, both, [Aggregate("min", 1, values)])
    three = [Condition((Comparison(k, "<=", k), Comparison(x, ">", x), Comparison(k, "!=", x)))]
    yield Case("three comparisons", many, ONE, three, [])
    answers = rng.random((8, 8)) < 0.3
    pair = [Condition((), None, PairTest(np.maximum(k, 0), np.maximum(k, 0), answers))]
    yield Case("a table of pairs", many, ONE, pair, [], "float64")
    two = make_rows(rng, size(1000), length(1000), 2, (300, 100))
    y = codes(two, 500)
    nested = [Condition((Comparison(y, "<", y),)), Condition(), Condition((Comparison(y, ">", y),))]
    yield Case("two states, overlapping windows", two, NESTED, nested, [Aggregate("sum", 2, y)])
    long = make_rows(rng, 1, size(1_000_000), 3)
    total = [Aggregate("sum", 2, rng.integers(0, 100, long.tick.size)), Aggregate("max", 4, rng.permutation(long.tick))]
    yield Case("no condition, one window", long, SEQUENCE, [], total)
    sliding = make_rows(rng, size(100), length(10_000), 3, (2000, 100))
    of_rows = [Aggregate("sum", 2, rng.integers(-50, 50, sliding.tick.size)), Aggregate("count", 3)]
    yield Case("no condition, overlapping windows", sliding, SEQUENCE, [], of_rows)
    yield Case("no condition, very large numbers", make_rows(rng, size(200), length(5000)), ONE, [], [])


def differs(found: Results, expected: Results) -> str | None:
    """What is not the same; floats may differ in their last bits."""
    if found.segment.tolist() != expected.segment.tolist() or found.window.tolist() != expected.window.tolist():
        return f"{found.window.size} windows instead of {expected.window.size}"
    columns = zip((found.count, *found.aggregates), (expected.count, *expected.aggregates), strict=True)
    for place, (ours, theirs) in enumerate(columns):
        if theirs.dtype == np.float64:
            same = ours.dtype == theirs.dtype and np.allclose(ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)
        else:
            same = bool((ours == theirs).all())
        if not same:
            return f"column {place}: {ours[:3]} instead of {theirs[:3]}"
    known = zip(found.valid, expected.valid, strict=True)
    return None if all(a is b or np.array_equal(a, b) for a, b in known) else "which values are NULL"


def check(card: Card, report: Report, scale: float = 1.0) -> None:
    """Compare every kind of question with the kernels for processors."""
    rng = np.random.default_rng(20)
    for case in make_cases(rng, scale):
        conditions = case.conditions or None
        began = time.perf_counter()
        found = aggregate_on_card(card, case.rows, case.template, conditions, case.aggregates, numbers=case.numbers)
        on_card = time.perf_counter() - began
        began = time.perf_counter()
        expected = aggregate(case.rows, case.template, conditions, case.aggregates, numbers=case.numbers)
        on_core = time.perf_counter() - began
        wrong = differs(found, expected)
        report(case.name, ok=wrong is None, seconds_on_card=on_card, seconds_on_core=on_core, wrong=wrong)


def resident_rate(card: Card, rows: Rows, template: Template, conditions: list[Condition], repeats: int = 5) -> float:
    """Events per second of counting in floats, with all columns on the card."""
    passes = CardPasses(
        card, *(rows._replace(letters=rows.letters[:, None]), template, conditions), Selection.ANY, {}, {}
    )
    nothing = (card.put(np.zeros((1, 1))), card.put(np.zeros(1, np.uint32)))

    def run() -> Any:
        return passes.loop.run(FLOATS, *nothing, 0, None)

    return rows.tick.size / seconds_on(card, run, repeats)


def measure(card: Card, report: Report, scale: float = 1.0) -> None:
    """The figures of the benchmarks: events per second, columns on the card."""
    rng = np.random.default_rng(21)
    rows = make_rows(rng, max(1, int(20_000 * scale)), 1000)
    x, k = rng.integers(0, 10**6, rows.tick.size), rng.integers(0, 50, rows.tick.size)
    rising = Comparison(x, "<", x)
    conditions = {
        "one comparison": [Condition((rising,))],
        "an equality and a comparison": [Condition((Comparison(k, "=", k), rising))],
        "three comparisons": [Condition((Comparison(k, "<=", k), rising, Comparison(x, "!=", k)))],
    }
    for name, asked in conditions.items():
        rate = resident_rate(card, rows, ONE, asked)
        report(f"S+ with {name}, 20,000 segments of 1,000", events_per_s=rate)
    two = make_rows(rng, max(1, int(20_000 * scale)), 1000, 2)
    rate = resident_rate(card, two, NESTED, [Condition((rising,)), Condition(), Condition((Comparison(x, ">", x),))])
    report("(SEQ(A+, B))+ with comparisons, 20,000 segments of 1,000", events_per_s=rate)
    for numbers in ("float64", "exact"):
        asked = partial(aggregate_on_card, card, rows, ONE, conditions["one comparison"], (), numbers=numbers)
        seconds = seconds_on(card, asked, 2)
        report(f"S+ with one comparison from memory of the process, {numbers}", events_per_s=rows.tick.size / seconds)
    one = make_rows(rng, 1, max(1, int(100_000 * scale)))
    y = x[: one.tick.size]
    rate = resident_rate(card, one, ONE, [Condition((Comparison(y, "<", y),))], 2)
    report("S+ with one comparison, one segment of 100,000", events_per_s=rate)
    long = make_rows(rng, 1, max(1, int(100_000_000 * scale)), 3)
    rate = resident_rate(card, long, SEQUENCE, [Condition()] * 2)
    report("SEQ(A, B, C), one segment of 100 million", events_per_s=rate)
    seconds = seconds_on(card, partial(aggregate_on_card, card, long, SEQUENCE, None, ()), 2)
    report("SEQ(A, B, C) from memory of the process, exact", events_per_s=long.tick.size / seconds)
