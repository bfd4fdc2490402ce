"""Sums and extremes of windows on a card are those of the CPU: of whole numbers exactly, of floats within rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.programs.operators.sums import fold_between, sums_of

SHAPES = [(1, 1, 1), (40, 7, 3), (3000, 1, 2), (5000, 2100, 37), (2048, 2048, 1)]
WHOLE = {"small": 9, "middle": 2**40, "all": 2**63 - 1}


def windows_of(rows: int, length: int, slide: int, given: bool) -> tuple[np.ndarray, np.ndarray]:
    low = np.arange(0, rows - length + 1, slide)
    if not given:
        return low, low + length
    draw = np.random.default_rng(length)
    low = np.sort(draw.integers(0, rows, 20))
    return low, np.maximum(low + 1, np.minimum(np.maximum.accumulate(low + draw.integers(0, length + 1, 20)), rows))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_floats_are_added_within_rounding(gpu: SimulatedCard, shape: tuple[int, int, int], given: bool) -> None:
    draw = np.random.default_rng(3)
    values = draw.normal(size=shape[0]) * 10.0 ** draw.integers(-8, 8, shape[0])
    low, high = windows_of(*shape, given)
    copied = gpu.copied

    found = fold_between("sum", values, low, high, "gpu")

    sizes = np.array([np.abs(values[a:b]).sum() for a, b in zip(low, high, strict=True)])
    assert (np.abs(found - [values[a:b].sum() for a, b in zip(low, high, strict=True)]) <= 1e-12 * sizes).all()
    assert gpu.copied > copied


def test_what_is_not_finite_stays_in_its_windows(gpu: SimulatedCard) -> None:
    values = np.array([1.0, np.inf, 2.0, -np.inf, 3.0, np.nan, 4.0, 1e308, 1e308])
    low = np.arange(8)

    found = fold_between("sum", values, low, low + 2, "gpu")

    expected = [np.inf, np.inf, -np.inf, -np.inf, np.nan, np.nan, 1e308, np.inf]
    assert repr(found.tolist()) == repr(expected)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", WHOLE)
def test_extremes(gpu: SimulatedCard, name: str, shape: tuple[int, int, int]) -> None:
    values = np.random.default_rng(shape[0]).integers(-WHOLE[name] - 1, WHOLE[name], shape[0], endpoint=True)
    for given in (False, True):
        low, high = windows_of(*shape, given)
        parts = [values[a:b] for a, b in zip(low, high, strict=True)]
        assert fold_between("least", values, low, high, "gpu").tolist() == [part.min() for part in parts]
        assert fold_between("most", values, low, high, "gpu").tolist() == [part.max() for part in parts]
        exact = [sum(part.tolist()) for part in parts]
        words = sums_of(values).between(low, high, "gpu").words()
        assert [(int(upper) << 64) + (int(lower) & 2**64 - 1) for lower, upper in words] == exact


def test_no_window(gpu: SimulatedCard) -> None:
    none = np.empty(0, np.int64)
    assert fold_between("most", np.arange(3), none, none, "gpu").size == 0
    assert fold_between("sum", np.empty(0), none, none, "gpu").size == 0
