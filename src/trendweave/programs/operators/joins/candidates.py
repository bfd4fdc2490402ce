"""Partners that an event may have: the places of the other side's active window, less what is known not to fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import evaluate, is_true, make_columns_comparable
from trendweave.language import syntax_tree as st
from trendweave.programs.operators.joins.active import ActiveWindow
from trendweave.programs.operators.joins.array_code import (
    KeyedTimes,
    find_ranges,
    range_of_equal,
    range_within_members,
    sort_equal,
)
from trendweave.programs.operators.joins.conjuncts import JoinCondition, rename
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.rows.codes import key_codes


@dataclass(frozen=True)
class Candidates:
    """What events of one side may find on the other.

    Attributes:
        of_left: Are those that look events of the left side?
        probes: The ranks of the events that look, by time; only those that may find something.
        members: The ranks of those that can be found, in any order that keeps ranges together.
        low: Per event that looks, the first of its members.
        high: Up to but without this one.
    """

    of_left: bool
    probes: np.ndarray
    members: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def pairs(self) -> int:
        """How many there are at most."""
        return int((self.high - self.low).sum())


@dataclass(frozen=True)
class Looks:
    """Which places of the other side the events of one side look at."""

    low: np.ndarray
    high: np.ndarray


def look_into(events: OrderedSide, other: OrderedSide, window: ActiveWindow, ties: bool) -> Looks:
    """The active windows of the other side at the times of all events, by rank.

    Args:
        events: Those that look.
        other: The side that they look at.
        window: The window over it.
        ties: With events of the same time?
    """
    times = KeyedTimes(np, other.times, other.starts)
    given = (times, other.starts[events.key], other.before[events.key], events.key, events.steps, ties)
    return Looks(*find_ranges(np, window, *given))


def evaluate_on_side(expression: st.Expression, side: OrderedSide, columns: Mapping[str, str]) -> pa.Array:
    """An expression on the rows of a side, by rank."""
    return evaluate(rename(expression, lambda names: (columns[names[1]], *names[2:])), side.table)


def holds_on_side(
    conditions: tuple[st.Expression, ...], side: OrderedSide, columns: Mapping[str, str]
) -> np.ndarray | None:
    """Where all of some conditions are true, by rank; None for everywhere."""
    if not conditions:
        return None
    renamed = [rename(one, lambda names: (columns[names[1]], *names[2:])) for one in conditions]
    return reduce(np.logical_and, [is_true(one, side.table) for one in renamed])


@dataclass(frozen=True)
class Fitting:
    """What is known of the events of both sides before pairs are looked at, by rank.

    Attributes:
        left: Which left events can be in pairs; None: all.
        right: The same of right events.
        left_codes: What must be equal, as numbers; None where nothing must. Negative where it is NULL.
        right_codes: The same of right events.
    """

    left: np.ndarray | None
    right: np.ndarray | None
    left_codes: np.ndarray | None
    right_codes: np.ndarray | None


def find_fitting(
    condition: JoinCondition, left: OrderedSide, right: OrderedSide, columns: Mapping[str, Mapping[str, str]]
) -> Fitting:
    """Evaluate what a condition says of each side by itself, and number what must be equal."""
    kept = [
        holds_on_side(condition.left, left, columns["left"]),
        holds_on_side(condition.right, right, columns["right"]),
    ]
    if not condition.equal:
        return Fitting(kept[0], kept[1], None, None)
    joined, known = [], np.ones(left.key.size + right.key.size, np.bool_)
    for one, other in condition.equal:
        both = make_columns_comparable(
            [evaluate_on_side(one, left, columns["left"]), evaluate_on_side(other, right, columns["right"])]
        )
        column = pa.concat_arrays(both)
        joined.append(pa.chunked_array([column]))
        known &= np.asarray(column.is_valid())
    codes = np.where(known, key_codes(joined, known.size), -1)
    return Fitting(kept[0], kept[1], codes[: left.key.size], codes[left.key.size :])


def find_candidates(
    fitting: Fitting, events: OrderedSide, other: OrderedSide, looks: Looks, of_left: bool, wanted: np.ndarray | None
) -> Candidates:
    """What events of one side may find on the other.

    Args:
        fitting: What is known of both sides.
        events: Those that look.
        other: The side that they look at.
        looks: Which places they look at.
        of_left: Are they the left ones?
        wanted: Which of them are asked for; None: all.
    """
    own, others = (fitting.left, fitting.right) if of_left else (fitting.right, fitting.left)
    codes, other_codes = fitting.left_codes, fitting.right_codes
    if not of_left:
        codes, other_codes = other_codes, codes
    low, high = looks.low, looks.high
    members = np.arange(other.key.size)
    keep = None if others is None else others[other.by_key]
    if other_codes is not None:
        known = other_codes[other.by_key] >= 0
        keep = known if keep is None else keep & known
    if keep is not None:
        members = np.flatnonzero(keep)
    if codes is not None and other_codes is not None:
        sorted_codes, members = sort_equal(np, other_codes[other.by_key][members], members)
        low, high = range_of_equal(np, sorted_codes, members, other.key.size, codes, low, high)
    elif keep is not None:
        low, high = range_within_members(np, members, low, high)
    looking = high > low
    for mask in (own, wanted):
        if mask is not None:
            looking &= mask
    probes = np.flatnonzero(looking)
    return Candidates(of_left, probes, other.by_key[members], low[probes], high[probes])
