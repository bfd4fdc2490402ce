"""The rows of queries that show trends one by one, made from all trends (semantics, "Detection")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .aggregates import of_one_trend
from .brute_force import Found, Row
from .detection import listed
from .query import Attribute, Leaf, Moving, Output, Query, columns, text
from .ranking import Ranked, rank
from .results import group_values, names_of, window_columns
from .scalars import Scalar, identity


def shown_text(query: Query, returned: str, choice: str = "") -> str:
    """The query with another RETURN, and with LIMIT, LONGEST or SAMPLE at its end."""
    lines = [line for line in text(query).split("\n") if not line.startswith("RETURN ")]
    return "\n".join([f"RETURN {returned}" if returned else "", *lines, choice]).strip()


def shown(
    query: Query, events: list[Row], complete: bool = False, columns: Iterable[Attribute | Output] = ()
) -> list[Found]:
    """The trends that have rows, which are made of some columns."""
    return listed(replace(query, complete=query.complete or complete), events, names_of(columns))


def named_attributes(query: Query) -> tuple[Attribute, ...]:
    """What a bare listing shows: all attributes that the query names, of whatever variable."""
    names = {attribute.name for attribute in (*query.equivalence, *query.group_by)}
    for predicate in query.predicates:
        names |= {column.attribute for side in (predicate.left, predicate.right) for column in columns(side)} - {None}
    return tuple(map(Attribute, sorted(names)))


def trend_rows(query: Query, events: list[Row], attributes: tuple[Attribute, ...], complete: bool = False) -> list[Row]:
    """RETURN TRENDS(...): `S.price` is shown of events read as S, `price` of all events."""
    return rows_of_trends(query, events, shown(query, events, complete, attributes), attributes)


def rows_of_trends(query: Query, events: list[Row], every: list[Found], attributes: tuple[Attribute, ...]) -> list[Row]:
    """The same of given trends."""
    result = []
    for found in every:
        shown_events = _shown_events(found, events, attributes)
        result.append(place(query, events, found) | {"length": len(shown_events), "events": shown_events})
    return result


def flat_rows(
    query: Query, events: list[Row], attributes: tuple[Attribute, ...], complete: bool = False
) -> list[list[Row]]:
    """RETURN ROWS(...), match by match: what TRENDS shows of each event, one row each.

    `match`, which tells the matches of a window (or time) and partition apart, is left out: which of them is the first
    is nobody's business. Where rows have a time of their own, the event's is its `event_time`.
    """
    time = "event_time" if isinstance(query.window, Moving) else "time"
    return [
        [
            place(query, events, found) | {time if name == "time" else name: value for name, value in event.items()}
            for event in _shown_events(found, events, attributes)
        ]
        for found in shown(query, events, complete, attributes)
    ]


def _shown_events(found: Found, events: list[Row], attributes: tuple[Attribute, ...]) -> list[Row]:
    result = []
    for index, variable in found.trend:
        event = {"variable": variable, "time": events[index]["time"], "type": events[index]["type"]}
        for attribute in attributes:
            if attribute.variable in (None, variable):
                event[attribute.name] = events[index][attribute.name]
            else:
                event.setdefault(attribute.name, None)
        result.append(event)
    return result


def each_rows(query: Query, events: list[Row], outputs: tuple[Output, ...], complete: bool = False) -> list[Row]:
    """RETURN [COMPLETE] EACH: aggregates of one trend, and the first and last value of a variable's events."""
    return [
        place(query, events, found) | {output.column: of_one_trend(output, found.trend, events) for output in outputs}
        for found in shown(query, events, complete, outputs)
    ]


def ranked_each_rows(query: Query, events: list[Row], outputs: tuple[Output, ...]) -> list[Ranked]:
    """The rows of EACH with what ORDER BY says of them. LIMIT counts those of a window (or time) and group."""
    result = []
    for found, row in zip(shown(query, events, columns=outputs), each_rows(query, events, outputs), strict=True):
        grouped = place(query, events, found)

        def value(leaf: Leaf, found: Found = found, grouped: Row = grouped) -> Scalar:
            return grouped[leaf.name] if isinstance(leaf, Attribute) else of_one_trend(leaf, found.trend, events)

        where = tuple(map(identity, grouped.values())) + ((found.partition,) if found.window.kind == "session" else ())
        result.append(Ranked(where, row, rank(query, value)))
    return result


def place(query: Query, events: list[Row], found: Found) -> Row:
    """The columns of the window and of the group."""
    values = group_values(query, events, found.trend)
    return window_columns(query, found.window) | dict(zip((a.name for a in query.group_by), values, strict=True))
