"""The compiled loops that all joins share, called once. Loops around a condition are compiled where it is met."""

from __future__ import annotations

import numpy as np

from trendweave.programs.operators.kernels.pairs import find_in_bands, sort_into_chunks


def warm_up_joins() -> None:
    """Compile them, or load them where this machine has compiled them before."""
    chunks = sort_into_chunks(np.arange(4.0), 2)
    find_in_bands(np.zeros(1, np.int64), np.full(1, 4), np.zeros(1), np.ones(1), chunks, 2, 10)
