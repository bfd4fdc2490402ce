"""ORDER BY and LIMIT: which rows of a window may be shown, and in which order.

Of rows that are equal in ORDER BY any may be shown, so these functions judge a result instead of giving one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .brute_force import Row, evaluate
from .comparer import difference, same_row
from .query import Leaf, Query
from .scalars import Scalar, in_order


@dataclass(frozen=True)
class Ranked:
    """A row, the place whose rows LIMIT counts, and its rank there: rows of smaller ranks come first."""

    place: Hashable
    row: Row
    rank: tuple


def rank(query: Query, value: Callable[[Leaf], Scalar]) -> tuple:
    return tuple(
        _Descending(found) if order.descending else found
        for order in query.order_by
        for found in [in_order(evaluate(order.value, value))]
    )


@dataclass(frozen=True)
class _Descending:
    value: tuple

    def __lt__(self, other: _Descending) -> bool:
        return other.value < self.value


def assert_first_rows(ranked: list[Ranked], found: list[dict[str, Any]], limit: int | None, context: str = "") -> None:
    """Raise AssertionError unless `found` are the first `limit` rows of each place; of equal ones any will do."""
    left = list(found)
    for place in {one.place for one in ranked}:
        here = sorted((one for one in ranked if one.place == place), key=lambda one: one.rank)
        wanted = here if limit is None else here[:limit]
        last = wanted[-1].rank
        sure = [one.row for one in wanted if one.rank < last]
        missing, left = difference(sure, left)
        assert not missing, f"{context}: rows that come first are missing: {missing}"
        ties = [one.row for one in here if one.rank == last]
        not_shown, left = difference(ties, left)
        shown, free = len(ties) - len(not_shown), len(wanted) - len(sure)
        assert shown == free, f"{context}: {shown} instead of {free} rows of {ties}"
    assert not left, f"{context}: rows that nobody expected: {left}"


def assert_in_order(ranked: list[Ranked], found: list[dict[str, Any]], context: str = "") -> None:
    """Raise AssertionError unless the rows of each place come one after the other as ORDER BY says.

    Equal rows of different ranks tell nothing, and are left out.
    """
    for place in {one.place for one in ranked}:
        here = [one for one in ranked if one.place == place]
        ranks = [{one.rank for one in here if same_row(one.row, row)} for row in found]
        known = [next(iter(possible)) for possible in ranks if len(possible) == 1]
        assert known == sorted(known), f"{context}: not in order: {found}"
