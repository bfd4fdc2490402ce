"""Time against the size of one key, for every kind of query: no size may cost much more than those around it.

`CLIFF_SIZES=8` in the environment takes eight sizes instead of thirty, and `CLIFF_SERIES='lists,sessions'` those whose
names hold one of these words.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import cache
from time import process_time

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from trendweave import query
from trendweave import workload as make_workload

FEWEST, MOST, SIZES = 1_000, 1_000_000, 30
#: A series ends with the first point that takes longer, in seconds; what takes less than the other is all noise.
LONGEST, SHORTEST = 10.0, 0.005
#: A point this many times above the line through its neighbours is a cliff.
CLIFF = 2.0
#: What takes less is measured several times, and the least counts.
_QUICK, _TIMES = 0.5, 3
Point = tuple[int, float]


@cache
def events() -> pa.Table:
    """One event per second, all of one key."""
    draw = np.random.default_rng(7)
    return pa.table(
        {
            "time": np.arange(MOST),
            "type": draw.choice(["A", "B", "C"], MOST, p=[0.6, 0.3, 0.1]),
            "user": np.zeros(MOST, np.int64),
            "x": np.cumsum(draw.normal(size=MOST)),
            "y": draw.random(MOST),
            "g": draw.integers(0, 1000, MOST),
        }
    )


NEXT, CONTIGUOUS = "SEMANTICS skip-till-next-match", "SEMANTICS contiguous"
PAST, PER_START = "AFTER MATCH SKIP PAST LAST EVENT", "LONGEST PER START"
V_SHAPE = "WHERE [user] AND a.x > b.x AND b.x > NEXT(b).x AND b.x < c.x AND c.x < NEXT(c).x"
COUNTED = "RETURN COUNT(*) AS n PATTERN"
LISTED = "RETURN EACH FIRST(a.time) AS since, COUNT(a) AS n PATTERN"
#: Name -> text; counts are written as logarithms.
QUERIES = {
    "aggregates, running sums": f"{COUNTED} SEQ(A a+, B b) WHERE [user]",
    "aggregates, sums per value": f"{COUNTED} SEQ(A a, B b) WHERE [user] AND a.g = b.g",
    "aggregates, sums over ranks": f"{COUNTED} A a+ WHERE [user] AND a.x < NEXT(a).x",
    "aggregates, ranks per value": f"{COUNTED} A a+ WHERE [user] AND a.g = NEXT(a).g AND a.x < NEXT(a).x",
    "aggregates, scan of windows": f"{COUNTED} A a+ WHERE [user] AND a.x < NEXT(a).x AND a.y < NEXT(a).y "
    "WITHIN 500 s SLIDE 250 s",
    "aggregates, overlapping windows": f"{COUNTED} SEQ(A a+, B b) WHERE [user] WITHIN 1000 s SLIDE 10 s",
    "aggregates, extrema": "RETURN MAX(a.y) AS n PATTERN SEQ(A a+, B b) WHERE [user] AND a.x < NEXT(a).x",
    "aggregates, next match": f"{COUNTED} SEQ(A a+, B b) {NEXT} WHERE [user]",
    "aggregates, contiguous": f"{COUNTED} SEQ(A a+, B b) {CONTIGUOUS} WHERE [user]",
    "absence": f"{COUNTED} SEQ(A a, NOT C c, B b) WHERE [user]",
    "lists, any match": f"{LISTED} SEQ(A a, B b, C c) WHERE [user] WITHIN 12 s",
    "lists, next match": f"{LISTED} SEQ(A a+, B b) {NEXT} WHERE [user] WITHIN 30 s",
    "lists, contiguous": f"{LISTED} A a+ {CONTIGUOUS} WHERE [user] AND a.x < NEXT(a).x",
    "lists, absence": f"{LISTED} SEQ(A a, NOT C c, B b) WHERE [user] WITHIN 12 s",
    "lists, complete": "RETURN COMPLETE EACH FIRST(a.time) AS since, COUNT(a) AS n "
    "PATTERN A a+ WHERE [user] AND a.x < NEXT(a).x WITHIN 10 s",
    "after match, V shapes": "RETURN EACH FIRST(a.time) AS since PATTERN SEQ(A a, B b+, A c+) "
    f"{CONTIGUOUS} {V_SHAPE} {PAST}",
    "after match, next match": f"{LISTED} SEQ(A a+, SEQ(B b, C c?)?) {NEXT} WHERE [user] WITHIN 1 day {PAST}",
    "after match, rising runs": f"{LISTED} A a+ {CONTIGUOUS} WHERE [user] AND a.x < NEXT(a).x {PAST}",
    "per start, rising runs": f"{LISTED} A a+ {CONTIGUOUS} WHERE [user] AND a.x < NEXT(a).x {PER_START}",
    "per start, next match": f"{LISTED} SEQ(A a+, B b) {NEXT} WHERE [user] WITHIN 30 s {PER_START}",
    "after match, V shapes of a height": "RETURN EACH FIRST(a.time) AS since PATTERN SEQ(A a, B b+, A c+) "
    f"{CONTIGUOUS} {V_SHAPE} AND LAST(c.x) > FIRST(a.x) {PAST}",
    "after match, next match of a number": f"{LISTED} SEQ(A a+, B b+) {NEXT} WHERE [user] AND COUNT(b) = 3 {PAST}",
    "per start, rising runs of a sum": f"{LISTED} A a+ {CONTIGUOUS} WHERE [user] AND a.x < NEXT(a).x "
    f"AND SUM(a.y) > 1 {PER_START}",
    "per start, next match of a sum": f"{LISTED} SEQ(A a+, B b+) {NEXT} WHERE [user] AND SUM(b.y) > 5 {PER_START}",
    "intervals": "FROM S PARTITION BY user DEFINE P AS y > 0.7, Q AS x > PREV(x) "
    "PATTERN P before; overlaps; meets Q WITHIN 20 seconds",
    "sessions": f"{COUNTED} SEQ(A a+, C c) WHERE [user] WITHIN SESSION 2 s",
    "moving window": f"{COUNTED} SEQ(A a, B b) WHERE [user] WITHIN 60 s",
}
TOGETHER = {
    f"rule {number}": f"{COUNTED} SEQ(A a+, {other} b) WHERE [user] WITHIN {length} s SLIDE 50 s"
    for number, (other, length) in enumerate([("B", 100), ("C", 100), ("B", 200)])
}


def series() -> dict[str, Callable[[pa.Table], pa.Table]]:
    """What is measured, by name."""

    def runner(text: str) -> Callable[[pa.Table], pa.Table]:
        asked = query(text)
        if text.startswith("FROM"):
            return lambda some: asked.run(some, type=None)
        if text.startswith((COUNTED, "RETURN MAX")):
            return lambda some: asked.run(some, numbers="log2")
        return lambda some: asked.run(some, max_trends=10**9)

    found = {name: runner(text) for name, text in QUERIES.items()}
    together = make_workload(TOGETHER)
    found["workload"] = lambda some: together.run(some, numbers="log2")
    words = [word for word in os.environ.get("CLIFF_SERIES", "").split(",") if word]
    return {name: one for name, one in found.items() if not words or any(word in name for word in words)}


def measure(run: Callable[[pa.Table], pa.Table], sizes: Sequence[int]) -> list[Point]:
    """CPU seconds per size, up to the first that takes too long."""
    assert run(events().slice(0, sizes[0])).num_rows > 0, "an empty result is no work"
    points = list[Point]()
    for size in sizes:
        some, seconds = events().slice(0, size), math.inf
        for _ in range(_TIMES):
            begun = process_time()
            run(some)
            seconds = min(seconds, process_time() - begun)
            if seconds > _QUICK:
                break
        points.append((size, max(seconds, SHORTEST)))
        if seconds > LONGEST:
            break
    return points


def above_neighbours(points: Sequence[Point]) -> list[tuple[Point, float]]:
    """How many times each point is above the line through its neighbours, where both axes are logarithms; the last one
    above what goes on from the two before it, and at least in proportion."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points]
    found = []
    for place in range(1, len(points)):
        is_last = place + 1 == len(points)
        if is_last and place < 2:
            continue
        (left, low), (right, high) = logs[place - 2 : place] if is_last else (logs[place - 1], logs[place + 1])
        slope = (high - low) / (right - left)
        at, own = logs[place]
        line = high + max(slope, 1.0) * (at - right) if is_last else low + slope * (at - left)
        found.append((points[place], math.exp(own - line)))
    return found


@workload("cliffs")
def cliffs(repeat: int) -> list[ResultRow]:
    """Time against the size of one key, 1,000 to 1,000,000 events: points above the line through their neighbours."""
    count = int(os.environ.get("CLIFF_SIZES", SIZES))
    sizes = [round(size) for size in np.geomspace(FEWEST, MOST, count)]
    rows = list[ResultRow]()
    for name, run in series().items():
        points = measure(run, sizes)
        ratios = above_neighbours(points)
        steep = [
            f"{size:,} events {ratio:.1f} x ({seconds:.2f} s)" for (size, seconds), ratio in ratios if ratio > CLIFF
        ]
        size, seconds = points[-1]
        ended = f"{len(points)} sizes up to {size:,} events in {seconds:.2f} s of CPU"
        ended += "" if size == MOST else ", where it ended"
        rows.append(
            ResultRow(
                name=name,
                metric="worst point above its neighbours",
                value=round(max((ratio for _, ratio in ratios), default=0.0), 2),
                unit="x",
                bar=f"at most {CLIFF:g} x",
                met=not steep,
                note="; ".join([ended, *steep]),
            )
        )
        print(f"{name}: {rows[-1]['value']} x, {rows[-1]['note']}", flush=True)
    return rows
