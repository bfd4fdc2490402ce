"""Lookups in the entries of all files: which events have a value in a range, without reading any data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.programs.operators.measured import is_measured, is_text
from trendweave.store.index.array_file import DamagedIndex
from trendweave.store.index.ranges import Ranges, code_ranges
from trendweave.store.index.secondary import SecondaryIndex
from trendweave.store.index.shelf import tell_of_damage


@dataclass(frozen=True)
class Hits:
    """Events that a lookup found, in order of time, file and row; perhaps a few too many, never too few.

    Attributes:
        time: Their times, in steps.
        file: The numbers of their files.
        row: Their rows in these files.
        missing: Files that have no entries: each of their events may be one.
        entries_read: How many entries were read.
    """

    time: np.ndarray
    file: np.ndarray
    row: np.ndarray
    missing: tuple[int, ...]
    entries_read: int


@dataclass(frozen=True)
class Estimate:
    """How many events a lookup would find.

    Attributes:
        entries: How many of those in files with entries.
        of: How many entries these files have.
        missing: Files that have none.
        per_file: How many in each file; none in those that have no entries.
    """

    entries: int
    of: int
    missing: tuple[int, ...]
    per_file: np.ndarray


class Lookups:
    """The entries of one column in all files.

    Args:
        kind: The type of the column in the store.
        indexes: One per file, or None.
    """

    def __init__(self, kind: pa.DataType, indexes: Sequence[SecondaryIndex | None]) -> None:
        self._kind, self._indexes = kind, list(indexes)

    def find(self, comparisons: Sequence[tuple[str, Any]], in_order: bool = True) -> Hits:
        """Events whose value compares so with all constants; in any order where none is asked for."""
        times, files, rows, missing = [], [], [], []
        for number, index in self._each():
            try:
                found = index.entries(self._places(index, comparisons)) if index is not None else None
            except DamagedIndex as error:
                self._drop(number, error)
                found = None
            if found is None:
                missing.append(number)
                continue
            times.append(found[0])
            rows.append(found[1])
            files.append(np.full(found[0].size, number, np.int32))
        time, file, row = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (times, files, rows))
        if not in_order:
            return Hits(time, file.astype(np.int32), row, tuple(missing), int(time.size))
        order = np.lexsort((row, file, time))
        return Hits(time[order], file[order].astype(np.int32), row[order], tuple(missing), int(time.size))

    def estimate(self, comparisons: Sequence[tuple[str, Any]]) -> Estimate:
        """How many events that are: per file two pages are read, and no entries."""
        per_file, of, missing = np.zeros(len(self._indexes), np.int64), 0, []
        for number, index in self._each():
            if index is None:
                missing.append(number)
                continue
            try:
                per_file[number] = sum(end - first for first, end in self._places(index, comparisons))
                of += index.size
            except DamagedIndex as error:
                self._drop(number, error)
                missing.append(number)
        return Estimate(int(per_file.sum()), of, tuple(missing), per_file)

    def _each(self) -> Iterator[tuple[int, SecondaryIndex | None]]:
        yield from enumerate(list(self._indexes))

    def _drop(self, number: int, error: DamagedIndex) -> None:
        tell_of_damage(error)
        self._indexes[number] = None

    def _places(self, index: SecondaryIndex, comparisons: Sequence[tuple[str, Any]]) -> list[tuple[int, int]]:
        if index.is_text != is_text(self._kind):
            raise DamagedIndex("entries of another type")
        if not index.is_text:
            return index.places_of_codes(self._ranges(comparisons))
        found = [index.places_of_texts(operator, value) for operator, value in comparisons]
        both = found[0]
        for more in found[1:]:
            both = _overlap(both, more)
        return both

    def _ranges(self, comparisons: Sequence[tuple[str, Any]]) -> Ranges:
        found = [code_ranges(self._kind, operator, value) for operator, value in comparisons]
        both = found[0]
        for more in found[1:]:
            both = [(low, high - 1) for low, high in _overlap(_half_open(both), _half_open(more))]
        return both


def _half_open(ranges: Ranges) -> Ranges:
    return [(low, high + 1) for low, high in ranges]


def _overlap(one: Ranges, other: Ranges) -> Ranges:
    """Where two lists of ranges overlap, ends left out."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return sorted((low, high) for low, high in pairs if low < high)


def pair_up(kind: pa.DataType, column: str, words: Sequence[Any]) -> list[tuple[str, Any]]:
    """Comparisons out of `">=", 3, "<", 5`.

    Raises:
        OptionError: They do not come in pairs, or the column has no order.
    """
    if not words or len(words) % 2:
        hint = 'write for example lookup("price", ">=", 3, "<", 5)'
        raise OptionError([Problem("TW408", "a lookup takes alternating operators and values", hint)])
    if not is_text(kind) and not is_measured(kind):
        raise OptionError([Problem("TW408", f"the column {column} has no order: it is {kind}", "look up another one")])
    return list(zip(words[::2], words[1::2], strict=True))
