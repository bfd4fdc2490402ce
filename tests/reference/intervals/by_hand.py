"""Short ways to write time lines and queries, for tests written by hand.

A time line is written as `A 0-5, B 3-9, A 7-`: A holds from 0 to 5 and again from 7 on, B from 3 to 9. There is an
event at every whole second up to the last time written, and at the given extra times.
"""

from __future__ import annotations

from collections.abc import Iterable

from .conditions import Row
from .query import Column, Comparison, Constant, Constraint, Definition, Query
from .results import rows


def timeline(written: str, until: int | None = None, times: Iterable[float] | None = None) -> list[Row]:
    """Events whose column `a` is 1 while A holds and 0 while it does not, and so on; `t` repeats the time."""
    spans = []
    for part in written.split(","):
        name, span = part.split()
        start, end = span.split("-")
        spans.append((name.lower(), int(start), int(end) if end else None))
    last = max(end or start for _, start, end in spans) if until is None else until
    columns = sorted({name for name, _, _ in spans} | set("ab"))
    return [
        {
            "time": time,
            "t": time,
            **{c: int(any(n == c and s <= time and (e is None or time < e) for n, s, e in spans)) for c in columns},
        }
        for time in (range(last + 1) if times is None else times)
    ]


def define(name: str, at_least: int | None = None, at_most: int | None = None) -> Definition:
    """`A AS a = 1`"""
    return Definition(name, Comparison(Column(name.lower()), "=", Constant(1)), at_least, at_most)


def pattern(written: str, *definitions: Definition, **clauses: object) -> Query:
    """`pattern("A meets; overlaps B AND B before C")`; names that are not defined are defined as by `define`."""
    constraints = []
    for part in written.split(" AND "):
        left, *relations, right = part.replace(";", "").split()
        constraints.append(Constraint(left, tuple(relations), right))
    given = {definition.name: definition for definition in definitions}
    names = sorted({name for c in constraints for name in (c.left, c.right)} | given.keys())
    return Query(tuple(given.get(name, define(name)) for name in names), tuple(constraints), **clauses)


def found(query: Query, events: list[Row]) -> list[tuple]:
    """(time, first name's start, its end, second name's start, ...) of every row, in order of time."""
    return sorted((tuple(row.values()) for row in rows(query, events)), key=lambda row: [(v is None, v) for v in row])


def detected(query: Query, written: str, **options: object) -> list[float]:
    """The times of the rows."""
    return [row[0] for row in found(query, timeline(written, **options))]
