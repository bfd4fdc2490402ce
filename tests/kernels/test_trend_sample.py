"""Draws are uniform: chi-square."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave.kernels.lists.sample import WindowSampler
from trendweave.programs.program import EVERYTHING
from trendweave.programs.trends.detection import DEFAULTS
from trendweave.programs.trends.program import bind_trends, count_and_list

KEYS = np.random.Generator(np.random.PCG64(7)).integers(0, 2**64, 20_000, np.uint64)
QUERIES = (
    "PATTERN A+",
    "PATTERN SEQ(A+, B)",
    "PATTERN (SEQ(A+, B))+",
    "PATTERN A+ WHERE A.x < NEXT(A).x",
    "PATTERN SEQ(A, NOT C, B+)",
    "PATTERN A+ SEMANTICS skip-till-next-match",
)


def events(count: int) -> pa.Table:
    random = np.random.Generator(np.random.PCG64(3))
    types = list("ABAACABBABA" * (count // 11 + 1))[:count]
    return pa.table({"time": np.arange(count) * 2 // 3, "type": types, "x": random.integers(0, 20, count)})


def sampler(query: str, table: pa.Table) -> WindowSampler:
    plan = trendweave.query(f"RETURN TRENDS(x) {query} SAMPLE 1").plan
    bound = bind_trends(plan, table.schema, "time", "type")
    listing = count_and_list(bound, bound.prepare(table)[0], EVERYTHING, DEFAULTS)
    (part,) = listing.graphs.parts()
    return WindowSampler(part.graph, part.steps, 0, 0, listing.graphs.mode)


def drawn(source: WindowSampler, keys: np.ndarray = KEYS) -> list[bytes]:
    trends = []
    for starts, vertices in source.draws(keys, 1_000):
        trends += [vertices[a:b].tobytes() for a, b in pairwise(starts)]
    return trends


def assert_uniform(seen: Counter, kinds: int) -> None:
    """Chi-square, so far out that a fair draw fails once in about ten million times (Wilson and Hilferty)."""
    expected = seen.total() / kinds
    assert expected >= 20, "too few draws tell nothing"
    assert len(seen) <= kinds
    statistic = sum((count - expected) ** 2 / expected for count in seen.values()) + expected * (kinds - len(seen))
    freedom = kinds - 1
    limit = freedom * (1 - 2 / (9 * freedom) + 5.2 * math.sqrt(2 / (9 * freedom))) ** 3
    assert statistic < limit, (statistic, limit)


@pytest.mark.parametrize("query", QUERIES)
def test_every_trend_is_equally_likely(query: str) -> None:
    table = events(11)
    count = int(trendweave.query(f"RETURN COUNT(*) {query}").run(table)["count"][0].as_py())
    assert 4 < count < 1_000
    assert_uniform(Counter(drawn(sampler(query, table))), count)


def test_complete_trends_are_equally_likely() -> None:
    table = pa.table({"time": np.arange(12) // 3, "type": ["A"] * 12, "x": [0, 1, 2] * 4})
    plan = trendweave.query("PATTERN A+ WHERE A.x <= NEXT(A).x SAMPLE 1").plan
    bound = bind_trends(plan, table.schema, "time", "type")
    listing = count_and_list(bound, bound.prepare(table)[0], EVERYTHING, DEFAULTS)
    (part,) = listing.graphs.parts()
    source = WindowSampler(part.graph, part.steps, 0, 0, listing.graphs.mode)
    complete = trendweave.query("PATTERN A+ WHERE A.x <= NEXT(A).x").iter(table)
    assert complete.trends is not None
    assert_uniform(Counter(drawn(source)), complete.trends)


def test_unequal_draws_fail_the_test() -> None:
    seen = Counter(dict.fromkeys(range(30), 100))
    assert_uniform(seen, 30)
    with pytest.raises(AssertionError):
        assert_uniform(seen + Counter({0: 200}), 30)


def test_beyond_the_range_of_floats() -> None:
    """2^3000 trends: half of the events are in each, give or take."""
    table = pa.table({"time": np.arange(3_000), "type": ["A"] * 3_000, "x": np.arange(3_000)})
    result = trendweave.query("RETURN EACH COUNT(A) PATTERN A+ SAMPLE 200").run(table)
    lengths = result["count_A"].to_numpy()
    assert lengths.size == 200
    assert abs(lengths.mean() - 1_500) < 6 * math.sqrt(3_000 / 4 / 200)


def test_sets_of_trends_are_equally_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the six trends of three windows' worth of keys, whether they are picked or drawn: 15 pairs."""
    table = pa.table({"time": [1, 2, 3, 4], "type": ["A"] * 4, "k": [1, 1, 2, 2]})
    for few in (1_000, 0):
        monkeypatch.setattr("trendweave.programs.trends.lists.choosing._FEW", few)
        monkeypatch.setattr("trendweave.programs.trends.lists.choosing._FEW_TIMES", few)
        seen: Counter = Counter()
        for seed in range(450):
            rows = trendweave.query(f"RETURN TRENDS PATTERN A+ WHERE [k] SAMPLE 2 SEED {seed}").run(table).to_pylist()
            seen[frozenset(tuple(event["time"] for event in row["events"]) for row in rows)] += 1
        assert all(len(pair) == 2 for pair in seen)
        assert_uniform(seen, 15)
