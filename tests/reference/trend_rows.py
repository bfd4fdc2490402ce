"""The rows of queries that show trends one by one, made from all trends (semantics, "Detection")."""

from __future__ import annotations

from .brute_force import Found, Row, Trend, complete_trends, trends
from .query import Aggregate, Attribute, Query, columns, text
from .results import aggregate, ends_at, group_values, window_columns
from .scalars import Scalar, identity


def shown_text(query: Query, returned: str, choice: str = "") -> str:
    """The query with another RETURN, and with LIMIT, LONGEST or SAMPLE at its end."""
    lines = [line for line in text(query).split("\n") if not line.startswith("RETURN ")]
    return "\n".join([f"RETURN {returned}" if returned else "", *lines, choice]).strip()


def shown(query: Query, events: list[Row], complete: bool = False) -> list[Found]:
    """Every trend of every window that has rows: of a moving window, one at whose time a trend of the group ends."""
    every = trends(query, events)
    ending = {
        (found.window, _group(query, events, found.trend))
        for found in every
        if found.window.kind != "moving" or ends_at(found.window.end, found.trend, events)
    }
    wanted = complete_trends(query, events) if complete else every
    return [found for found in wanted if (found.window, _group(query, events, found.trend)) in ending]


def named_attributes(query: Query) -> tuple[Attribute, ...]:
    """What a bare listing shows: all attributes that the query names, of whatever variable."""
    names = {attribute.name for attribute in (*query.equivalence, *query.group_by)}
    for predicate in query.predicates:
        names |= {column.attribute for side in (predicate.left, predicate.right) for column in columns(side)}
    return tuple(map(Attribute, sorted(names)))


def trend_rows(query: Query, events: list[Row], attributes: tuple[Attribute, ...], complete: bool = False) -> list[Row]:
    """RETURN TRENDS(...): `S.price` is shown of events read as S, `price` of all events."""
    result = []
    for found in shown(query, events, complete):
        listed = []
        for index, variable in found.trend:
            event = {"variable": variable, "time": events[index]["time"], "type": events[index]["type"]}
            for attribute in attributes:
                if attribute.variable in (None, variable):
                    event[attribute.name] = events[index][attribute.name]
                else:
                    event.setdefault(attribute.name, None)
            listed.append(event)
        result.append(place(query, events, found) | {"length": len(listed), "events": listed})
    return result


def each_rows(query: Query, events: list[Row], outputs: tuple[Aggregate, ...]) -> list[Row]:
    """RETURN EACH: aggregates of one trend, and the first and last value of a variable's events."""
    return [
        place(query, events, found) | {output.column: _of_one(output, found.trend, events) for output in outputs}
        for found in shown(query, events)
    ]


def place(query: Query, events: list[Row], found: Found) -> Row:
    """The columns of the window and of the group."""
    values = group_values(query, events, found.trend)
    return window_columns(query, found.window) | dict(zip((a.name for a in query.group_by), values, strict=True))


def _of_one(output: Aggregate, trend: Trend, events: list[Row]) -> Scalar:
    if output.function not in ("FIRST", "LAST"):
        return aggregate(output, [trend], events)
    values = [events[index][output.attribute] for index, variable in trend if variable == output.variable]
    if not values:
        return None
    return values[0] if output.function == "FIRST" else values[-1]


def _group(query: Query, events: list[Row], trend: Trend) -> tuple:
    return tuple(identity(value) for value in group_values(query, events, trend))
