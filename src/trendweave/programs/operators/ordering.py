"""Rows in the one order that windows are cut from: by key, by time, and events of one time by their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.values import join_chunks
from trendweave.rows.codes import key_codes, order_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.segments import Sorted, sort_by_key_and_time, take_rows
from trendweave.rows.times import TimeType, as_steps


def value_order(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """Numbers in the order of values: NULL first, NaN above all numbers, -0.0 equal to 0.0; lists and structs by how
    they are written. Values of types without an order are equal."""
    if pa.types.is_nested(column.type):
        written = [None if value is None else repr(value) for value in column.to_pylist()]
        column = pa.chunked_array([written], pa.string())
    elif column.type == pa.uint64():
        column = column.cast(pa.decimal128(20, 0))  # which holds all of them
    elif pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    try:
        return order_codes(column, column)[0]
    except pa.ArrowNotImplementedError:
        return np.asarray(column.is_valid()).astype(np.int64)


@dataclass(frozen=True)
class OrderedSide:
    """The events of a side of a join by key, then by time, events of one time by their values: a place is a number in
    this order.

    Attributes:
        table: Its rows.
        steps: Their times.
        starts: The first place of each key, and the end of the last.
        before: Per key, how many events are gone.
        ties: The columns that order events of one time; the first counts most.
    """

    table: pa.Table
    steps: np.ndarray
    starts: np.ndarray
    before: np.ndarray
    ties: tuple[str, ...]

    @cached_property
    def key(self) -> np.ndarray:
        """The number of the key at each place."""
        return np.repeat(np.arange(self.before.size), np.diff(self.starts))

    @cached_property
    def numbers(self) -> np.ndarray:
        """How many events of its key came before each."""
        return np.arange(self.steps.size) + np.repeat(self.before - self.starts[:-1], np.diff(self.starts))

    @cached_property
    def _ranks(self) -> np.ndarray:
        order: np.ndarray | None = np.argsort(self.steps, kind="stable")
        order = order_ties(self.steps[order], order, [self.table.column(name) for name in self.ties])
        ranks = np.empty(self.steps.size, np.int64)
        ranks[order] = np.arange(ranks.size)
        return ranks

    def rank(self, places: np.ndarray) -> np.ndarray:
        """Numbers of events in the order of all keys together: by time, events of one time by their values."""
        return places if self.before.size <= 1 else self._ranks[places]


def order_side(
    table: pa.Table, key: np.ndarray, before: np.ndarray, kind: TimeType, ties: tuple[str, ...]
) -> OrderedSide:
    """Bring events of a side into order.

    Args:
        table: Prepared rows of a side.
        key: The number of each row's key.
        before: Per key, how many events are gone.
        kind: How the time column counts.
        ties: The columns that order events of one time; the first counts most.
    """
    order, starts, steps = _sort(table, key, before.size, kind, ties)
    if order is not None:
        table = pa.table([take_rows(column, order) for column in table.columns], table.column_names)
    return OrderedSide(table, steps, starts, before, ties)


def _sort(table: pa.Table, key: np.ndarray, count: int, kind: TimeType, ties: Sequence[str]) -> Sorted:
    order, starts, moment = sort_by_key_and_time(key, as_steps(table.column(TIME), kind), count)
    return Sorted(order_ties(moment, order, [table.column(name) for name in ties], starts), starts, moment)


def order_ties(
    steps: np.ndarray,
    order: np.ndarray | None,
    ties: Sequence[pa.ChunkedArray | np.ndarray],
    starts: np.ndarray | int = 0,
) -> np.ndarray | None:
    """The order after sorting rows of one time by their values; only those are looked at.

    Args:
        steps: The times of rows, in order.
        order: The rows in this order; None where they stand in it.
        ties: What orders rows of one time, by row; the first counts most.
        starts: Where keys begin, if rows stand by key.
    """
    if not ties:
        return order
    same = np.zeros(steps.size + 1, np.bool_)
    np.equal(steps[1:], steps[:-1], out=same[1:-1])
    same[starts] = False
    tied = np.flatnonzero(same[:-1] | same[1:])
    if not tied.size:
        return order
    run = np.cumsum(~same[:-1])[tied]
    rows = tied if order is None else order[tied]
    columns = [one[rows] if isinstance(one, np.ndarray) else value_order(take_rows(one, rows)) for one in ties]
    by_value = np.lexsort((*columns[::-1], run))
    if np.array_equal(by_value, np.arange(by_value.size)):
        return order
    ordered = np.arange(steps.size) if order is None else order.copy()
    ordered[tied] = rows[by_value]
    return ordered


@dataclass(frozen=True)
class OrderedRows:
    """Rows by key and time.

    Attributes:
        table: The rows as they came.
        order: The row of the table at each place; None where they stand in order.
        starts: Where each key begins, and the end of the last.
        moment: The times in order, in steps.
        key_rows: A row of the table per key.
        keys: The columns of the keys.
    """

    table: pa.Table
    order: np.ndarray | None
    starts: np.ndarray
    moment: np.ndarray
    key_rows: np.ndarray
    keys: tuple[str, ...]

    def of_keys(self, name: str, keys: np.ndarray | slice = slice(None)) -> pa.Array:
        """Values of a column that all rows of a key have in common, of some keys."""
        return join_chunks(take_rows(self.table.column(name), self.key_rows[keys]))

    def arrange(self, values: np.ndarray) -> np.ndarray:
        """What stands for the rows of the table, in order."""
        return values if self.order is None else values[self.order]

    def key_ranks(self) -> np.ndarray:
        """The place of each key in the order of values: NULL first, NaN above all numbers."""
        return rank_keys([self.table.column(name) for name in self.keys], self.key_rows)


def order_rows(table: pa.Table, keys: tuple[str, ...], kind: TimeType, ties: Sequence[str]) -> OrderedRows:
    """Bring rows into order.

    Args:
        table: Prepared rows.
        keys: The columns of the keys.
        kind: How the time column counts.
        ties: The columns that order events of one time, the first counts most; none where their order does not matter.
    """
    codes = key_codes([table.column(name) for name in keys], table.num_rows)
    order, starts, moment = _sort(table, codes, int(codes.max(initial=-1)) + 1, kind, ties)
    first = starts[:-1] if order is None else order[starts[:-1]]
    return OrderedRows(table, order, starts, moment, first, keys)


def rank_keys(columns: Sequence[pa.ChunkedArray], rows: np.ndarray) -> np.ndarray:
    """The place of some rows, one per key, in the order of their keys."""
    values = [value_order(take_rows(column, rows)) for column in columns]
    ranks = np.empty(rows.size, np.int64)
    ranks[np.lexsort(values[::-1]) if values else slice(None)] = np.arange(ranks.size)
    return ranks
