"""Slices of time, which windows are made of: where windows begin and where they end.

Slices of one key become a row each, whatever number of events they have: how many there are, and of each column how
many values it has, their sum, the smallest and the largest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.operators.measured import Measured, measure
from trendweave.programs.operators.ordering import OrderedRows
from trendweave.programs.operators.partials import Partials, choose, from_table, merge, summarise, to_table
from trendweave.programs.operators.windows.edges import StepSpan
from trendweave.rows.codes import first_of_each, key_codes

#: The column with the beginning of a slice, in steps, and that with how many events it has.
BEGIN, COUNT = "number", "count"


@dataclass(frozen=True)
class Slices:
    """Slices of some keys.

    Attributes:
        keys: The columns of the keys, a row per slice.
        parts: What is known of each slice; its number is the step at which it begins.
    """

    keys: pa.Table
    parts: Partials

    def choose(self, chosen: np.ndarray) -> Slices:
        """Some of them."""
        places = np.flatnonzero(chosen)
        return Slices(self.keys.take(pa.array(places)), choose(self.parts, places))

    def in_order(self) -> OrderedRows:
        """As rows in order of keys and time, each at its beginning; `parts` must have been merged."""
        group = self.parts.group
        assert group is not None
        starts = (
            np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1], [True])))
            if group.size
            else np.zeros(1, np.int64)
        )
        names = tuple(name for name in self.keys.column_names if name != COUNT)
        return OrderedRows(self.keys, None, starts, self.parts.number, starts[:-1], names)

    # As a table

    def write(self) -> pa.Table:
        """A table that is carried on."""
        table = to_table(self.parts)
        for name in self.keys.column_names:
            table = table if name == COUNT else table.append_column(name, self.keys.column(name))
        return table

    @staticmethod
    def read(table: pa.Table, keys: tuple[str, ...]) -> Slices:
        """What `write` wrote."""
        return Slices(table.select([*keys, COUNT]), from_table(table))


def begin_of(moment: np.ndarray, window: StepSpan) -> np.ndarray:
    """The step at which the slice of each moment begins: a window begins there, or another one ends."""
    window_begin = np.floor_divide(moment, window.slide) * window.slide
    rest = window.length % window.slide
    return window_begin + np.where(moment - window_begin >= rest, rest, 0) if rest else window_begin


def fold_rows(rows: OrderedRows, columns: Sequence[tuple[str, pa.DataType]], window: StepSpan) -> Slices:
    """Rows in order as slices.

    Args:
        rows: By key and time.
        columns: The columns that something is asked of, and their types; of others only values are counted.
        window: The windows.
    """
    begin = begin_of(rows.moment, window)
    changes = np.ones(begin.size + 1, np.bool_)
    np.not_equal(begin[1:], begin[:-1], out=changes[1:-1])
    changes[rows.starts] = True
    starts = np.flatnonzero(changes) if begin.size else np.zeros(1, np.int64)
    measured = [_measure(rows, name, kind) for name, kind in columns]
    parts = summarise(rows.moment, measured, starts, begin[starts[:-1]])
    key = np.searchsorted(rows.starts, starts[:-1], side="right") - 1
    named = {name: rows.of_keys(name, key) for name in rows.keys}
    return Slices(pa.table({**named, COUNT: pa.array(parts.count)}), parts)


def _measure(rows: OrderedRows, name: str, kind: pa.DataType) -> Measured:
    column = rows.table.column(name)
    if pa.types.is_null(kind):
        found = Measured(np.zeros(len(column), np.int64), np.asarray(pc.is_valid(column)))
    else:
        measured = measure(column)
        assert measured is not None, "only columns of values that fit 64 bits are folded"
        found = measured
    return found if rows.order is None else found.take(rows.order)


def merge_slices(several: Sequence[Slices], columns: int) -> Slices:
    """Slices of one key and beginning as one, in order of keys and time."""
    keys = pa.concat_tables([one.keys for one in several])
    names = [name for name in keys.column_names if name != COUNT]
    codes = key_codes([keys.column(name) for name in names], keys.num_rows)
    edges = np.cumsum([one.keys.num_rows for one in several])[:-1]
    grouped = [replace(one.parts, group=own) for one, own in zip(several, np.split(codes, edges), strict=True)]
    merged = merge(grouped, columns)
    group = merged.group if merged.group is not None else np.empty(0, np.int64)
    return Slices(keys.take(pa.array(first_of_each(codes)[group])), replace(merged, group=group))
