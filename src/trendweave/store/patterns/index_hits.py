"""Events that secondary indexes name for a symbol: entries of several indexes brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.index.lookups import Hits
from trendweave.store.patterns.rewriting.terms import Term

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
