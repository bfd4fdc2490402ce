"""Numbers of events in the order of time, where rows of files tell them: then neighbours of a contiguous trend stand at
fixed distances (condition C3 of the thesis, 3.4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.index_hits import Named
from trendweave.store.patterns.intervals.replay_intervals import Pace
from trendweave.store.patterns.rewriting.necessary import Necessary

#: A byte is held for each event that has a number.
MOST_EVENTS = 2**30


@dataclass(frozen=True, slots=True)
class Numbering:
    """Attributes:
    starts: The number of the first event of each file.
    count: How many events there are.
    pace: How far apart neighbours are.
    """

    starts: np.ndarray
    count: int
    pace: Pace

    def numbers(self, named: Named) -> np.ndarray:
        """The numbers of some events."""
        if self.starts.size == 1:
            return named.rows
        found: np.ndarray = self.starts[named.files] + named.rows
        return found


def find_numbering(plan: Plan, store: EventStore, type_: str | None) -> Numbering | None:
    """How events are numbered; None where events of a trend need not be neighbours, or rows do not tell numbers: a
    trend takes neighbours of its partition, files overlap in time, two events share a time, or a row is no event."""
    if plan.strategy != "contiguous" or plan.partition_key or not len(store.files):
        return None
    if int(store.groups.rows.sum()) > MOST_EVENTS:
        return None
    blocks = store.blocks
    rows = store.file_rows
    held = rows > 0
    inside = store.pace[rows > 1]
    if not held.any() or (inside[:, 0] < 1).any() or not blocks.exact.all() or blocks.count.sum() != rows.sum():
        return None
    if type_ is not None and not _all_typed(store, type_, int(rows.sum())):
        return None
    first, last = store.file_times
    order = np.flatnonzero(held)[np.argsort(first[held], kind="stable")]
    between = first[order[1:]] - last[order[:-1]]
    if (between <= 0).any():
        return None
    starts = np.zeros(rows.size, np.int64)
    starts[order] = np.cumsum(rows[order]) - rows[order]
    gaps = np.concatenate([inside.ravel(), between])
    return Numbering(starts, int(rows.sum()), Pace(int(gaps.min()), int(gaps.max())) if gaps.size else Pace())


def _all_typed(store: EventStore, type_: str, rows: int) -> bool:
    """Whether every row has a type; rows without one are no events. An index of types tells how many have one."""
    if not store.has_secondary(type_).all():
        return False
    entries = store.estimate(type_, "=", "")
    return not entries.missing and int(entries.of) == rows


def find_runs(necessary: Necessary, symbols: list[int], numbering: Numbering | None) -> list[list[int]]:
    """Symbols that are asked for, in runs of events at fixed distances (basic blocks); without numbers each symbol is
    a run of its own."""
    runs: list[list[int]] = []
    for symbol in symbols:
        fixed = runs and numbering is not None and necessary.steps_between(runs[-1][-1], symbol).is_fixed
        if fixed:
            runs[-1].append(symbol)
        else:
            runs.append([symbol])
    return runs
