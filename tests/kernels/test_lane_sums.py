"""Sums in lanes against copies of events in lanes: the same numbers, also beyond 64 bits, and as floats."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.runners.forced import run_forced
from trendweave.planning.plan import Kernel
from trendweave.planning.ways import plan_pieces

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")


def events(count: int, largest: int, kinds: str = "AABBC") -> pa.Table:
    random = np.random.default_rng(count)
    values = random.integers(-largest, largest + 1, count)
    return pa.table(
        {
            "time": np.sort(random.integers(0, count, count)),
            "type": random.choice(list(kinds), count),
            "x": pa.array(values, mask=random.random(count) < 0.1),
        }
    )


def both_ways(text: str, table: pa.Table, numbers: str = "decimal") -> tuple[list[dict], list[dict]]:
    """Rows of the query as planned, and with every event copied into lanes."""
    query = trendweave.query(text)
    assert [piece.kernel for piece in plan_pieces(query.plan, query.plan.template)] == [Kernel.FOLD_BY_VALUE]
    found = (run_forced(query, table, way, numbers=numbers) for way in (None, "general"))
    planned, copied = (part.to_pylist() for part in found)
    return planned, copied


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("window", ["", " WITHIN 20 seconds SLIDE 20 seconds", " WITHIN 20 seconds SLIDE 7 seconds"])
def test_each_comparison(operator: str, window: str) -> None:
    text = f"RETURN COUNT(*), COUNT(B), SUM(C.x), AVG(A.x) PATTERN SEQ(A+, B*, C) WHERE C.x {operator} A.x + 1{window}"
    planned, copied = both_ways(text, events(60, 3))
    assert planned == copied
    assert planned


@pytest.mark.parametrize("numbers", ["decimal", "float64"])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A, B+) WHERE A.x < B.x",
        "(SEQ(A, B*, C))+ WHERE A.x < C.x AND A.x != B.x",
        "SEQ(A?, B, C+) WHERE A.x >= C.x",
        "SEQ(A, B, C, B D+) WHERE A.x >= C.x",
        "(SEQ(A, B*))+ WHERE A.x >= LAST(A).x",
    ],
)
def test_patterns(pattern: str, numbers: str) -> None:
    planned, copied = both_ways(f"RETURN COUNT(*), SUM(B.x) PATTERN {pattern}", events(40, 3), numbers)
    assert planned == copied
    assert planned


def test_beyond_64_bits() -> None:
    """The last bits of integers that wrap, and the first ones of floats."""
    planned, copied = both_ways("RETURN COUNT(*), SUM(C.x) PATTERN SEQ(A, B*, C) WHERE C.x >= A.x", events(150, 10**9))
    assert planned == copied
    assert planned[0]["count"] > 2**50
    assert abs(planned[0]["sum_C_x"]) > 2**64


def test_far_beyond_64_bits() -> None:
    """Where floats are not near enough either, events are copied."""
    text = "RETURN COUNT(*) PATTERN SEQ(A, B*, C) WHERE C.x >= A.x"
    planned, copied = both_ways(text, events(600, 100), "text")
    assert planned == copied
    assert int(planned[0]["count"]) > 2**200
