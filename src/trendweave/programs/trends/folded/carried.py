"""What outlives folded rows: keys, and per key and pane a summary of its rows.

Keys are numbered as they come. Panes are pieces of time of which every window is a whole number. Summaries lie in a
table per pane, or per some neighbouring panes where windows have many, so that a step writes the tables of the panes
that its rows lie in, and no others; tables are read only if somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.kernels.loops.summaries import Algebra, Summaries, concat_summaries, no_summaries
from trendweave.kernels.sorting import find_starts
from trendweave.programs.carry import FOLDED, keep_tables
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.results.summaries import NUMBERS, from_arrow, to_arrow
from trendweave.rows.closing import Closing

#: Tables that the panes of a window are kept in, about: with more panes, some neighbours share a table.
_TABLES = 64
_KEYS, _PANES = f"{FOLDED}keys", f"{FOLDED}panes "
_KEY, _PANE, _INFINITE = "key", "pane", "infinite"


@dataclass(frozen=True, slots=True)
class Panes:
    """Panes are numbered by their times. Where windows do not overlap a pane is a window."""

    closing: Closing

    @property
    def overlap(self) -> bool:
        """Do windows overlap?"""
        return self.closing.slide < self.closing.length

    @property
    def length(self) -> int:
        """In steps of the time column."""
        return gcd(self.closing.length, self.closing.slide)

    @property
    def per_window(self) -> int:
        return self.closing.length // self.length

    @property
    def per_slide(self) -> int:
        return self.closing.slide // self.length

    @property
    def per_table(self) -> int:
        """So many neighbours are kept in one table."""
        return -(-self.per_window // _TABLES)

    def first_pane(self, window: int) -> int:
        return window * self.per_slide

    def windows_of(self, pane: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last window that hold each pane."""
        last = pane // self.per_slide
        return last + 1 + (pane % self.per_slide - self.per_window) // self.per_slide, last


class Summed(NamedTuple):
    """Summaries by pane and key, in this order. `infinite`: whether some value of a float sum was not finite."""

    pane: np.ndarray
    key: np.ndarray
    infinite: np.ndarray
    summaries: Summaries

    def take(self, index: np.ndarray | slice) -> Summed:
        """Some of them, by number."""
        return Summed(self.pane[index], self.key[index], self.infinite[index], self.summaries.take(index))


def concat_summed(parts: list[Summed]) -> Summed:
    """All of them, one after the other."""
    if len(parts) == 1:
        return parts[0]
    pane, key, infinite = map(np.concatenate, zip(*(part[:3] for part in parts), strict=True))
    return Summed(pane, key, infinite, concat_summaries([part.summaries for part in parts]))


@dataclass(frozen=True, slots=True)
class Carried:
    """Keys, and tables of summaries by number: table i has the panes from i * `per_table` on. One that did not change
    is None here, and lies in `carry`."""

    algebra: Algebra
    panes: Panes
    carry: Carry
    keys: pa.Table | None
    tables: Mapping[int, Summed | None]

    @staticmethod
    def read(algebra: Algebra, panes: Panes, carry: Carry) -> Carried:
        """What `write` gave. Tables are read when they are needed."""
        numbers = sorted(int(name.removeprefix(_PANES)) for name in carry if name.startswith(_PANES))
        return Carried(algebra, panes, carry, carry.get(_KEYS), dict.fromkeys(numbers))

    def write(self) -> Carry:
        """Tables by name; those that did not change are the very same objects."""
        if self.keys is None or not self.tables:
            return NO_CARRY
        names = [f"{_PANES}{number}" for number, summed in self.tables.items() if summed is None]
        changed = {f"{_PANES}{n}": self._write_table(one) for n, one in self.tables.items() if one is not None}
        return keep_tables(self.carry, names, {_KEYS: self.keys} | changed)

    def take(self, numbers: Iterable[int]) -> Summed:
        """The summaries of the tables with these numbers, as far as they are there."""
        parts = [self.tables[number] or self._read_table(number) for number in numbers if number in self.tables]
        nothing = np.empty(0, np.int64)
        return concat_summed(parts or [Summed(nothing, nothing, np.empty(0, np.bool_), no_summaries(self.algebra))])

    def between(self, first: int, end: int) -> Summed:
        """The summaries of the tables that have some of the panes first:end, and others beside them."""
        size = self.panes.per_table
        return self.take(sorted(one for one in self.tables if one * size < end and (one + 1) * size > first))

    def with_summaries(self, summed: Summed, keys: pa.Table) -> Carried:
        """With all summaries of some tables, by pane and key, instead of those that are there."""
        numbers = summed.pane // self.panes.per_table
        starts = find_starts(numbers)
        pieces = zip(starts, np.append(starts[1:], numbers.size), strict=True)
        return replace(
            self, keys=keys, tables={**self.tables, **{int(numbers[i]): summed.take(slice(i, j)) for i, j in pieces}}
        )

    def first_from(self, pane: int) -> int | None:
        """The first pane that has a summary and is not before another; None where there is none."""
        size = self.panes.per_table
        for number in sorted(one for one in self.tables if (one + 1) * size > pane):
            if size == 1:
                return number
            panes = self._panes_of(number)
            place = int(np.searchsorted(panes, pane))
            if place < panes.size:
                return int(panes[place])
        return None

    def without_panes_before(self, pane: int) -> Carried:
        """Without the tables all of whose panes are before one, and without keys that are in no table any more, once
        they are half of all."""
        left = {one: summed for one, summed in self.tables.items() if one >= pane // self.panes.per_table}
        if self.keys is None or len(left) == len(self.tables):
            return self
        used = np.zeros(self.keys.num_rows, np.bool_)
        for number, summed in left.items():
            used[self._table(number).column(_KEY).to_numpy() if summed is None else summed.key] = True
        if 2 * int(used.sum()) > used.size:
            return replace(self, tables=left)
        places = np.cumsum(used) - 1
        moved = {one: (summed or self._read_table(one)) for one, summed in left.items()}
        moved = {one: summed._replace(key=places[summed.key]) for one, summed in moved.items()}
        return replace(self, keys=self.keys.filter(pa.array(used)).combine_chunks(), tables=moved)

    # Tables

    def _table(self, number: int) -> pa.Table:
        return self.carry[f"{_PANES}{number}"]

    def _panes_of(self, number: int) -> np.ndarray:
        table = self._table(number)
        if _PANE in table.column_names:
            return table.column(_PANE).to_numpy()
        return np.full(table.num_rows, number * self.panes.per_table, np.int64)

    def _read_table(self, number: int) -> Summed:
        table = self._table(number)
        # What was counted in floats is not exact, and the other way round it would be rounded half-way.
        if pa.types.is_floating(table.schema.field(NUMBERS).type.value_type) is self.algebra.exact:
            made = "floats" if self.algebra.exact else "exact numbers"
            message = f"events of the state are forgotten, and were counted in {made}"
            hint = 'go on with numbers="float64" or without it, as it was made, or start anew'
            raise DataError([Problem("TW311", message, hint)])
        infinite = np.zeros(table.num_rows, np.bool_)
        if _INFINITE in table.column_names:
            infinite = table.column(_INFINITE).to_numpy()
        key = table.column(_KEY).to_numpy().astype(np.int64)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return Summed(self._panes_of(number), key, infinite, from_arrow(self.algebra, columns))

    def _write_table(self, summed: Summed) -> pa.Table:
        columns = {_KEY: pa.array(summed.key.astype(np.int32))}
        if self.panes.per_table > 1:
            columns[_PANE] = pa.array(summed.pane)
        if summed.infinite.any():
            columns[_INFINITE] = pa.array(summed.infinite)
        return pa.table(columns | to_arrow(self.algebra, summed.summaries))
