"""Events that secondary indexes name for a symbol: entries of several indexes brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.rewriting.terms import Term

#: Rows of a file have smaller numbers.
_ROWS = np.int64(40)


@dataclass(frozen=True, slots=True)
class Named:
    """Events that may be read as a symbol.

    Attributes:
        keys: File and row in one number, in any order, some of them perhaps twice.
        times: Their times.
        missing: Files of which any event may be one.
        entries: How many index entries were read for them.
    """

    keys: np.ndarray
    times: np.ndarray
    missing: np.ndarray
    entries: int

    @property
    def files(self) -> np.ndarray:
        return self.keys >> _ROWS

    @property
    def rows(self) -> np.ndarray:
        return self.keys & ((np.int64(1) << _ROWS) - 1)

    def take(self, kept: np.ndarray) -> Named:
        return Named(self.keys[kept], self.times[kept], self.missing, self.entries)

    def and_(self, other: Named) -> Named:
        """What both name; of files that one of them does not know, what the other names."""
        mine = np.isin(self.keys, other.keys) | other.missing[self.files]
        theirs = self.missing[other.files]
        keys = np.concatenate([self.keys[mine], other.keys[theirs]])
        times = np.concatenate([self.times[mine], other.times[theirs]])
        return Named(keys, times, self.missing & other.missing, self.entries + other.entries)


def ask_indexes(store: EventStore, terms: Sequence[Term]) -> Named:
    """The events that meet all of some terms.

    Args:
        store: Has the indexes.
        terms: At least one.
    """
    named = _ask(store, terms[0])
    for term in terms[1:]:
        named = named.and_(_ask(store, term))
    return named


def _ask(store: EventStore, term: Term) -> Named:
    """The events that meet one of the alternatives of a term."""
    keys, times, entries = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    missing = np.zeros(len(store.files), np.bool_)
    for column, asked in term.alternatives:
        missing |= ~store.has_secondary(column)
        if asked.is_empty:
            continue
        hits = store.lookup(column, *(part for ask in asked.asks for part in ask), in_order=False)
        missing[np.asarray(hits.missing, np.int64)] = True
        keys.append((hits.file.astype(np.int64) << _ROWS) | hits.row.astype(np.int64))
        times.append(hits.time)
        entries += int(hits.entries_read)
    named = Named(np.concatenate(keys), np.concatenate(times), missing, entries)
    return named.take(~missing[named.files]) if missing.any() else named
