"""Partners that an event may have: the places of the other side's active window, less what is known not to fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import evaluate, is_true, make_columns_comparable
from trendweave.language import syntax_tree as st
from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.joins.conditions import JoinCondition, rename
from trendweave.programs.operators.ordering import OrderedSide
from trendweave.programs.operators.windows.edges import Moving, StepSpan
from trendweave.rows.codes import key_codes
from trendweave.rows.window_arrays import KeyedTimes

ActiveWindow: TypeAlias = Moving | StepSpan | RowCount
_LEAST = -(2**63)


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


def look_into(
    events: OrderedSide, other: OrderedSide, window: ActiveWindow, ties: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The places that the active window of the other side holds at the times of all events, by rank.

    Args:
        events: Those that look.
        other: The side that they look at.
        window: The window over it.
        ties: With events of that very moment? Asked of windows that move.
    """
    times, keys, moments = KeyedTimes(np, other.times, other.starts), events.key, events.steps
    if isinstance(window, RowCount):
        first, before = other.starts[keys], other.before[keys]
        seen = times.find(keys, moments, after=True) - first + before
        begin = (seen - window.rows) // window.slide * window.slide
        low = np.maximum(begin - before, 0) + first
        high = np.where(seen < window.rows, low, np.maximum(begin + window.rows - before, 0) + first)
        return low, np.maximum(low, high)
    if isinstance(window, Moving):
        oldest = np.maximum(moments, _LEAST + window.reach) - window.reach
        return times.find(keys, oldest, after=False), times.find(keys, moments, after=ties)
    begin = (moments + 1 - window.length) // window.slide * window.slide
    return times.find(keys, begin, after=False), times.find(keys, begin + window.length, after=False)


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
    fitting: Fitting,
    events: OrderedSide,
    other: OrderedSide,
    looks: tuple[np.ndarray, np.ndarray],
    of_left: bool,
    wanted: np.ndarray | None,
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
    low, high = looks
    members = np.arange(other.key.size)
    keep = None if others is None else others[other.by_key]
    if other_codes is not None:
        known = other_codes[other.by_key] >= 0
        keep = known if keep is None else keep & known
    if keep is not None:
        members = np.flatnonzero(keep)
    if codes is not None and other_codes is not None:
        # Members by what they are equal in, then by place.
        equal = other_codes[other.by_key][members]
        order, apart = np.argsort(equal, kind="stable"), other.key.size + 1
        members = members[order]
        both = equal[order] * apart + members
        low = np.searchsorted(both, codes * apart + low)
        high = np.where(codes < 0, low, np.searchsorted(both, codes * apart + high))
    elif keep is not None:
        low, high = np.searchsorted(members, low), np.searchsorted(members, high)
    looking = high > low
    for mask in (own, wanted):
        if mask is not None:
            looking &= mask
    probes = np.flatnonzero(looking)
    return Candidates(of_left, probes, other.by_key[members], low[probes], high[probes])
