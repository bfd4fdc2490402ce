"""All compiled loops that windowed aggregation calls, called once."""

from __future__ import annotations

import numpy as np

from trendweave.programs.operators.kernels.float_bits import ordered_codes
from trendweave.programs.operators.kernels.sliding import largest_between, smallest_between
from trendweave.programs.operators.kernels.summaries import summarise_floats, summarise_whole
from trendweave.programs.operators.kernels.window_edges import find_time_windows
from trendweave.programs.operators.windows.edges import ALL_WINDOWS
from trendweave.programs.operators.windows.sums import mean_whole, sum_or_mean, sum_words


def warm_up_windows() -> None:
    """Compile them, or load them where this machine has compiled them before."""
    times, starts = np.arange(4), np.array([0, 4])
    find_time_windows(times, starts, 2, 1, ALL_WINDOWS)
    low, high, divisors = np.arange(3), np.arange(1, 4), np.ones(3, np.int64)
    for values in (times, np.full(4, 2**62)):
        sum_words(values, low, high)
        mean_whole(values, low, high, divisors)
        smallest_between(values, low, high)
        largest_between(values, low, high)
    for floats in (np.ones(4), np.array([1.0, 1e-20, 0.0, 1.0]), np.array([1e300, 1e-300, 0.0, 1.0])):
        sum_or_mean(floats, low, high)
        sum_or_mean(floats, low, high, divisors)
        ordered_codes(floats)
    summarise_floats(np.ones(4), None, starts)
    summarise_whole(times, None, starts)
