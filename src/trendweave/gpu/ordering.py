"""Rows on a card in order: by key, by time, and rows of one time by their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.gpu.card import Card
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.windows import ordered_codes


@dataclass(frozen=True, slots=True)
class Order:
    """Rows by key and time.

    Attributes:
        order: The row at each place; None where rows stand in order.
        starts: Where each key begins, and the end of the last.
        steps: The times in order.
    """

    order: Any | None
    starts: Any
    steps: Any

    def arrange(self, values: Any) -> Any:
        """What stands for rows, in order."""
        return values if self.order is None else values[self.order]


def value_codes(card: Card, column: CardColumn) -> Any:
    """Values as int64 numbers of the same order; any number where a value is NULL."""
    if pa.types.is_floating(column.kind):
        return ordered_codes(card, column.values)
    return column.values.astype(np.int64)


def key_numbers(card: Card, columns: Sequence[CardColumn], count: int) -> tuple[Any, int]:
    """Number keys in the order of their values, NULL first: a number per row, and how many keys there are."""
    xp = card.xp
    numbers = xp.zeros(count, np.int64)
    keys = min(count, 1)
    for column in columns:
        values, codes = xp.unique(value_codes(card, column), return_inverse=True)
        codes = codes.reshape(-1).astype(np.int64) + 1
        if column.valid is not None:
            codes = xp.where(column.valid != 0, codes, 0)
        # Both are below the number of rows, so that the product fits.
        known, numbers = xp.unique(numbers * np.int64(len(values) + 1) + codes, return_inverse=True)
        numbers, keys = numbers.reshape(-1).astype(np.int64), len(known)
    return numbers, keys


def order_rows(card: Card, numbers: Any, keys: int, steps: Any, ties: Sequence[CardColumn]) -> Order:
    """Sort rows by key and time, and rows of one key and time by their values, NULL first.

    Args:
        card: The card.
        numbers: The number of each row's key.
        keys: How many there are.
        steps: Times.
        ties: The columns that order rows of one time; the first counts most.
    """
    xp = card.xp
    order = None
    if not bool((steps[1:] >= steps[:-1]).all()):
        order = xp.argsort(steps, kind="stable")
    if keys > 1:
        own = numbers if order is None else numbers[order]
        by_key = xp.argsort(own, kind="stable")
        order = by_key if order is None else order[by_key]
    starts = xp.zeros(keys + 1, np.int64)
    starts[1:] = xp.cumsum(xp.bincount(numbers, minlength=keys)) if keys else 0
    if order is not None:
        steps, numbers = steps[order], numbers[order]
    if ties and len(steps) > 1:
        order = _order_ties(card, order, numbers, steps, ties)
    return Order(order, starts, steps)


def _order_ties(card: Card, order: Any | None, numbers: Any, steps: Any, ties: Sequence[CardColumn]) -> Any | None:
    """The order after sorting the rows of one key and time; only those are looked at."""
    xp = card.xp
    same = xp.zeros(len(steps) + 1, np.bool_)
    same[1:-1] = (steps[1:] == steps[:-1]) & (numbers[1:] == numbers[:-1])
    tied = xp.flatnonzero(same[:-1] | same[1:])
    if not len(tied):
        return order
    run = xp.cumsum(~same[:-1])[tied]
    rows = tied if order is None else order[tied]
    by_value = xp.arange(len(tied))
    for column in reversed(ties):
        for codes in _tie_codes(card, column):
            by_value = by_value[xp.argsort(codes[rows[by_value]], kind="stable")]
    by_value = by_value[xp.argsort(run[by_value], kind="stable")]
    ordered = xp.arange(len(steps)) if order is None else order.copy()
    ordered[tied] = rows[by_value]
    return ordered


def _tie_codes(card: Card, column: CardColumn) -> list[Any]:
    """What is sorted by, one after the other: values, and last of all which are NULL."""
    codes = value_codes(card, column)
    if column.valid is None:
        return [codes]
    return [card.xp.where(column.valid != 0, codes, 0), (column.valid != 0).astype(np.int8)]
