"""The rows of queries that show trends one by one, made from all trends (semantics, "Detection")."""

from __future__ import annotations

from .brute_force import Found, Row, Trend, complete_trends, listed_trends
from .query import Aggregate, Attribute, Query, columns, text
from .results import aggregate, group_values, window_columns
from .scalars import Scalar


def shown_text(query: Query, returned: str, choice: str = "") -> str:
    """The query with another RETURN, and with LIMIT, LONGEST or SAMPLE at its end."""
    lines = [line for line in text(query).split("\n") if not line.startswith("RETURN ")]
    return "\n".join([f"RETURN {returned}" if returned else "", *lines, choice]).strip()


def shown(query: Query, events: list[Row], complete: bool = False) -> list[Found]:
    """The trends that have rows: of each window, or, under `WITHIN w` alone, each once."""
    every = listed_trends(query, events)
    return complete_trends(every) if complete else every


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


def each_rows(query: Query, events: list[Row], outputs: tuple[Aggregate, ...], complete: bool = False) -> list[Row]:
    """RETURN [COMPLETE] EACH: aggregates of one trend, and the first and last value of a variable's events."""
    return [
        place(query, events, found) | {output.column: _of_one(output, found.trend, events) for output in outputs}
        for found in shown(query, events, complete)
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
