"""Which events of the other side an event of a join may meet: those of the active window of its key, that are equal in
what must be equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import evaluate, is_true, make_columns_comparable
from trendweave.language import syntax_tree as st
from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.joins.conditions import JoinCondition, rename
from trendweave.programs.operators.ordering import OrderedSide
from trendweave.programs.operators.windows.edges import Moving, StepSpan
from trendweave.rows.codes import key_codes

ActiveWindow: TypeAlias = Moving | StepSpan | RowCount
_LEAST = -(2**63)
#: Numbers that hold a time and a key are below this.
_MOST_TIMES = 2**62


@dataclass(frozen=True)
class Candidates:
    """What events of one side may find on the other.

    Attributes:
        of_left: Are those that look events of the left side?
        probes: The places of the events that look, by time; only those that may find something.
        members: The places of those that can be found, in any order that keeps ranges together.
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


class KeyedTimes:
    """The times of a side by place, made ready for searches: keys are moved apart, one behind the other. Times too far
    from each other for that are ranked.

    Args:
        times: The times by place, in order within each key.
        starts: The first place of each key, and the end of the last.
    """

    def __init__(self, times: np.ndarray, starts: np.ndarray) -> None:
        least, most = (int(times.min()), int(times.max())) if times.size else (0, 0)
        self._ranked = None
        if max(-least, most) >= _MOST_TIMES or (most - least + 3) * starts.size >= _MOST_TIMES:
            self._ranked = np.unique(times)
            times = np.searchsorted(self._ranked, times)
            least, most = 0, self._ranked.size - 1
        self._least, self._most, self._apart = least, most, most - least + 3
        keys = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        self._numbers = times - (least - 1) + keys * self._apart

    def find(self, keys: np.ndarray, moments: np.ndarray, after: bool) -> np.ndarray:
        """The first place of a key at which the time is not before a moment, or is after it; its end if there is none.

        Args:
            keys: The numbers of keys.
            moments: Times.
            after: After the moment, or not before it?
        """
        side: Literal["left", "right"] = "right" if after else "left"
        if self._ranked is not None:
            moments = np.searchsorted(self._ranked, moments, side=side) - int(after)
        # Moments before all times and after all times stay with their key.
        inside = np.clip(moments, self._least - 1, self._most + 1) - (self._least - 1)
        return np.searchsorted(self._numbers, inside + keys * self._apart, side=side)


def look_into(
    events: OrderedSide, other: OrderedSide, window: ActiveWindow, ties: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The places that the active window of the other side holds at the times of all events.

    Args:
        events: Those that look.
        other: The side that they look at.
        window: The window over it.
        ties: With events of that very moment? Asked of windows that move.
    """
    times, keys, moments = KeyedTimes(other.steps, other.starts), events.key, events.steps
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


@dataclass(frozen=True)
class JoinSide:
    """The events of a side, and what is known of them before pairs are looked at, by place.

    Attributes:
        events: The events.
        table: Their columns, under the names that conditions have for them.
        fits: Which events can be in pairs; None: all.
        codes: What must be equal, as numbers, negative where it is NULL; None where nothing must.
    """

    events: OrderedSide
    table: pa.Table
    fits: np.ndarray | None = None
    codes: np.ndarray | None = None

    def evaluate(self, expression: st.Expression) -> pa.Array:
        """An expression on this side."""
        return evaluate(rename(expression, lambda names: names[1:]), self.table)

    def holds(self, conditions: tuple[st.Expression, ...]) -> np.ndarray | None:
        """Where all of some conditions are true; None for everywhere."""
        masks = [is_true(rename(one, lambda names: names[1:]), self.table) for one in conditions]
        return reduce(np.logical_and, masks) if masks else None


def make_sides(
    condition: JoinCondition, events: tuple[OrderedSide, OrderedSide], columns: Mapping[str, Mapping[str, str]]
) -> tuple[JoinSide, JoinSide]:
    """Evaluate what a condition says of each side by itself, and number what must be equal.

    Args:
        condition: The condition, in parts.
        events: The left and the right events.
        columns: By side: the names of its columns, and those of prepared rows.
    """
    left, right = (
        JoinSide(own, pa.table({name: own.table.column(prepared) for name, prepared in columns[side].items()}))
        for side, own in zip(("left", "right"), events, strict=True)
    )
    codes: Sequence[np.ndarray | None] = (None, None)
    if condition.equal:
        size = left.events.steps.size
        joined, known = [], np.ones(size + right.events.steps.size, np.bool_)
        for one, other in condition.equal:
            column = pa.concat_arrays(make_columns_comparable([left.evaluate(one), right.evaluate(other)]))
            joined.append(pa.chunked_array([column]))
            known &= np.asarray(column.is_valid())
        codes = np.split(np.where(known, key_codes(joined, known.size), -1), [size])
    return (
        replace(left, fits=left.holds(condition.left), codes=codes[0]),
        replace(right, fits=right.holds(condition.right), codes=codes[1]),
    )


def find_candidates(
    side: JoinSide, other: JoinSide, looks: tuple[np.ndarray, np.ndarray], of_left: bool, wanted: np.ndarray | None
) -> Candidates:
    """What events of one side may find on the other.

    Args:
        side: The events that look.
        other: The side that they look at.
        looks: Which places they look at.
        of_left: Are they the left ones?
        wanted: Which of them are asked for; None: all.
    """
    low, high = looks
    size = other.events.steps.size
    keep = other.fits
    if other.codes is not None:
        keep = other.codes >= 0 if keep is None else keep & (other.codes >= 0)
    members = np.arange(size) if keep is None else np.flatnonzero(keep)
    if side.codes is not None and other.codes is not None:
        # Members by what they are equal in, then by place.
        equal = other.codes[members]
        order, apart = np.argsort(equal, kind="stable"), size + 1
        members = members[order]
        both = equal[order] * apart + members
        low = np.searchsorted(both, side.codes * apart + low)
        high = np.where(side.codes < 0, low, np.searchsorted(both, side.codes * apart + high))
    elif keep is not None:
        low, high = np.searchsorted(members, low), np.searchsorted(members, high)
    looking = high > low
    for mask in (side.fits, wanted):
        if mask is not None:
            looking &= mask
    probes = np.flatnonzero(looking)
    probes = probes[np.argsort(side.events.steps[probes], kind="stable")]
    return Candidates(of_left, probes, members, low[probes], high[probes])
