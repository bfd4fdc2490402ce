"""What outlives folded rows: keys, and per key and pane a summary of its rows.

Keys are numbered as they come. Summaries lie in a table per pane, or per some neighbouring panes where windows have
many, so that a step writes the tables of the panes that its rows lie in, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.folding import Algebra, Summaries, concat_summaries, no_summaries
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.programs.trends.folded.panes import Panes
from trendweave.programs.trends.folded.tables import read_summaries, write_summaries

#: The names of tables. They tell that rows were folded, also to those who keep the tables.
FOLDED = "folded "
_KEYS, _PANES = f"{FOLDED}keys", f"{FOLDED}panes "
_KEY, _PANE, _INFINITE = "key", "pane", "infinite"


@dataclass(frozen=True, slots=True)
class Summed:
    """Summaries by pane and key, in this order. `infinite`: whether some value of a float sum was not finite."""

    pane: np.ndarray
    key: np.ndarray
    infinite: np.ndarray
    summaries: Summaries

    def take(self, index: np.ndarray) -> Summed:
        """Some of them, by number."""
        return Summed(self.pane[index], self.key[index], self.infinite[index], self.summaries.take(index))

    @staticmethod
    def none(algebra: Algebra) -> Summed:
        nothing = np.empty(0, np.int64)
        return Summed(nothing, nothing, np.empty(0, np.bool_), no_summaries(algebra))

    @staticmethod
    def concat(algebra: Algebra, parts: list[Summed]) -> Summed:
        """All of them, one after the other."""
        if len(parts) == 1:
            return parts[0]
        several = [Summed.none(algebra), *parts]
        return Summed(
            np.concatenate([part.pane for part in several]),
            np.concatenate([part.key for part in several]),
            np.concatenate([part.infinite for part in several]),
            concat_summaries(algebra, [part.summaries for part in several]),
        )


@dataclass(frozen=True, slots=True)
class Carried:
    """Keys, and tables of summaries by number: table i has the panes from i * `per_table` on. `fresh` is what will be
    the tables of other numbers."""

    algebra: Algebra
    panes: Panes
    keys: pa.Table | None
    tables: Mapping[int, pa.Table]
    fresh: Summed

    @staticmethod
    def read(algebra: Algebra, panes: Panes, carry: Carry) -> Carried:
        """What `write` gave."""
        tables = {int(name.removeprefix(_PANES)): carry[name] for name in carry if name.startswith(_PANES)}
        return Carried(algebra, panes, carry.get(_KEYS), dict(sorted(tables.items())), Summed.none(algebra))

    def write(self) -> Carry:
        """Tables by name; those that did not change are the very same objects."""
        tables = {f"{_PANES}{number}": table for number, table in self.tables.items()}
        numbers = self.panes.table_of(self.fresh.pane)
        begins = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])) if numbers.size else numbers
        for low, high in zip(begins.tolist(), [*begins[1:].tolist(), numbers.size], strict=False):
            tables[f"{_PANES}{numbers[low]}"] = self._write_table(self.fresh.take(np.arange(low, high)))
        return NO_CARRY if self.keys is None or not tables else {_KEYS: self.keys} | tables

    def between(self, first: int, end: int) -> Summed:
        """The summaries of the tables that have some of the panes first:end, and others beside them."""
        size = self.panes.per_table
        numbers = [number for number in self.tables if number * size < end and (number + 1) * size > first]
        return Summed.concat(self.algebra, [self.fresh, *(self._read_table(number) for number in numbers)])

    def in_tables(self, numbers: np.ndarray) -> Summed:
        """The summaries of the tables with these numbers, in their order, as far as they are there."""
        known = [int(number) for number in numbers if int(number) in self.tables]
        parts = [self._read_table(number) for number in known]
        return Summed.concat(self.algebra, parts or [Summed.none(self.algebra)])

    def with_fresh(self, numbers: np.ndarray, summed: Summed, keys: pa.Table) -> Carried:
        """With these summaries, by pane and key, instead of the tables with these numbers."""
        gone = set(numbers.tolist())
        tables = {number: table for number, table in self.tables.items() if number not in gone}
        return replace(self, keys=keys, tables=tables, fresh=summed)

    def first_from(self, pane: int) -> int | None:
        """The first pane that has a summary and is not before another; None where there is none."""
        size = self.panes.per_table
        for number in self.tables:
            if (number + 1) * size > pane:
                panes = self._panes_of(number)
                place = int(np.searchsorted(panes, pane))
                if place < panes.size:
                    return int(panes[place])
        return None

    def without_panes_before(self, pane: int) -> Carried:
        """Without the tables all of whose panes are before one, and without keys that are in no table any more, once
        they are half of all."""
        # Tables begin at a multiple of their size, so that one is needed from here on or not at all.
        first = pane // self.panes.per_table
        tables = {number: table for number, table in self.tables.items() if number >= first}
        needed = self.panes.table_of(self.fresh.pane) >= first
        fresh = self.fresh if needed.all() else self.fresh.take(np.flatnonzero(needed))
        if len(tables) == len(self.tables) and fresh is self.fresh:
            return self
        return replace(self, tables=tables, fresh=fresh)._without_unused_keys()

    def _without_unused_keys(self) -> Carried:
        if self.keys is None:
            return self
        numbers = {number: table.column(_KEY).to_numpy() for number, table in self.tables.items()}
        used = np.zeros(self.keys.num_rows, np.bool_)
        for keys in (self.fresh.key, *numbers.values()):
            used[keys] = True
        if not used.any():
            return replace(self, keys=None)
        if 2 * int(used.sum()) > used.size:
            return self
        places = np.cumsum(used) - 1
        tables = {
            number: table.set_column(table.schema.get_field_index(_KEY), _KEY, _as_keys(places[numbers[number]]))
            for number, table in self.tables.items()
        }
        fresh = replace(self.fresh, key=places[self.fresh.key])
        return replace(self, keys=self.keys.filter(pa.array(used)).combine_chunks(), tables=tables, fresh=fresh)

    # Tables

    def _panes_of(self, number: int) -> np.ndarray:
        table = self.tables[number]
        if _PANE in table.column_names:
            return table.column(_PANE).to_numpy()
        return np.full(table.num_rows, number * self.panes.per_table, np.int64)

    def _read_table(self, number: int) -> Summed:
        table = self.tables[number]
        infinite = np.zeros(table.num_rows, np.bool_)
        if _INFINITE in table.column_names:
            infinite = table.column(_INFINITE).to_numpy()
        key = table.column(_KEY).to_numpy().astype(np.int64)
        return Summed(self._panes_of(number), key, infinite, read_summaries(self.algebra, table))

    def _write_table(self, summed: Summed) -> pa.Table:
        columns = {_KEY: _as_keys(summed.key)}
        if self.panes.per_table > 1:
            columns[_PANE] = pa.array(summed.pane)
        if summed.infinite.any():
            columns[_INFINITE] = pa.array(summed.infinite)
        return pa.table(columns | write_summaries(self.algebra, summed.summaries))


def _as_keys(numbers: np.ndarray) -> pa.Array:
    return pa.array(numbers.astype(np.int32))
