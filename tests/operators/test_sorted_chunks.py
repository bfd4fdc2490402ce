"""Members of a band join in chunks: each sorted by value, whatever the values are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trendweave import operators as ops
from trendweave.programs.operators.joins.searches import SortedBand, sort_into_chunks

VALUES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "even": lambda draw, size: draw.random(size),
    "mostly small": lambda draw, size: np.exp(draw.normal(size=size) * 20),
    "few different": lambda draw, size: np.round(draw.random(size) * 3),
    "all the same": lambda draw, size: np.full(size, -2.5),
    "NULL and infinite": lambda draw, size: draw.choice([np.inf, np.nan, 1.0, 2.0, -7.0], size),
    "all infinite": lambda draw, size: np.full(size, np.inf),
    "all NULL": lambda draw, size: np.full(size, np.nan),
    "further apart than floats go": lambda draw, size: draw.choice([-1.7e308, 1.7e308, 0.0, 5e307], size),
    "as near as floats go": lambda draw, size: draw.integers(0, 9, size) * 5e-324,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize(("bits", "size"), [(2, 0), (2, 1), (2, 11), (5, 200), (8, 256), (8, 1500), (10, 1500)])
def test_chunks_are_sorted(name: str, bits: int, size: int) -> None:
    given = VALUES[name](np.random.default_rng(size), size)
    chunks = sort_into_chunks(given, bits)
    for number, first in enumerate(range(0, size, 1 << bits)):
        own = given[first : first + (1 << bits)]
        finite, present = chunks.finite[number] - first, chunks.present[number] - first
        assert (finite, present) == (np.isfinite(own).sum(), (~np.isnan(own)).sum())
        members = chunks.members[first : first + present]
        assert np.array_equal(chunks.values[first : first + present], np.sort(own)[:present])
        assert np.array_equal(given[members], chunks.values[first : first + present])
        assert np.unique(members).size == present


@pytest.mark.parametrize("name", ["even", "few different", "further apart than floats go", "as near as floats go"])
def test_a_band_finds_what_a_scan_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    left, right = (pa.table({"time": np.arange(400), "v": VALUES[name](draw, 400)}) for _ in range(2))
    width = 0.001 if name == "even" else 1e-323
    windows = {"left": "300 rows", "right": "300 rows"}
    scan = ops.window_join(f"abs(left.v - right.v) * 1.0 <= {width!r}", **windows)
    band = ops.window_join(f"abs(left.v - right.v) <= {width!r}", **windows)
    used = []
    real = SortedBand.bounds
    monkeypatch.setattr(SortedBand, "is_narrow", True)
    monkeypatch.setattr(SortedBand, "bounds", lambda self, *given: used.append(1) or real(self, *given))
    found = band.run(left, right)
    assert used
    assert found.num_rows > 0
    assert found.equals(scan.run(left, right))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("width", [0.1, 0.3, 0.30000001192092896])
@pytest.mark.parametrize("condition", ["abs(left.v - right.v) {} {}", "abs(left.v - right.v + 0.1) {} {}"])
def test_pairs_at_the_ends_of_a_band_are_asked_by_the_condition(
    kind: type[np.floating[Any]], width: float, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted values find a little more than a band, as rounding may make a pair of it."""
    draw = np.random.default_rng(5)
    left, right = (
        pa.table({"time": np.arange(300), "v": (draw.integers(0, 12, 300) * 0.1).astype(kind)}) for _ in range(2)
    )
    windows = {"left": "200 rows", "right": "200 rows"}
    monkeypatch.setattr(SortedBand, "is_narrow", True)
    for operator in ("<", "<="):
        band = ops.window_join(condition.format(operator, repr(width)), **windows).run(left, right)
        scan = ops.window_join(condition.replace(")", ") * 1.0").format(operator, repr(width)), **windows)
        assert band.num_rows > 0
        assert band.equals(scan.run(left, right))


def test_a_band_may_be_a_part_of_what_is_asked() -> None:
    events = pa.table(
        {"time": np.arange(300), "v": np.arange(300) * 0.01, "k": np.arange(300) % 3, "i": np.arange(300)}
    )
    windows = {"left": "200 rows", "right": "200 rows"}
    for condition, other in (
        (
            "abs(left.v - right.v) <= 0.02 AND left.k != right.k",
            "abs(left.v - right.v) * 1.0 <= 0.02 AND left.k != right.k",
        ),
        ("abs(left.i - right.i) <= 2", "abs(left.i - right.i) * 1 <= 2"),
    ):
        found = ops.window_join(condition, **windows).run(events, events)
        assert found.num_rows > 0
        assert found.equals(ops.window_join(other, **windows).run(events, events))
