"""Sums, counts and extremes over stretches of rows are exact on a card."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.gpu.simulator import SimulatedCard
from trendweave.gpu.windows import (
    Stretches,
    count_flags,
    count_stretches,
    extremes,
    ordered_codes,
    put_stretches,
    sum_floats,
    sum_whole,
)
from trendweave.kernels.numbering import ordered_bits

FLOATS = {
    "near": lambda draw, count: draw.normal(size=count).round(3),
    "single": lambda draw, count: draw.normal(size=count).astype(np.float32),
    "apart": lambda draw, count: draw.normal(size=count) * 10.0 ** draw.integers(-8, 8, count),
    "far apart": lambda draw, count: draw.normal(size=count) * 10.0 ** draw.integers(-300, 300, count),
    "tiny": lambda draw, count: draw.integers(-9, 9, count) * 5e-324,
    "large": lambda draw, count: draw.choice([1e308, -1e308, 1.7e308], count),
    "zeros": lambda draw, count: draw.choice([0.0, -0.0], count),
}
WHOLE = {"small": 9, "middle": 2**40, "all": 2**63 - 1}
SHAPES = [(0, 1, 1), (1, 1, 1), (40, 7, 3), (3000, 1, 2), (5000, 2100, 37), (2048, 2048, 1)]


def stretches_of(card: SimulatedCard, rows: int, length: int, slide: int, given: bool) -> tuple[Stretches, list[slice]]:
    places = [slice(first, first + length) for first in range(0, rows - length + 1, slide)]
    if not given:
        return count_stretches(rows, length, slide), places
    draw = np.random.default_rng(length)
    low = np.sort(draw.integers(0, rows + 1, 20))
    high = np.minimum(np.maximum.accumulate(low + draw.integers(0, length + 1, 20)), rows)
    return put_stretches(card, low, high), [slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def exactly(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FLOATS)
def test_floats_are_rounded_once(card: SimulatedCard, name: str, shape: tuple[int, int, int]) -> None:
    draw = np.random.default_rng(len(name))
    values = FLOATS[name](draw, shape[0])
    valid = (draw.random(shape[0]) < 0.8).astype(np.uint8)
    stretches, places = stretches_of(card, *shape, given=name != "near")
    kept = [[Fraction(float(value)) for value in values[place][valid[place] == 1]] for place in places]
    counts = count_flags(card, card.put(valid), stretches)

    sums = sum_floats(card, card.put(values), card.put(valid), stretches)

    assert counts.tolist() == [len(part) for part in kept]
    exact = [sum(part, Fraction(0)) for part in kept]
    if sums is None:
        assert name in ("far apart", "tiny")
        return
    assert sums.tolist() == [exactly(number) for number in exact]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_exact(card: SimulatedCard, name: str, shape: tuple[int, int, int]) -> None:
    draw = np.random.default_rng(len(name))
    values = draw.integers(-WHOLE[name] - 1, WHOLE[name], shape[0], endpoint=True)
    stretches, places = stretches_of(card, *shape, given=name == "middle")

    words = sum_whole(card, card.put(values), None, stretches)

    exact = [sum(values[place].tolist()) for place in places]
    assert [(int(upper) << 64) + (int(lower) & 2**64 - 1) for lower, upper in words] == exact


def test_infinities_and_nan_add_up(card: SimulatedCard) -> None:
    values = np.array([1.0, math.inf, 2.0, -math.inf, 3.0, math.nan, 4.0])
    valid = np.array([1, 1, 1, 1, 1, 1, 1], np.uint8)

    sums = sum_floats(card, card.put(values), card.put(valid), count_stretches(7, 2, 1))
    even = card.put((np.arange(7) % 2 == 0).astype(np.uint8))
    without = sum_floats(card, card.put(values), even, count_stretches(7, 3, 2))

    assert repr(sums.tolist()) == repr([math.inf, math.inf, -math.inf, -math.inf, math.nan, math.nan])
    assert without.tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_extremes(card: SimulatedCard, shape: tuple[int, int, int], largest: bool) -> None:
    values = np.random.default_rng(shape[0]).integers(-(2**63), 2**63 - 1, shape[0])
    pick = max if largest else min
    for given in (False, True):
        stretches, places = stretches_of(card, *shape, given=given)

        found = extremes(card, card.put(values), stretches, largest)

        assert found.tolist() == [pick(values[place].tolist(), default=0) for place in places]


def test_floats_in_the_order_of_the_language(card: SimulatedCard) -> None:
    values = np.array([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1e-320, -2.5])

    assert ordered_codes(card, card.put(values)).tolist() == ordered_bits(values).tolist()
