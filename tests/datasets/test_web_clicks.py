"""Web clicks: visitors who walk from page to page."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from trendweave import datasets
from trendweave.datasets.web_clicks import _NEXT, TYPES


def walks(table) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for visitor, kind in zip(table["visitor"].to_pylist(), table["type"].to_pylist(), strict=True):
        found.setdefault(visitor, []).append(kind)
    return found


def test_probabilities_add_up() -> None:
    assert (_NEXT.sum(axis=1) == 100).all()
    assert _NEXT.shape == (len(TYPES), len(TYPES))


def test_everybody_begins_with_a_visit_and_comes_back_with_one() -> None:
    for walk in walks(datasets.web_clicks(20_000, seed=3, visitors=40)).values():
        assert walk[0] == "Visit"
        assert all(after == "Visit" for before, after in pairwise(walk) if before == "Leave")


def test_steps_have_their_probabilities() -> None:
    steps = Counter(
        step for walk in walks(datasets.web_clicks(100_000, seed=4, visitors=20)).values() for step in pairwise(walk)
    )
    views = sum(count for (before, _), count in steps.items() if before == "View")
    assert abs(steps["View", "AddToCart"] / views - 0.22) < 0.01
    assert steps["View", "Pay"] == 0


def test_what_belongs_to_a_visitor_or_product_stays() -> None:
    rows = datasets.web_clicks(5_000, seed=5, visitors=7, products=3).to_pylist()
    assert len({(row["visitor"], row["country"], row["device"]) for row in rows}) == 7
    assert len({(row["product"], row["price"]) for row in rows}) == 3
    assert min(row["load_ms"] for row in rows) >= 80
    times = [row["time"] for row in rows]
    assert times == sorted(times)


def test_few_events_and_wrong_arguments() -> None:
    assert datasets.web_clicks(0, seed=1).num_rows == 0
    assert datasets.web_clicks(1, seed=1)["type"].to_pylist() == ["Visit"]
    with pytest.raises(ValueError, match="visitors must be at least 1"):
        datasets.web_clicks(5, seed=1, visitors=0)
