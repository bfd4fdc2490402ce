"""Events that secondary indexes name for a symbol; and, where rows of files tell them, numbers of events in the order
of time: neighbours of a contiguous trend then stand at fixed distances (condition C3 of the thesis, 3.4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.planning.plan import Plan
from trendweave.store.event_store import EventStore
from trendweave.store.index.secondary import Hits
from trendweave.store.patterns.intervals import Pace
from trendweave.store.patterns.rewriting import Necessary, Term

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


_ARRAYS = ("files", "rows", "times")


@dataclass(frozen=True, slots=True)
class Named:
    """Events that may be read as a symbol.

    Attributes:
        files: The numbers of their files; events are in any order, some of them perhaps twice.
        rows: Their rows in these files.
        times: Their times.
        missing: Files of which any event may be one.
        entries: How many index entries were read for them.
    """

    files: np.ndarray
    rows: np.ndarray
    times: np.ndarray
    missing: np.ndarray
    entries: int

    def take(self, kept: np.ndarray) -> Named:
        """Some of them."""
        if kept.all():
            return self
        return Named(self.files[kept], self.rows[kept], self.times[kept], self.missing, self.entries)

    def and_(self, other: Named, starts: np.ndarray) -> Named:
        """What both name; of files that one of them does not know, what the other names.

        Args:
            other: The others.
            starts: The number of the first row of each file among those of all files, and of how many there are.
        """
        named = np.zeros(int(starts[-1]), np.bool_)
        named[starts[other.files] + other.rows] = True
        mine = named[starts[self.files] + self.rows] | other.missing[self.files]
        theirs = self.missing[other.files]
        both = (self.take(mine), other.take(theirs))
        files, rows, times = (np.concatenate([getattr(one, name) for one in both]) for name in _ARRAYS)
        return Named(files, rows, times, self.missing & other.missing, self.entries + other.entries)


def ask_indexes(store: EventStore, terms: Sequence[Term]) -> Named:
    """The events that meet all of some terms.

    Args:
        store: Has the indexes.
        terms: At least one.
    """
    named = _ask(store, terms[0])
    if len(terms) > 1:
        starts = np.append(0, np.cumsum(store.file_rows))
        for term in terms[1:]:
            named = named.and_(_ask(store, term), starts)
    return named


def _ask(store: EventStore, term: Term) -> Named:
    """The events that meet one of the alternatives of a term."""
    found: list[Hits] = []
    missing = np.zeros(len(store.files), np.bool_)
    for column, asked in term.alternatives:
        missing |= ~store.has_secondary(column)
        if asked.is_empty:
            continue
        hits = store.lookup(column, *(part for ask in asked.asks for part in ask), in_order=False)
        missing[np.asarray(hits.missing, np.int64)] = True
        found.append(hits)
    files = _join([hits.file for hits in found], np.int32)
    rows, times = (_join([getattr(hits, name) for hits in found], np.int64) for name in ("row", "time"))
    named = Named(files, rows, times, missing, sum(hits.entries_read for hits in found))
    return named.take(~missing[named.files]) if missing.any() else named


def _join(arrays: list[np.ndarray], kind: type) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, kind), *arrays])
