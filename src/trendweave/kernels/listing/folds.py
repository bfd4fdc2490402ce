"""What a trend says of itself (RETURN EACH): one number per trend, without building a list of its events."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner

COUNT, SUM, LARGEST, FIRST, LAST = range(5)


class Folds(NamedTuple):
    """Parallel: what to compute, over the events of which variable, of which columns.

    `values` are numbers to add, or order-preserving codes whose largest is wanted; `known` is False for NULL.
    """

    kind: np.ndarray
    variable: np.ndarray
    values: np.ndarray  # int64[folds, rows] or float64
    known: np.ndarray  # bool[folds, rows]


@inner
def fold(starts, rows, variables, folds, numbers, counts, places):
    """Per trend and fold: the sum, the number of known values (of COUNT: of events), and the row of the first, last or
    largest one (-1: none). FIRST and LAST also see NULL. `numbers` come as zeros. Returns False if a whole number may
    have left 64 bits."""
    limit = 2.0**62
    fits = True
    for trend in range(starts.size - 1):
        for f in range(folds.kind.size):
            kind, wanted = folds.kind[f], folds.variable[f]
            total = numbers[f, trend]
            size = 0.0
            count = 0
            place = np.int64(-1)
            for i in range(starts[trend], starts[trend + 1]):
                if variables[i] != wanted:
                    continue
                row = rows[i]
                if kind == COUNT:
                    count += 1
                elif kind == FIRST:
                    place = row
                    break
                elif kind == LAST:
                    place = row
                elif folds.known[f, row]:
                    count += 1
                    value = folds.values[f, row]
                    if kind == SUM:
                        total += value
                        size += abs(np.float64(value))
                    elif place < 0 or value > folds.values[f, place]:
                        place = row
            numbers[f, trend] = total
            counts[f, trend] = count
            places[f, trend] = place
            if size >= limit:
                fits = False
    return fits
