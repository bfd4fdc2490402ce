"""The compiled loops that windows and joins share, called once."""

from __future__ import annotations

import numpy as np

from trendweave.programs.operators.kernels.pairs import find_in_bands, sort_into_chunks
from trendweave.programs.operators.kernels.window_edges import find_time_windows
from trendweave.programs.operators.sums import fold_between
from trendweave.programs.operators.windows.edges import ALL_WINDOWS


def warm_up_operators() -> None:
    """Compile them, or load them where this machine has compiled them before."""
    times = np.arange(4)
    find_time_windows(times, np.array([0, 4]), 2, 1, ALL_WINDOWS)
    fold_between("sum", np.ones(4), times[:3], times[1:])
    fold_between("least", times, times[:3], times[1:])
    fold_between("most", times, times[:3], times[1:])
    chunks = sort_into_chunks(np.arange(4.0), 2)
    find_in_bands(np.zeros(1, np.int64), np.full(1, 4), np.zeros(1), np.ones(1), chunks, 2, 10)
