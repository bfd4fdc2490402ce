"""Sums in limbs are exact, and are rounded once: against fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from trendweave.programs.operators.exact_sums import ExactSums, as_integers, join, loaded, stored, trimmed
from trendweave.programs.operators.kernels.rounding import round_quotients
from trendweave.programs.operators.kernels.summaries import summarise_floats, summarise_whole
from trendweave.store.kernels.cutting import cut_blocks

FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([5e-324, -5e-324, 1.7e308, -1.7e308, 0.1])


def nearest(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def in_runs(sizes: list[int]) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(np.array(sizes, np.int64))))


@examples(150)
@given(st.lists(st.lists(FLOATS, max_size=6), min_size=1, max_size=5), st.integers(1, 2**32 - 1))
def test_floats(runs: list[list[float]], divisor: int) -> None:
    values = np.array([value for run in runs for value in run], np.float64)
    limbs, base, low, high, known, nans = summarise_floats(values, None, in_runs([len(run) for run in runs]))
    sums = trimmed(np.ascontiguousarray(limbs.T), base)
    exact = [sum(map(Fraction, run)) for run in runs]

    assert as_integers(sums) == [total * 2**1074 for total in exact]
    assert as_integers(loaded(stored(sums), sums.base, sums.size)) == as_integers(sums)
    for number in (1, divisor):
        found = round_quotients(sums.limbs, 32 * sums.base - 1074, np.full(len(runs), number))
        assert found.tolist() == [nearest(total / number) for total in exact]
    assert known.tolist() == [len(run) for run in runs]
    assert [(least, most) for least, most, run in zip(low, high, runs, strict=True) if run] == [
        (min(run), max(run)) for run in runs if run
    ]
    assert not nans.any()


@examples(100)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), min_size=1, max_size=5), st.data())
def test_whole_numbers(runs: list[list[int]], data: st.DataObject) -> None:
    values = np.array([value for run in runs for value in run], np.int64)
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=values.size, max_size=values.size)), np.bool_)
    starts = in_runs([len(run) for run in runs])
    limbs, *_ = summarise_whole(values, valid, starts)
    sums = trimmed(np.ascontiguousarray(limbs.T), 0)
    exact = [
        sum(int(value) for value, kept in zip(values[low:high], valid[low:high], strict=True) if kept)
        for low, high in pairwise(starts.tolist())
    ]

    assert as_integers(sums) == exact
    assert as_integers(join([sums, sums])) == exact + exact
    assert as_integers(sums.add_runs(np.zeros(1, np.int64))) == [sum(exact)]
    everything = sums.between(np.zeros(sums.size, np.int64), np.arange(1, sums.size + 1))
    assert as_integers(everything) == [sum(exact[: place + 1]) for place in range(len(exact))]


def test_a_sum_that_no_64_bits_hold() -> None:
    limbs, *_ = summarise_whole(np.full(1000, -(2**63)), None, np.array([0, 1000]))
    sums = trimmed(np.ascontiguousarray(limbs.T), 0)

    assert as_integers(sums) == [-(2**63) * 1000]
    many = join([sums] * 1000).add_runs(np.zeros(1, np.int64))
    assert as_integers(many) == [-(2**63) * 1_000_000]
    assert as_integers(ExactSums(np.zeros((1, 0), np.int64), 0)) == []


def test_blocks_end_at_round_times_and_never_inside_one_time() -> None:
    times = np.array([-11, -10, -1, 0, 0, 0, 0, 9, 10, 25])

    assert cut_blocks(times, 10, 100).tolist() == [0, 1, 3, 8, 9, 10]
    assert cut_blocks(times, 1000, 2).tolist() == [0, 2, 3, 7, 9, 10]
    assert cut_blocks(np.array([2**63 - 1, 2**63 - 1]), 10, 1).tolist() == [0, 2]
    assert cut_blocks(np.empty(0, np.int64), 10, 1).tolist() == [0]
