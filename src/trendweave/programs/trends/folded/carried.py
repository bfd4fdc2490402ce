"""What outlives folded rows: keys, and per key and pane a summary of its rows.

Keys are numbered as they come. Panes are pieces of time of which every window is a whole number. Summaries lie in a
table per pane, or per some neighbouring panes where windows have many, so that a step writes the tables of the panes
that its rows lie in, and no others; tables are read only if somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.kernels.loops.summaries import Algebra, Summaries, concat_summaries, no_summaries
from trendweave.programs.carry import FOLDED
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.results.summaries import NUMBERS, from_arrow, to_arrow
from trendweave.rows.closing import Closing

#: Tables that the panes of a window are kept in, about: with more panes, some neighbours share a table.
_TABLES = 64


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

    def of_times(self, times: np.ndarray) -> np.ndarray:
        """The pane of each time."""
        return np.floor_divide(times, self.length)

    def table_of(self, panes: np.ndarray) -> np.ndarray:
        """The number of the table that each pane is kept in."""
        return np.floor_divide(panes, self.per_table)

    def first_open(self, watermark: int) -> int:
        """The first window that a watermark has not closed."""
        return self.closing.windows(watermark, None)[0]

    def first_pane(self, window: int) -> int:
        return window * self.per_slide

    def windows_of(self, pane: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last window that hold each pane."""
        last = pane // self.per_slide
        return last + 1 + (pane % self.per_slide - self.per_window) // self.per_slide, last

    def end_of(self, window: int) -> int:
        """The watermark at which a window closes."""
        return window * self.closing.slide + self.closing.length


class KeptTables(Mapping[str, pa.Table]):
    """Some tables of a carry, by name, with others beside them."""

    def __init__(self, carry: Carry, names: tuple[str, ...], others: Mapping[str, pa.Table]) -> None:
        self._carry, self._names, self._others = carry, dict.fromkeys(names), others

    def others_than(self, carry: Carry) -> Mapping[str, pa.Table]:
        """The tables that may differ from those of a carry; all, unless they were taken from this very one."""
        return self._others if carry is self._carry else self

    def __getitem__(self, name: str) -> pa.Table:
        if name in self._others:
            return self._others[name]
        if name not in self._names:
            raise KeyError(name)
        return self._carry[name]

    def __contains__(self, name: object) -> bool:
        return name in self._others or name in self._names

    def __iter__(self) -> Iterator[str]:
        yield from self._others
        yield from (name for name in self._names if name not in self._others)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def keep_tables(carry: Carry, names: tuple[str, ...], others: Mapping[str, pa.Table]) -> Carry:
    """Some tables of a carry with others beside them; those that are at hand are taken out of it, so that what it had
    beside them can go."""
    if isinstance(carry, dict):
        return {name: carry[name] for name in names} | dict(others)
    return KeptTables(carry, names, others)


_KEYS, _PANES = f"{FOLDED}keys", f"{FOLDED}panes "
_KEY, _PANE, _INFINITE = "key", "pane", "infinite"


class Summed(NamedTuple):
    """Summaries by pane and key, in this order. `infinite`: whether some value of a float sum was not finite."""

    pane: np.ndarray
    key: np.ndarray
    infinite: np.ndarray
    summaries: Summaries

    def take(self, index: np.ndarray | slice) -> Summed:
        """Some of them, by number."""
        return Summed(self.pane[index], self.key[index], self.infinite[index], self.summaries.take(index))

    @staticmethod
    def none(algebra: Algebra) -> Summed:
        nothing = np.empty(0, np.int64)
        return Summed(nothing, nothing, np.empty(0, np.bool_), no_summaries(algebra))


def concat_summed(parts: list[Summed]) -> Summed:
    """All of them, one after the other."""
    if len(parts) == 1:
        return parts[0]
    pane, key, infinite = map(np.concatenate, zip(*(part[:3] for part in parts), strict=True))
    return Summed(pane, key, infinite, concat_summaries([part.summaries for part in parts]))


@dataclass(frozen=True, slots=True)
class Carried:
    """Keys, and tables of summaries by number: table i has the panes from i * `per_table` on. `fresh` is what will be
    the tables of other numbers."""

    algebra: Algebra
    panes: Panes
    keys: pa.Table | None
    carry: Carry
    numbers: tuple[int, ...]
    fresh: Summed

    @staticmethod
    def read(algebra: Algebra, panes: Panes, carry: Carry) -> Carried:
        """What `write` gave. Tables are read when they are needed."""
        numbers = sorted(int(name.removeprefix(_PANES)) for name in carry if name.startswith(_PANES))
        return Carried(algebra, panes, carry.get(_KEYS), carry, tuple(numbers), Summed.none(algebra))

    def write(self) -> Carry:
        """Tables by name; those that did not change are the very same objects."""
        fresh = {}
        numbers = self.panes.table_of(self.fresh.pane)
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])) if numbers.size else numbers
        for low, high in zip(begins.tolist(), [*begins[1:].tolist(), numbers.size], strict=False):
            fresh[f"{_PANES}{numbers[low]}"] = self._write_table(self.fresh.take(slice(low, high)))
        if self.keys is None or not (fresh or self.numbers):
            return NO_CARRY
        names = tuple(f"{_PANES}{number}" for number in self.numbers)
        return keep_tables(self.carry, names, {_KEYS: self.keys} | fresh)

    def between(self, first: int, end: int) -> Summed:
        """The summaries of the tables that have some of the panes first:end, and others beside them."""
        size = self.panes.per_table
        numbers = [number for number in self.numbers if number * size < end and (number + 1) * size > first]
        return concat_summed([self.fresh, *map(self._read_table, numbers)])

    def in_tables(self, numbers: np.ndarray) -> Summed:
        """The summaries of the tables with these numbers, in their order, as far as they are there."""
        asked = set(numbers.tolist())
        parts = [self._read_table(number) for number in self.numbers if number in asked]
        return concat_summed(parts or [Summed.none(self.algebra)])

    def with_fresh(self, numbers: np.ndarray, summed: Summed, keys: pa.Table) -> Carried:
        """With these summaries, by pane and key, instead of the tables with these numbers."""
        gone = set(numbers.tolist())
        left = tuple(number for number in self.numbers if number not in gone)
        return replace(self, keys=keys, numbers=left, fresh=summed)

    def first_from(self, pane: int) -> int | None:
        """The first pane that has a summary and is not before another; None where there is none."""
        size = self.panes.per_table
        for number in self.numbers:
            if (number + 1) * size > pane:
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
        first = pane // self.panes.per_table
        left = tuple(number for number in self.numbers if number >= first)
        needed = self.panes.table_of(self.fresh.pane) >= first
        fresh = self.fresh if needed.all() else self.fresh.take(np.flatnonzero(needed))
        if len(left) == len(self.numbers) and fresh is self.fresh:
            return self
        return replace(self, numbers=left, fresh=fresh)._without_unused_keys()

    def _without_unused_keys(self) -> Carried:
        if self.keys is None:
            return self
        of_table = {number: self._table(number).column(_KEY).to_numpy() for number in self.numbers}
        used = np.zeros(self.keys.num_rows, np.bool_)
        for keys in (self.fresh.key, *of_table.values()):
            used[keys] = True
        if not used.any():
            return replace(self, keys=None)
        if 2 * int(used.sum()) > used.size:
            return self
        places = np.cumsum(used) - 1
        carry = {
            f"{_PANES}{number}": self._table(number).set_column(0, _KEY, _as_keys(places[keys]))
            for number, keys in of_table.items()
        }
        fresh = self.fresh._replace(key=places[self.fresh.key])
        return replace(self, keys=self.keys.filter(pa.array(used)).combine_chunks(), carry=carry, fresh=fresh)

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
        self._check_numbers(table)
        infinite = np.zeros(table.num_rows, np.bool_)
        if _INFINITE in table.column_names:
            infinite = table.column(_INFINITE).to_numpy()
        key = table.column(_KEY).to_numpy().astype(np.int64)
        columns = dict(zip(table.column_names, table.columns, strict=True))
        return Summed(self._panes_of(number), key, infinite, from_arrow(self.algebra, columns))

    def _check_numbers(self, table: pa.Table) -> None:
        """What was counted in floats is not exact, and the other way round it would be rounded half-way."""
        if pa.types.is_floating(table.schema.field(NUMBERS).type.value_type) is self.algebra.exact:
            made = "floats" if self.algebra.exact else "exact numbers"
            message = f"events of the state are forgotten, and were counted in {made}"
            hint = 'go on with numbers="float64" or without it, as it was made, or start anew'
            raise DataError([Problem("TW311", message, hint)])

    def _write_table(self, summed: Summed) -> pa.Table:
        columns = {_KEY: _as_keys(summed.key)}
        if self.panes.per_table > 1:
            columns[_PANE] = pa.array(summed.pane)
        if summed.infinite.any():
            columns[_INFINITE] = pa.array(summed.infinite)
        return pa.table(columns | to_arrow(self.algebra, summed.summaries))


def _as_keys(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers.astype(np.int32))
