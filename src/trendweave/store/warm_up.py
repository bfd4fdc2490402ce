"""What stores need, compiled at a moment of one's choice."""

from __future__ import annotations

import numpy as np

from trendweave.store.kernels.cutting import cut_blocks, cut_slices


def warm_up_stores() -> None:
    """Cut a few times as stores do when they take events, and when they are asked about windows."""
    times = np.arange(4)
    cut_blocks(times, 2, 3)
    cut_slices(times, 2, 1)
