"""The compiled loops that all joins share, called once. Loops around a condition are compiled where it is met."""

from __future__ import annotations

import numpy as np

from trendweave.programs.operators.joins.array_code import sort_chunks
from trendweave.programs.operators.kernels.pairs import Chunks, find_in_bands, index_chunks


def warm_up_joins() -> None:
    """Compile them, or load them where this machine has compiled them before."""
    values, members, finite, present = sort_chunks(np, np.arange(4.0), 4)
    chunks = Chunks(values, members, finite, present, *index_chunks(values, finite, 2))
    find_in_bands(np.zeros(1, np.int64), np.full(1, 4), np.zeros(1), np.ones(1), chunks, 2, 10)
