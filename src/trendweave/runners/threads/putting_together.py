"""Results of parts -> the result of all rows, in the order that one core promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeGuard

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import SlidingWindow
from trendweave.programs.intervals.program import IntervalMatches
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.program import Program
from trendweave.programs.shared.program import Shared
from trendweave.programs.situated import InSituations
from trendweave.programs.trends.program import TrendAggregates, TrendLists
from trendweave.results.row_order import take_in_order

_KNOWN = (TrendAggregates, TrendLists, IntervalMatches, InSituations, Shared)


class Arranges(Protocol):
    """What programs have besides whose rows stand in an order of their own."""

    def arrange(self, rows: pa.Table) -> pa.Table:
        """Rows of several parts of a result in the order that `compute` gives them."""


def has_known_order(program: Program) -> bool:
    """Whether it is known in which order the rows of a program stand."""
    return _arranges(program) or isinstance(_last(program), _KNOWN) or _arranges(_last(program))


def arranging(program: Program, by_time: bool) -> Callable[[pa.Table], pa.Table] | None:
    """What puts the rows of all parts in order; None where their order is free, so that they can be shown as they
    come. Where parts are chunks of time, one after the other, windows stand in order as they are."""
    last = _last(program)
    if by_time and isinstance(last, WindowAggregates):
        return _as_they_are
    for one in (program, last):
        if _arranges(one):
            return one.arrange
    inner = last.inner if isinstance(last, InSituations) else last
    if isinstance(inner, TrendAggregates):
        sorted_by_window = isinstance(inner.plan.window, SlidingWindow) and not by_time
        return partial(_sort, columns=(0,)) if sorted_by_window else _as_they_are
    if isinstance(inner, IntervalMatches) and inner.plan.returns == "matches":
        # By the time of detection, then by the starts of situations.
        return partial(_sort, columns=(0, *range(1, 2 * len(inner.plan.names), 2)))
    return None


def _last(program: Program) -> Program:
    """Of a chain, the last operator that is no filter: filters keep the order of rows."""
    if not isinstance(program, ChainedRows):
        return program
    others = [stage.program for stage in program.stages if not isinstance(stage.program, KeptEvents)]
    return others[-1] if others else program.stages[-1].program


def _arranges(program: object) -> TypeGuard[Arranges]:
    return hasattr(type(program), "arrange")


def _as_they_are(rows: pa.Table) -> pa.Table:
    return rows


def _sort(rows: pa.Table, columns: Sequence[int]) -> pa.Table:
    """By columns of times, the weightiest first; rows that are equal in them stay in their order."""
    keys = [_numbers(rows.column(place)) for place in columns]
    if len(keys) == 1 and bool((keys[0][1:] >= keys[0][:-1]).all()):
        return rows
    return take_in_order(rows, keys)


def _numbers(times: pa.ChunkedArray) -> np.ndarray:
    return times.to_numpy() if pa.types.is_floating(times.type) else times.cast(pa.int64()).to_numpy()
