"""A filter in threads: each tests the rows of a slice, keeps some, and sees whether these stand in order of time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.filter import KeptEvents, keep_rows, settle_test
from trendweave.programs.program import Output
from trendweave.rows.dropped import Dropped
from trendweave.rows.times import as_steps, keep_rows_with_time
from trendweave.runners.threads.preparing import cut_evenly

#: A condition is soon tested: fewer rows than so many times those of other slices are not worth one.
_LARGE_SLICES = 3


def cut_for_filter(rows: int, cores: int) -> list[tuple[int, int]]:
    """First row and number of rows of the slices that are tested apart; one where more are not worth it."""
    return cut_evenly(rows, cores, _LARGE_SLICES)


def filter_in_threads(program: KeptEvents, events: pa.Table, pool: Executor, cores: int) -> tuple[Output, Dropped]:
    """Rows that are kept, in order of their time, and what was dropped.

    Args:
        program: The filter.
        events: Rows as they came.
        pool: Threads.
        cores: How many of them work at the same time.
    """
    timed, null_time = keep_rows_with_time(events, program.time)
    timed = timed.select(program.events.names)
    test = settle_test(program.plan.condition, timed)
    slices = [timed.slice(*part) for part in cut_for_filter(timed.num_rows, cores)]
    kept = (
        [_Kept.of(program, test, slices[0])]
        if len(slices) == 1
        else list(pool.map(lambda rows: _Kept.of(program, test, rows), slices))
    )
    kept = [one for one in kept if one.rows.num_rows] or kept[:1]
    rows = pa.concat_tables([one.rows for one in kept])
    in_order = all(one.in_order for one in kept) and all(one.last <= other.first for one, other in pairwise(kept))
    rows = rows if in_order else program.arrange(rows)
    return Output.of_table(rows), Dropped(events.num_rows, null_time)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Rows of a slice that are kept, the first and the last of their times, and whether these ascend."""

    rows: pa.Table
    first: int
    last: int
    in_order: bool

    @staticmethod
    def of(program: KeptEvents, test: Callable[[pa.Table], np.ndarray], rows: pa.Table) -> _Kept:
        kept = keep_rows(rows, test(rows))
        if not kept.num_rows:
            return _Kept(kept, 0, 0, in_order=True)
        steps = as_steps(kept.column(program.time), program.time_type)
        return _Kept(kept, int(steps[0]), int(steps[-1]), bool((steps[1:] >= steps[:-1]).all()))
