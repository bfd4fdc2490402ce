"""The result rows of a query, made from its trends (semantics, "Groups and results" and "Windows")."""

from __future__ import annotations

import math
from fractions import Fraction

from .brute_force import Found, Row, Trend, Window, pairs, trends
from .pattern import And, can_end_with_not
from .query import Aggregate, Moving, Query
from .scalars import Scalar, identity, is_nan, largest, smallest


def rows(query: Query, events: list[Row]) -> list[Row]:
    """One row for each window and group with a trend; of a moving window, only where a trend of the group ends.

    Without a window, `window_start` and `window_end` are NULL.
    """
    assert not (isinstance(query.window, Moving) and can_end_with_not(query.pattern)), (
        "when a trend ends nothing can have followed it: no query"
    )
    if isinstance(query.pattern, And):
        return _conjunction_rows(query, events)
    together: dict[tuple, list[Found]] = {}
    for found in trends(query, events):
        group = tuple(identity(value) for value in group_values(query, events, found.trend))
        together.setdefault((found.window, group), []).append(found)
    result = []
    for (window, _), members in together.items():
        found_trends = [found.trend for found in members]
        if window.kind == "moving" and not any(ends_at(window.end, trend, events) for trend in found_trends):
            continue
        row = window_columns(query, window)
        row |= zip((a.name for a in query.group_by), group_values(query, events, found_trends[0]), strict=True)
        row |= {a.column: aggregate(a, found_trends, events) for a in query.aggregates}
        result.append(row)
    return result


def group_values(query: Query, events: list[Row], trend: Trend) -> list[Scalar]:
    """The grouping attributes of a trend: all its events agree on them. `T.district` of a trend without a T is NULL."""
    values = []
    for attribute in query.group_by:
        bound = [index for index, variable in trend if attribute.variable in (None, variable)]
        values.append(events[bound[0]][attribute.name] if bound else None)
    return values


def _conjunction_rows(query: Query, events: list[Row]) -> list[Row]:
    """COUNT(*) of `P1 AND P2`: pairs of trends, summed over the partitions of a group.

    A pair of a moving window ends where the later of its two trends does.
    """
    counts: dict[tuple, int] = {}
    ends: dict[tuple, bool] = {}
    values: dict[tuple, list[Scalar]] = {}
    for (window, _), matched in pairs(query, events).items():
        for pair in matched:
            some_trend, *_ = pair
            group = group_values(query, events, some_trend)
            key = (window, tuple(identity(value) for value in group))
            counts[key] = counts.get(key, 0) + 1
            ends[key] = ends.get(key, False) or any(ends_at(window.end, trend, events) for trend in pair)
            values[key] = group
    return [
        window_columns(query, key[0])
        | dict(zip((a.name for a in query.group_by), values[key], strict=True))
        | {query.aggregates[0].column: counts[key]}
        for key in counts
        if ends[key] or key[0].kind != "moving"
    ]


def ends_at(time: float | None, trend: Trend, events: list[Row]) -> bool:
    return events[trend[-1][0]]["time"] == time


def window_columns(query: Query, window: Window) -> Row:
    if isinstance(query.window, Moving):
        return {"time": window.end}
    return {"window_start": window.start, "window_end": window.end}


def aggregate(wanted: Aggregate, found: list[Trend], events: list[Row]) -> Scalar:
    """One aggregate over all trends of a group; an event in several trends counts once in each of them."""
    if wanted.variable is None:
        return len(found)
    occurrences = [index for trend in found for index, variable in trend if variable == wanted.variable]
    if wanted.attribute is None:
        return len(occurrences)
    values = [events[index][wanted.attribute] for index in occurrences]
    known = [value for value in values if value is not None]
    if not known:
        return None
    match wanted.function:
        case "MIN":
            return smallest(known)
        case "MAX":
            return largest(known)
        case "SUM":
            return total(known)
        case "AVG":
            return average(known)
    raise ValueError(wanted)


def total(values: list[int | float]) -> int | float:
    """The exact sum: of integers an integer of any size, of doubles the double nearest to it."""
    if all(isinstance(value, int) for value in values):
        return sum(values)
    special = [value for value in values if is_nan(value) or value in (math.inf, -math.inf)]
    if special:
        return sum(special)  # by the rules of IEEE 754: infinity, or NaN where the infinities disagree
    return _nearest_double(sum(map(Fraction, values)))


def average(values: list[int | float]) -> float:
    whole = total(values)
    if is_nan(whole) or whole in (math.inf, -math.inf):
        return whole
    return _nearest_double(sum(map(Fraction, values)) / len(values))


def _nearest_double(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
