"""The result rows of a query, made from its trends (semantics, "Groups and results" and "Windows")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .aggregates import aggregate
from .brute_force import (
    Found,
    Key,
    Row,
    Trend,
    Window,
    condition_holds,
    evaluate,
    pairs,
    sides,
    trends,
)
from .detection import listed
from .pattern import And, can_end_with_not
from .query import Attribute, Calculated, Moving, Output, Query, columns
from .ranking import Ranked, rank
from .scalars import Scalar, identity


def rows(query: Query, events: list[Row]) -> list[Row]:
    """One row for each window and group with a trend; of a moving window, only where a trend of the group ends.

    Without a window, `window_start` and `window_end` are NULL. LIMIT is not looked at: see `ranking`.
    """
    if isinstance(query.pattern, And):
        return _conjunction_rows(query, events)
    return [row for _, _, row in _rows_with_their_trends(query, events)]


def ranked_rows(query: Query, events: list[Row]) -> list[Ranked]:
    """The rows of `rows`, each with its window, of which LIMIT counts, and what ORDER BY says of it."""
    return [
        Ranked(window, row, rank(query, lambda leaf, row=row, found=found: _value(leaf, row, found, events)))
        for window, found, row in _rows_with_their_trends(query, events)
    ]


def _rows_with_their_trends(query: Query, events: list[Row]) -> Iterator[tuple[tuple, list[Trend], Row]]:
    assert not (isinstance(query.window, Moving) and can_end_with_not(query.pattern)), (
        "when a trend ends nothing can have followed it: no query"
    )
    assert not (isinstance(query.window, Moving) and query.chooses()), (
        "which trends are chosen is known only when their windows have ended: no query"
    )
    together: dict[tuple, list[Found]] = {}
    for found in listed(query, events, names_of(query.aggregates)) if query.chooses() else trends(query, events):
        group = tuple(identity(value) for value in group_values(query, events, found.trend))
        together.setdefault((_place(found.window, found.partition), group), []).append(found)
    for (place, _), members in together.items():
        window, found_trends = members[0].window, [found.trend for found in members]
        if window.kind == "moving" and not any(ends_at(window.end, trend, events) for trend in found_trends):
            continue
        row = window_columns(query, window)
        row |= zip((a.name for a in query.group_by), group_values(query, events, found_trends[0]), strict=True)
        if all(
            condition_holds(condition, lambda leaf: _value(leaf, row, found_trends, events))  # noqa: B023
            for condition in query.having
        ):
            yield place, found_trends, row | {a.column: _value(a, row, found_trends, events) for a in query.aggregates}


def names_of(outputs: Iterable[Attribute | Output]) -> set[str]:
    """The columns of events that outputs are made of."""
    values = (output.value if isinstance(output, Calculated) else output for output in outputs)
    leaves = [leaf for value in values for leaf in columns(value)]
    return {leaf.name if isinstance(leaf, Attribute) else leaf.attribute for leaf in leaves} - {None}


def _value(wanted: Output | Attribute, row: Row, found: list[Trend], events: list[Row]) -> Scalar:
    """An output of a row: an aggregate over its trends, a grouping attribute, or what is calculated from these."""
    match wanted:
        case Attribute(name=name):
            return row[name]
        case Calculated(value=value):
            return evaluate(value, lambda leaf: _value(leaf, row, found, events))
    return aggregate(wanted, found, events)


def group_values(query: Query, events: list[Row], trend: Trend) -> list[Scalar]:
    """The grouping attributes of a trend: all its events agree on them. `T.district` of a trend without a T is NULL."""
    values = []
    for attribute in query.group_by:
        bound = [index for index, variable in trend if attribute.variable in (None, variable)]
        values.append(events[bound[0]][attribute.name] if bound else None)
    return values


def _place(window: Window, partition: Key) -> tuple:
    """Partitions share the rows of a window, but sessions belong to a partition, whatever their times."""
    return (window, partition) if window.kind == "session" else (window,)


def _conjunction_rows(query: Query, events: list[Row]) -> list[Row]:
    """COUNT(*) of `P1 AND P2`: pairs of trends, summed over the partitions of a group.

    A moving window has a row where a trend of the group ends, of either side.
    """
    counts: dict[tuple, int] = {}
    values: dict[tuple, list[Scalar]] = {}
    for (window, partition), matched in pairs(query, events).items():
        some_trend, *_ = next(iter(matched))
        group = group_values(query, events, some_trend)
        key = (_place(window, partition), tuple(identity(value) for value in group))
        counts[key] = counts.get(key, 0) + len(matched)
        values[key] = group
    left, right = sides(query, events)
    ending = {
        (
            _place(found.window, found.partition),
            tuple(identity(value) for value in group_values(query, events, found.trend)),
        )
        for found in left + right
        if ends_at(found.window.end, found.trend, events)
    }
    return [
        window_columns(query, key[0][0])
        | dict(zip((a.name for a in query.group_by), values[key], strict=True))
        | {query.aggregates[0].column: counts[key]}
        for key in counts
        if key in ending or key[0][0].kind != "moving"
    ]


def ends_at(time: float | None, trend: Trend, events: list[Row]) -> bool:
    return events[trend[-1][0]]["time"] == time


def window_columns(query: Query, window: Window) -> Row:
    if isinstance(query.window, Moving):
        return {"time": window.end}
    return {"window_start": window.start, "window_end": window.end}
