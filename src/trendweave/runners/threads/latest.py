"""The latest time of a column, looked for by all cores: a look at every time is much of what a short run does."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.runners.threads.preparing import cut_evenly

#: Numbers are soon compared: fewer than so many times the rows of other slices are not worth one.
_LARGE_SLICES = 16


def find_latest_in_threads(column: pa.ChunkedArray) -> float | None:
    """The same as Arrow finds; None where there is no time.

    Args:
        column: Times that are numbers.
    """
    cores = count_cores()
    slices = [column.slice(*part) for part in cut_evenly(len(column), cores, _LARGE_SLICES)]
    if len(slices) < 2 or is_in_pool() or not pa.types.is_integer(column.type):
        return pc.max(column).as_py()
    with Pool(cores) as pool:
        found = list(pool.map(lambda some: pc.max(some).as_py(), slices))
    return max((one for one in found if one is not None), default=None)
