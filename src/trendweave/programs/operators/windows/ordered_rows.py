"""Prepared rows in the one order that windows are cut from: by key, by time, and events of one time by their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels.sorting import order_by_time, stable_order
from trendweave.programs.operators.value_order import value_order
from trendweave.rows.codes import key_codes
from trendweave.rows.encoded import TIME
from trendweave.rows.ordering import sort_by_key_and_time, take_rows
from trendweave.rows.times import TimeType, as_steps


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


def order_rows(table: pa.Table, keys: tuple[str, ...], kind: TimeType, ties: Sequence[str] | None) -> OrderedRows:
    """Bring rows into order.

    Args:
        table: Prepared rows.
        keys: The columns of the keys.
        kind: How the time column counts.
        ties: The columns that order events of one time, the first counts most; None where their order does not matter.
    """
    codes = key_codes([table.column(name) for name in keys], table.num_rows)
    moment = as_steps(table.column(TIME), kind)
    count = int(codes.max()) + 1 if codes.size else 0
    order, starts, moment = sort_by_key_and_time(codes, moment, count)
    if ties:
        order = _order_ties(table, order, starts, moment, ties)
    first = starts[:-1] if order is None else order[starts[:-1]]
    return OrderedRows(table, order, starts, moment, first, keys)


def rank_keys(columns: Sequence[pa.ChunkedArray], rows: np.ndarray) -> np.ndarray:
    """The place of some rows, one per key, in the order of their keys."""
    values = [value_order(take_rows(column, rows)) for column in columns]
    ranks = np.empty(rows.size, np.int64)
    ranks[np.lexsort(values[::-1]) if values else slice(None)] = np.arange(ranks.size)
    return ranks


def order_windows(rank: np.ndarray, start: np.ndarray, end: np.ndarray | None = None) -> np.ndarray:
    """The order of windows by their end, then by their start, then by the rank of their key; windows of one key that
    are equal in both stay in their order. Without ends, starts alone tell."""
    order = stable_order(rank, int(rank.max(initial=0)) + 1)[0]
    last = start if end is None else end
    found, _, moments = order_by_time(np.zeros(order.size, np.int64), last[order], 1)
    order = order[found]
    if end is None:
        return order
    same = np.zeros(order.size + 1, np.bool_)
    np.equal(moments[1:], moments[:-1], out=same[1:-1])
    tied = np.flatnonzero(same[:-1] | same[1:])
    windows = order[tied]
    order[tied] = windows[np.lexsort((start[windows], np.cumsum(~same[:-1])[tied]))]
    return order


def _order_ties(
    table: pa.Table, order: np.ndarray | None, starts: np.ndarray, moment: np.ndarray, ties: Sequence[str]
) -> np.ndarray | None:
    """The order after sorting the rows of one key and time by their values; only those are looked at."""
    same = np.zeros(moment.size + 1, np.bool_)
    np.equal(moment[1:], moment[:-1], out=same[1:-1])
    same[starts] = False
    tied = np.flatnonzero(same[:-1] | same[1:])
    if not tied.size:
        return order
    run = np.cumsum(~same[:-1])[tied]
    rows = tied if order is None else order[tied]
    columns = [value_order(take_rows(table.column(name), rows)) for name in ties]
    by_value = np.lexsort((*columns[::-1], run))
    if np.array_equal(by_value, np.arange(by_value.size)):
        return order
    ordered = np.arange(moment.size) if order is None else order.copy()
    ordered[tied] = rows[by_value]
    return ordered
