"""Programs piece by piece, where windows or sessions close. Whatever the cuts and the order of arrival, the rows are
those of one batch over all events that were not late."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import SessionWindow
from trendweave.programs.program import EVERYTHING, NO_CARRY, Carry, Output, Scope, Step, Steps
from trendweave.rows.closing import Closing
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.segments import sort_by_key_and_time
from trendweave.rows.times import TimeType, as_steps
from trendweave.rows.windows import number_sessions, session_gap

#: Gives the rows of some windows, of prepared rows that lie in them.
Compute: TypeAlias = Callable[[pa.Table, Scope], Output]


class Fold(Protocol):
    """Rows as numbers that grow with keys and slices of time, and not with rows: what is carried is these."""

    def add(self, carry: Carry, rows: pa.Table) -> Any:
        """What is known with some more rows, which lie in open windows."""

    def close(self, known: Any, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        """Result rows, or parts of them, of the windows from the first to the last of two."""

    def keep(self, known: Any, window: int) -> Carry:
        """What is carried on for the windows from one on."""

    def earliest(self, carry: Carry, window: int) -> int | None:
        """The earliest time of what is carried for the windows from one on; None where nothing is."""


def take_step(
    steps: Steps, rows: pa.Table, times: np.ndarray, carry: Carry, before: int | None, watermark: int | None
) -> tuple[Step, np.ndarray]:
    """Take a step over rows that wait.

    Args:
        steps: They say which of the rows they have to see.
        rows: All rows that wait.
        times: Their times, in steps of the time column.
        carry: What is carried.
        before: Where the watermark was.
        watermark: Where it is; None: at the end of all events.

    Returns:
        What the step gives, and which of the rows still wait.
    """
    low, high = steps.reads(before, watermark)
    step = steps.step(select_rows(rows, (times >= low) & (times < high)), carry, before, watermark)
    return step, np.zeros(times.size, np.bool_) if watermark is None else times >= steps.keeps_from(watermark)


def select_rows(rows: pa.Table, mask: np.ndarray) -> pa.Table:
    """Some rows, not copied where they stand together, as those of a stretch of time do that came in order."""
    number = int(np.count_nonzero(mask))
    first = int(mask.argmax()) if number else 0
    return rows.slice(first, number) if mask[first : first + number].all() else rows.filter(pa.array(mask))


#: Moves the watermark from one place to another, over rows that it has passed now, with what was carried.
Take: TypeAlias = Callable[[pa.Table, Carry, int | None, int | None], Step]
#: The watermark at which what waits or is carried has something to do next; see `Steps.due`.
FindDue: TypeAlias = Callable[[tuple[int, int] | None, Carry, int | None], int | None]


@dataclass(frozen=True, slots=True)
class PassedSteps(Steps):
    """Rows are taken as soon as the watermark has passed them, and what is needed of them later is carried."""

    take: Take
    carries: bool = True
    find_due: FindDue | None = None

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        find = partial(Steps.due, self) if self.find_due is None else self.find_due
        return find(waiting, carry, watermark)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        return self.take(rows, carry, before, watermark)


@dataclass(frozen=True, slots=True)
class WindowedSteps(Steps):
    """The rows of a window come out once, when the watermark has passed its end.

    Rows wait as long as a window that holds them may still come out, and nothing outlives them. With a `fold` they are
    folded as soon as the watermark has passed them, and forgotten; rows that came to wait before rows were folded are
    read as well.
    """

    closing: Closing
    time_type: TimeType
    compute: Compute
    fold: Fold | None = None

    @property
    def pane(self) -> int | None:
        return self.closing.pane if self.fold is None and self.closing.panes else None

    @property
    def carries(self) -> bool:
        return self.fold is not None

    @property
    def folds(self) -> bool:
        return self.fold is not None

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        dues = [] if waiting is None else [self.closing.due(*waiting, watermark)]
        if self.fold is not None and carry:
            earliest = self.fold.earliest(carry, self.closing.windows(watermark, None)[0])
            dues += [] if earliest is None else [self.closing.due(earliest, earliest, watermark)]
        return min(dues, default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        if self.fold is not None:
            return Steps.reads(self, before, watermark)
        return self.closing.times(self.closing.windows(before, watermark))

    def keeps_from(self, watermark: int) -> int:
        return watermark if self.fold is not None else self.closing.first_kept_pane(watermark) * self.closing.pane

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        first, last = self.closing.windows(before, watermark)
        if self.fold is None:
            return Step(self._compute(rows, (first, last)), NO_CARRY)
        known = self.fold.add(carry, rows if before is None else self.select_rows(rows, (first, None)))
        batches = self.fold.close(known, (first, last)) if first <= last else ()
        return Step(batches, NO_CARRY if watermark is None else self.fold.keep(known, last + 1))

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self.closing.times(self.closing.touched(*changed, before))

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        return self._compute(rows, self.closing.touched(*changed, before))

    def _compute(self, rows: pa.Table, windows: tuple[int, int]) -> Iterable[pa.RecordBatch]:
        needed = self.select_rows(rows, windows)
        return self.compute(needed, Scope(windows)).batches if needed.num_rows else ()

    def select_rows(self, rows: pa.Table, windows: tuple[int, int | None]) -> pa.Table:
        """The rows that lie in the windows from one to another, or from one on."""
        steps, (first, last) = as_steps(rows.column(TIME), self.time_type), windows
        if last is None:
            needed = steps >= first * self.closing.slide
        else:
            low, high = self.closing.times((first, last))
            needed = (steps >= low) & (steps < high)
        return select_rows(rows, np.asarray(needed))


_OPEN, _NEXT_END = "open sessions", "next end"


@dataclass(frozen=True, slots=True)
class SessionSteps(Steps):
    """`compute` gives the rows of whole sessions; `keys` are the columns of a partition. A session may still grow, and
    join with another; nothing is shown early."""

    window: SessionWindow
    time_type: TimeType
    keys: tuple[str, ...]
    compute: Callable[[pa.Table, Scope], Output]

    carries: bool = True

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        ends = [] if waiting is None else [waiting[0] + session_gap(self.window, self.time_type)]
        if _NEXT_END in carry:
            ends.append(carry[_NEXT_END].column(0)[0].as_py())
        return min(ends, default=None)

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        if _OPEN in carry:
            rows = pa.concat_tables([carry[_OPEN], rows])
        if not rows.num_rows:
            return Step((), NO_CARRY)
        if watermark is None:
            return Step(self.compute(rows, EVERYTHING).batches, NO_CARRY)
        ends = self._find_ends(rows)
        is_open = ends > watermark
        ended = rows.filter(pa.array(~is_open))
        batches = self.compute(ended, EVERYTHING).batches if ended.num_rows else ()
        if not is_open.any():
            return Step(batches, NO_CARRY)
        next_end = pa.table({"time": pa.array([ends[is_open].min()], pa.int64())})
        return Step(batches, {_OPEN: rows.filter(pa.array(is_open)).combine_chunks(), _NEXT_END: next_end})

    def _find_ends(self, rows: pa.Table) -> np.ndarray:
        """Per row the time at which its session ends, if no event comes before that."""
        partition = key_codes([rows.column(name) for name in self.keys], rows.num_rows)
        steps = as_steps(rows.column(TIME), self.time_type)
        order, starts, sorted_steps = sort_by_key_and_time(partition, steps, int(partition.max()) + 1, False)
        if order is None:
            order = np.arange(steps.size)
        sessions = number_sessions(self.window, self.time_type, sorted_steps, starts[:-1])
        ends = np.empty(steps.size, np.int64)
        ends[order] = sessions.edges[sessions.of_tick, 1] + session_gap(self.window, self.time_type)
        return ends
