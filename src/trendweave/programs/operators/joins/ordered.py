"""Events of a side in their order, and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.value_order import value_order
from trendweave.rows.encoded import TIME
from trendweave.rows.ordering import take_rows
from trendweave.rows.times import TimeType, as_steps


@dataclass(frozen=True)
class OrderedSide:
    """The events of a side. A rank is a number in the order of all, a place one in that of keys.

    Attributes:
        table: Its rows by rank.
        steps: Their times.
        key: The number of each row's key.
        before: Per key, how many events are gone.
    """

    table: pa.Table
    steps: np.ndarray
    key: np.ndarray
    before: np.ndarray

    @property
    def has_one_key(self) -> bool:
        """Are places ranks?"""
        return self.before.size == 1

    @cached_property
    def by_key(self) -> np.ndarray:
        """The rank at each place."""
        return np.arange(self.key.size) if self.has_one_key else np.argsort(self.key, kind="stable")

    @cached_property
    def place(self) -> np.ndarray:
        """The place of each rank."""
        if self.has_one_key:
            return self.by_key
        place = np.empty(self.key.size, np.int64)
        place[self.by_key] = np.arange(self.key.size)
        return place

    @cached_property
    def starts(self) -> np.ndarray:
        """The first place of each key, and the end of the last."""
        if self.has_one_key:
            return np.array([0, self.key.size])
        return np.searchsorted(self.key[self.by_key], np.arange(self.before.size + 1))

    @cached_property
    def times(self) -> np.ndarray:
        """The times by place."""
        return self.steps if self.has_one_key else self.steps[self.by_key]


def order_events(
    table: pa.Table, key: np.ndarray, before: np.ndarray, kind: TimeType, ties: Sequence[str]
) -> OrderedSide:
    """Bring events of a side into order: by time, those of one time by their values.

    Args:
        table: Prepared rows of a side.
        key: The number of each row's key.
        before: Per key, how many events are gone.
        kind: How the time column counts.
        ties: The columns that order events of one time; the first counts most.
    """
    steps = as_steps(table.column(TIME), kind)
    order = None
    if not (steps[1:] >= steps[:-1]).all():
        order = np.argsort(steps, kind="stable")
        steps = steps[order]
    order = order_ties(steps, order, [table.column(name) for name in ties])
    if order is not None:
        columns = [take_rows(column, order) for column in table.columns]
        table, key = pa.table(columns, table.column_names), key[order]
    return OrderedSide(table, steps, key, before)


def order_ties(
    steps: np.ndarray, order: np.ndarray | None, ties: Sequence[pa.ChunkedArray | np.ndarray]
) -> np.ndarray | None:
    """The order after sorting rows of one time by their values; only those are looked at.

    Args:
        steps: The times of rows, in order.
        order: The rows in this order; None where they stand in it.
        ties: What orders rows of one time, by row; the first counts most.
    """
    same = np.zeros(steps.size + 1, np.bool_)
    np.equal(steps[1:], steps[:-1], out=same[1:-1])
    tied = np.flatnonzero(same[:-1] | same[1:])
    if not tied.size:
        return order
    run = np.cumsum(~same[:-1])[tied]
    rows = tied if order is None else order[tied]
    columns = [one[rows] if isinstance(one, np.ndarray) else value_order(take_rows(one, rows)) for one in ties]
    by_value = np.lexsort((*columns[::-1], run))
    ordered = np.arange(steps.size) if order is None else order.copy()
    ordered[tied] = rows[by_value]
    return ordered
