"""Windows as array code: the same as the compiled loops, which is what a card runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from trendweave.programs.operators.kernels.sliding import largest_between, smallest_between
from trendweave.programs.operators.kernels.window_edges import find_time_windows
from trendweave.programs.operators.windows.sums import sum_words
from trendweave.rows.window_arrays import extreme_between, split_floats, sum_between, time_window_edges

MOMENTS = some.integers(-20, 20) | some.sampled_from([-(2**61), 2**61])


@given(
    some.lists(some.lists(MOMENTS, min_size=1, max_size=6).map(sorted), max_size=4),
    some.integers(1, 7),
    some.integers(1, 9),
    some.none() | some.tuples(some.integers(-4, 2), some.integers(-2, 6)),
)
def test_windows_of_time_are_found_alike(
    keys: list[list[int]], length: int, slide: int, bounds: tuple[int, int] | None
) -> None:
    times = np.array([time for key in keys for time in key], np.int64)
    starts = np.concatenate(([0], np.cumsum([len(key) for key in keys]))).astype(np.int64)

    found = time_window_edges(np, times, starts, length, slide, bounds)

    compiled = find_time_windows(times, starts, length, slide, bounds or (-(2**63), 2**63 - 1))
    for one, other in zip(found, compiled, strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("length", [1, 2, 7, 64, 100])
def test_sums_and_extremes_are_found_alike(length: int) -> None:
    random = np.random.default_rng(length)
    values = random.integers(-(2**63), 2**63 - 1, 100)
    low = np.arange(0, 101 - length)
    for high in (low + length, np.maximum.accumulate(low + random.integers(1, length + 1, low.size))):
        lower, upper = sum_between(np, values, low, high)
        assert np.stack((lower, upper), axis=1).tolist() == sum_words(values, low, high).tolist()
        assert extreme_between(np, values, low, high, False).tolist() == smallest_between(values, low, high).tolist()
        assert extreme_between(np, values, low, high, True).tolist() == largest_between(values, low, high).tolist()


def test_floats_are_split_exactly() -> None:
    values = np.array([0.1, -0.1, 1e9, -1e9, 2.0**-57, 0.0, 123456.789])

    parts = split_floats(np, values, -90, 4)

    for place, value in enumerate(values.tolist()):
        whole = sum(int(part[place]) << (32 * number) for number, part in enumerate(parts))
        assert whole == int(value * 2.0**90)
        assert all(0 <= part[place] * np.sign(value) < 2**32 for part in parts[:-1])
