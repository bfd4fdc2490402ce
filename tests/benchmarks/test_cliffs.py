"""What counts as a cliff: a size that costs much more than those around it, and not a series that grows."""

from __future__ import annotations

import pytest

from benchmarks.workloads.cliffs import CLIFF, QUERIES, TOGETHER, above_neighbours
from trendweave import query

SIZES = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]


def steep(seconds: list[float]) -> list[int]:
    points = list(zip(SIZES, seconds, strict=False))
    return [size for (size, _), ratio in above_neighbours(points) if ratio > CLIFF]


@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_growing_alone_is_no_cliff(power: int) -> None:
    assert steep([(size / 1000) ** power for size in SIZES]) == []


def test_a_size_that_costs_more_than_those_around_it() -> None:
    assert steep([0.1, 0.2, 0.4, 97, 1.6, 3.2]) == [8_000]
    assert steep([0.1, 0.2, 0.4, 0.8, 97, 131]) == [16_000]
    # Where the series ended, the two points before say what was expected.
    assert steep([0.1, 0.2, 0.4, 97]) == [8_000]
    assert steep([0.1, 97]) == []


def test_every_query_has_a_meaning() -> None:
    assert all(query(text) for text in (*QUERIES.values(), *TOGETHER.values()))
