"""Windows as array code: the same as the compiled loops, which is what a card runs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as some

from trendweave.programs.operators.kernels.window_edges import find_time_windows
from trendweave.rows.window_arrays import time_window_edges

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
