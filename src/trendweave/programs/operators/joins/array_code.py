"""Where the active window of a side lies at given moments, as array code: NumPy's arrays, or those of a card.

Rows of a side stand by key, then in their order; a place is a number in that order. Ranges are of places, from the
first and up to but without the second.
"""

from __future__ import annotations

from typing import Any

from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.joins.active import ActiveWindow, Moving

_LEAST = -(2**63)
_MOST = 2**62


class KeyedTimes:
    """The times of a side by place, made ready for searches: keys are moved apart, one behind the other.

    Args:
        xp: The namespace of the arrays.
        times: The times by place, in order within each key.
        starts: The first place of each key, and the end of the last.
    """

    def __init__(self, xp: Any, times: Any, starts: Any) -> None:
        self._xp, self._times, self._starts = xp, times, starts
        self._one_key = len(starts) <= 2
        self._least, self._most = (int(times.min()), int(times.max())) if len(times) else (0, 0)
        self._apart = self._most - self._least + 2
        self._numbers = times
        if not self._one_key and self._apart * len(starts) < _MOST:
            keys = xp.searchsorted(starts, xp.arange(len(times)), side="right") - 1
            self._numbers = times - self._least + keys * self._apart

    def find(self, keys: Any, moments: Any, after: bool) -> Any:
        """The first place of a key at which the time is not before a moment, or is after it; its end if there is none.

        Args:
            keys: The numbers of keys.
            moments: Times.
            after: After the moment, or not before it?
        """
        xp, side = self._xp, "right" if after else "left"
        if self._one_key:
            return xp.searchsorted(self._times, moments, side=side)
        if self._numbers is self._times:
            return self._find_by_halving(keys, moments, after)
        inside = xp.minimum(xp.maximum(moments, self._least), self._most) - self._least
        found = xp.searchsorted(self._numbers, inside + keys * self._apart, side=side)
        # Moments before all times and after all times stay with their key.
        found = xp.where(moments < self._least, self._starts[keys], found)
        return xp.where(moments > self._most, self._starts[keys + 1], found)

    def _find_by_halving(self, keys: Any, moments: Any, after: bool) -> Any:
        """For times so far from each other that no number holds them and a key."""
        xp = self._xp
        low, high = self._starts[keys], self._starts[keys + 1]
        for _ in range(len(self._times).bit_length()):
            middle = (low + high) >> 1
            time = self._times[xp.minimum(middle, len(self._times) - 1)]
            goes_on = (low < high) & ((time <= moments) if after else (time < moments))
            stops = (low < high) & ~goes_on
            low = xp.where(goes_on, middle + 1, low)
            high = xp.where(stops, middle, high)
        return low


def find_ranges(
    xp: Any,
    window: ActiveWindow,
    times: KeyedTimes,
    first: Any,
    before: Any,
    keys: Any,
    moments: Any,
    ties: bool = True,
) -> tuple[Any, Any]:
    """The places that the active window holds at each moment.

    Args:
        xp: The namespace of the arrays.
        window: The window over a side.
        times: The times of this side.
        first: Per moment, the first place of its key on this side.
        before: Per moment, how many events of its key on this side are gone.
        keys: Per moment, the number of its key.
        moments: Times.
        ties: With events of that very moment? Asked of windows that move.
    """
    if isinstance(window, RowCount):
        seen = times.find(keys, moments, after=True) - first + before
        begin = (seen - window.rows) // window.slide * window.slide
        low = xp.maximum(begin - before, 0) + first
        high = xp.where(seen < window.rows, low, xp.maximum(begin + window.rows - before, 0) + first)
        return low, xp.maximum(low, high)
    if isinstance(window, Moving):
        oldest = xp.maximum(moments, _LEAST + window.back) - window.back
        return times.find(keys, oldest, after=False), times.find(keys, moments, after=ties)
    begin = (moments + 1 - window.length) // window.slide * window.slide
    return times.find(keys, begin, after=False), times.find(keys, begin + window.length, after=False)


def range_within_members(xp: Any, members: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Ranges of places as ranges of some places that are in order."""
    return xp.searchsorted(members, low), xp.searchsorted(members, high)


def sort_equal(xp: Any, codes: Any, members: Any) -> tuple[Any, Any]:
    """Members by what they are equal in, then by place: the codes and the members in that order."""
    order = xp.argsort(codes, kind="stable")
    return codes[order], members[order]


def range_of_equal(xp: Any, codes: Any, members: Any, places: int, wanted: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Ranges of members that are equal in something and whose places lie between two.

    Args:
        xp: The namespace of the arrays.
        codes: What members are equal in, as `sort_equal` gives them; not negative.
        members: Their places.
        places: How many places there are.
        wanted: The code that is asked for; negative for none.
        low: The first place.
        high: Up to but without this one.
    """
    both = codes * (places + 1) + members
    begin = xp.searchsorted(both, wanted * (places + 1) + low)
    end = xp.searchsorted(both, wanted * (places + 1) + high)
    return begin, xp.where(wanted < 0, begin, end)
