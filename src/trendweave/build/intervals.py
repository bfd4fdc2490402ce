"""Interval queries from Python, without text.

>>> from trendweave.build import attr
>>> from trendweave.build.intervals import avg, define, query, relate
>>> aggressive = query(
...     define("A", attr("accel") > 8, at_least="5 seconds"),
...     define("B", attr("speed") > 70),
...     pattern=[relate("A", "meets", "overlaps", "B")],
...     source="CarSensors", partition_by=["car_id"], within="5 minutes",
...     returns=["car_id", avg("B.speed")],
... )
>>> print(aggressive)
FROM CarSensors PARTITION BY car_id
DEFINE A AS accel > 8 AT LEAST 5 seconds,
       B AS speed > 70
PATTERN A meets; overlaps B
WITHIN 5 minutes
RETURN car_id, AVG(B.speed)
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from trendweave.build.queries import Scalar, avg, count, first, last, length_of, lit, maximum, minimum, output_of, total
from trendweave.errors import LanguageError, Problem, near_names, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.interval_printer import print_intervals
from trendweave.language.interval_tree import (
    PREV,
    Constraint,
    IntervalColumns,
    IntervalReturn,
    IntervalTree,
    Situation,
)
from trendweave.language.relations import RELATIONS
from trendweave.queries import Query, make_query

__all__ = [
    "avg", "count", "define", "duration", "first", "given", "last", "maximum", "minimum", "prev", "query", "relate",
    "situations", "total",
]  # fmt: skip


def prev(value: Scalar) -> Scalar:
    """`prev(attr("accel"))` is PREV(accel): the value in the partition's previous step."""
    return Scalar(st.Call(PREV, (lit(value).tree,)))


def define(
    name: str,
    condition: Scalar | None = None,
    *,
    at_least: str | timedelta | None = None,
    at_most: str | timedelta | None = None,
) -> Situation:
    problems: list[Problem] = []
    low, high = length_of(at_least, problems), length_of(at_most, problems)
    if low is not None and high is not None and (low.nanoseconds or 0) > (high.nanoseconds or 0):
        problems.append(Problem("TW152", "BETWEEN begins above its end", "write the smaller length first"))
    raise_problems(problems)
    return Situation(name, None if condition is None else condition.tree, low, high)


def relate(left: str, *relations_and_right: str) -> Constraint:
    """`relate("A", "meets", "overlaps", "B")`: A meets or overlaps B."""
    *relations, right = relations_and_right
    for name in relations:
        if name not in RELATIONS:
            hint = near_names(name, RELATIONS) or f"the relations are {', '.join(RELATIONS)}"
            raise LanguageError([Problem("TW151", f"unknown relation {name}", hint)])
    if not relations:
        raise LanguageError([Problem("TW151", "a constraint needs a relation", f"one of {', '.join(RELATIONS)}")])
    return Constraint(left, tuple(name for name in RELATIONS if name in relations), right)


def given(start: str = "start", end: str = "end", name: str = "name") -> IntervalColumns:
    """FROM INTERVALS: the input holds intervals, in these columns."""
    return IntervalColumns(start, end, name)


def duration(name: str, alias: str | None = None) -> st.Output:
    return st.Output(st.Aggregate("DURATION", st.Attribute((name,))), alias)


def situations() -> IntervalReturn:
    """RETURN SITUATIONS."""
    return IntervalReturn("situations")


def query(
    *defined: Situation,
    pattern: Iterable[Constraint] = (),
    source: str | IntervalColumns | None = None,
    partition_by: Iterable[str] = (),
    within: str | timedelta | None = None,
    detect_at_end: bool = False,
    returns: IntervalReturn | Iterable[st.Output | str] | None = None,
    every: str | timedelta | None = None,
) -> Query:
    """Check and plan a query. `returns` is a list of outputs, or what `situations` gives."""
    problems: list[Problem] = []
    if returns is not None and not isinstance(returns, IntervalReturn):
        returns = IntervalReturn("matches", tuple(map(output_of, returns)))
    tree = IntervalTree(
        source=source,
        partition_by=tuple(st.Attribute(tuple(name.split("."))) for name in partition_by),
        situations=defined,
        pattern=tuple(pattern),
        within=length_of(within, problems),
        detect_at_end=detect_at_end,
        returns=returns,
        every=length_of(every, problems),
    )
    raise_problems(problems)
    return make_query(tree, problems, print_intervals(tree))
