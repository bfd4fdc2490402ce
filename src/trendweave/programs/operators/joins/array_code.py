"""Where the active window of a side lies at given moments, as array code: NumPy's arrays, or those of a card.

Rows of a side stand by key, then in their order; a place is a number in that order. Ranges are of places, from the
first and up to but without the second.
"""

from __future__ import annotations

from typing import Any

from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.joins.active import ActiveWindow, Moving

_LEAST = -(2**63)


def find_places(xp: Any, times: Any, first: Any, last: Any, moments: Any, after: bool) -> Any:
    """The first place between two at which the time is not before a moment, or is after it.

    Args:
        xp: The namespace of the arrays.
        times: The times of a side by place, in order between any `first` and `last`.
        first: Per moment, the first place of its key.
        last: The end of its key.
        moments: Times.
        after: After the moment, or not before it?
    """
    low, high = first.copy(), last.copy()
    longest = int((last - first).max()) if len(first) else 0
    for _ in range(longest.bit_length()):
        middle = (low + high) >> 1
        time = times[xp.minimum(middle, len(times) - 1)]
        goes_on = (low < high) & ((time <= moments) if after else (time < moments))
        stops = (low < high) & ~goes_on
        low = xp.where(goes_on, middle + 1, low)
        high = xp.where(stops, middle, high)
    return low


def find_ranges(
    xp: Any, window: ActiveWindow, times: Any, first: Any, last: Any, before: Any, moments: Any, ties: bool = True
) -> tuple[Any, Any]:
    """The places that the active window holds at each moment.

    Args:
        xp: The namespace of the arrays.
        window: The window over a side.
        times: The times of this side by place.
        first: Per moment, the first place of its key on this side.
        last: The end of its key.
        before: Per moment, how many events of its key on this side are gone.
        moments: Times.
        ties: With events of that very moment? Asked of windows that move.
    """
    if isinstance(window, RowCount):
        seen = find_places(xp, times, first, last, moments, after=True) - first + before
        begin = (seen - window.rows) // window.slide * window.slide
        low = xp.maximum(begin - before, 0) + first
        high = xp.where(seen < window.rows, low, xp.maximum(begin + window.rows - before, 0) + first)
        return low, xp.maximum(low, high)
    if isinstance(window, Moving):
        oldest = xp.maximum(moments, _LEAST + window.back) - window.back
        low = find_places(xp, times, first, last, oldest, after=False)
        return low, find_places(xp, times, first, last, moments, after=ties)
    begin = (moments + 1 - window.length) // window.slide * window.slide
    low = find_places(xp, times, first, last, begin, after=False)
    return low, find_places(xp, times, first, last, begin + window.length, after=False)


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


def sort_chunks(xp: Any, values: Any, size: int) -> tuple[Any, Any, Any, Any]:
    """Members in chunks that are sorted by value.

    Args:
        xp: The namespace of the arrays.
        values: The values; infinity for those that are always looked at, NaN for those that never are.
        size: The length of a chunk.

    Returns:
        Values and members in chunks, and where in each chunk infinity begins and NaN.
    """
    number = -(-len(values) // size)
    padded = xp.full(number * size, xp.nan)
    padded[: len(values)] = values
    table = padded.reshape(number, size)
    order = xp.argsort(table, axis=1)
    starts = xp.arange(number) * size
    finite = starts + xp.isfinite(table).sum(axis=1)
    present = starts + (~xp.isnan(table)).sum(axis=1)
    values = xp.take_along_axis(table, order, axis=1).reshape(-1)
    return values, (order + starts[:, None]).reshape(-1), finite, present
