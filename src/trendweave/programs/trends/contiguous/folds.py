"""What RETURN EACH asks of a trend, as the kernel folds it while the trend grows, and reads of it what was found."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.listing.contiguous import Folding, RunFolds
from trendweave.kernels.listing.folds import COUNT, SUM
from trendweave.results.each_columns import EachColumns
from trendweave.results.shown_trends import FoldedOutput

_NOTHING = np.empty(0, np.int64)
NO_FOLDS = RunFolds(
    kind=_NOTHING,
    variable=_NOTHING,
    number=_NOTHING,
    is_real=np.empty(0, np.bool_),
    whole=np.empty((0, 0), np.int64),
    real=np.empty((0, 0), np.float64),
    is_known=np.empty((0, 0), np.bool_),
)


def tabulate_folds(columns: EachColumns, longest: int) -> RunFolds | None:
    """Write the folds of a query's outputs as tables.

    Args:
        columns: The outputs.
        longest: The most rows that a trend can have.

    Returns:
        The tables; None where events have to be listed: where all values of a trend are needed, or where a sum of
        whole numbers may leave 64 bits.
    """
    folds = columns.folds
    if any(spread is not None for spread in columns.spreads) or not folds:
        return None
    numbered = [one for one in folds if one.values is not None]
    shape = len(numbered), columns.rows
    floats = any(one.is_float for one in numbered)
    whole = np.zeros(shape if len(numbered) > 0 else (0, 0), np.int64)
    real = np.zeros(shape if floats else (0, 0), np.float64)
    is_known = np.ones(shape, np.bool_)
    for line, one in enumerate(numbered):
        assert one.values is not None
        if one.is_float:
            real[line] = one.values
        else:
            whole[line] = one.values
            largest = max(abs(int(whole[line].max(initial=0))), abs(int(whole[line].min(initial=0))))
            if one.kind == SUM and largest * longest >= 1 << 62:
                return None
        if one.known is not None:
            is_known[line] = one.known
    lines = {id(one): line for line, one in enumerate(numbered)}
    return RunFolds(
        np.array([one.kind for one in folds], np.int64),
        np.array([one.variable for one in folds], np.int64),
        np.array([lines.get(id(one), -1) for one in folds], np.int64),
        np.array([one.is_float for one in folds], np.bool_),
        whole,
        real,
        is_known,
    )


def read_folded(folds: RunFolds, folded: Folding, trends: int) -> list[FoldedOutput]:
    """What was folded, per output. Numbers are copied, as the next trends are written into the same arrays; rows hold
    until then."""
    outputs = []
    for place, kind in enumerate(folds.kind.tolist()):
        sums = counts = rows = _NOTHING
        if kind in (COUNT, SUM):
            counts = folded.count[place, :trends].copy()
        if kind == SUM:
            sums = (folded.real if folds.is_real[place] else folded.whole)[place, :trends].copy()
        elif kind != COUNT:
            rows = folded.row[place, :trends]
        outputs.append(FoldedOutput(sums, counts, rows))
    return outputs
