"""Build interval queries in Python.

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

from trendweave.build.arguments import (
    check_all,
    check_flag,
    check_optional_text,
    check_text,
    read_attributes,
    read_length,
    refuse,
)
from trendweave.build.outputs import avg, count, first, last, maximum, minimum, read_outputs, total
from trendweave.build.scalars import Scalar, lit
from trendweave.errors import LanguageError, Problem, near_names, raise_problems
from trendweave.language import syntax_tree as st
from trendweave.language.interval_printer import print_intervals
from trendweave.language.interval_tree import (
    PREV,
    RELATIONS,
    Constraint,
    IntervalColumns,
    IntervalReturn,
    IntervalTree,
    Situation,
    with_limits,
)
from trendweave.queries import Query, make_query

__all__ = [
    "avg", "count", "define", "duration", "first", "given", "last", "maximum", "minimum", "prev", "query", "relate",
    "situations", "total",
]  # fmt: skip


_LIST = 'give names of relations, as in relate("A", ["meets", "overlaps"], "B")'


def prev(value: Scalar) -> Scalar:
    """The value in the partition's previous step: `prev(attr("accel"))` is `PREV(accel)`.

    Args:
        value: An expression over columns.

    Raises:
        ArgumentError: A query has no literal for such a value.
    """
    return Scalar(st.Call(PREV, (lit(value).tree,)))


def define(
    name: str,
    condition: Scalar | None = None,
    *,
    at_least: str | timedelta | None = None,
    at_most: str | timedelta | None = None,
) -> Situation:
    """A situation: `define("A", attr("accel") > 8, at_least="5 seconds")`.

    Args:
        name: Its name.
        condition: The condition that holds during the situation; None for given intervals.
        at_least: Its minimum length.
        at_most: Its maximum length.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: A duration has no meaning, or both are in the wrong order.
    """
    problems: list[Problem] = []
    check_text(name, "define: name")
    if condition is not None and not isinstance(condition, Scalar):
        raise refuse("define: condition", condition, "a condition", "write for example attr('accel') > 8")
    low = read_length(at_least, "define: at_least", problems, may_be_zero=True)
    high = read_length(at_most, "define: at_most", problems)
    situation = with_limits(Situation(name, None if condition is None else condition.tree), low, high, problems)
    raise_problems(problems)
    return situation


def relate(left: str, relations: str | Iterable[str], right: str, *more: str) -> Constraint:
    """A constraint: one of the relations holds between two situations: `relate("A", ["meets", "overlaps"], "B")`.

    Args:
        left: A situation.
        relations: A relation, or a list of them.
        right: Another situation.
        *more: Relations may also be given one by one, followed by the other situation:
            `relate("A", "meets", "overlaps", "B")`.

    Raises:
        ArgumentError: An argument has a wrong type.
        LanguageError: A relation is unknown or missing.
    """
    names = [relations] if isinstance(relations, str) else list(check_all(relations, str, "relate: relations", _LIST))
    *others, right = (right, *more)
    names = ["-".join(name.lower().replace("_", " ").replace("-", " ").split()) for name in (*names, *_texts(others))]
    for name in names:
        if name not in RELATIONS:
            hint = near_names(name, RELATIONS) or f"the relations are {', '.join(RELATIONS)}"
            raise LanguageError([Problem("TW151", f"unknown relation {name}", hint)])
    if not names:
        raise LanguageError([Problem("TW151", "a constraint needs a relation", f"one of {', '.join(RELATIONS)}")])
    left, right = check_text(left, "relate: left"), check_text(right, "relate: right")
    return Constraint(left, tuple(name for name in RELATIONS if name in names), right)


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(check_text(value, "relate: relations", _LIST) for value in values)


def given(start: str = "start", end: str = "end", name: str = "name") -> IntervalColumns:
    """FROM INTERVALS: the input holds intervals.

    Args:
        start: The column of their starts.
        end: The column of their ends.
        name: The column of their names.

    Raises:
        ArgumentError: A name is not a string.
    """
    return IntervalColumns(*(check_text(column, "given: column") for column in (start, end, name)))


def duration(name: str, alias: str | None = None) -> st.Output:
    """The duration of a situation of the match: `DURATION(A)`.

    Args:
        name: The situation.
        alias: The name of the column.

    Raises:
        ArgumentError: An argument is not a string.
    """
    argument = st.Attribute((check_text(name, "duration: name"),))
    return st.Output(st.Aggregate("DURATION", argument), check_optional_text(alias, "duration: alias"))


def situations() -> IntervalReturn:
    """RETURN SITUATIONS: the situations themselves instead of matches."""
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
    """Check and plan an interval query.

    Args:
        *defined: Situations, made by `define`.
        pattern: Constraints, made by `relate`.
        source: The type of the events, or the result of `given`; by default all rows are events.
        partition_by: The partition keys.
        within: The maximum time from the first start of a match to its detection.
        detect_at_end: Report a match when its last situation has ended, not as soon as it is certain.
        returns: A list of outputs and names of partition columns, or the result of `situations`.
        every: The slide of the windows of counts.

    Returns:
        The same query as from its text.

    Raises:
        ArgumentError: An argument has a wrong type.
        TrendweaveError: The query has no meaning, or cannot be planned; all problems together.
    """
    problems: list[Problem] = []
    if returns is not None and not isinstance(returns, IntervalReturn):
        returns = IntervalReturn("matches", read_outputs(returns, "returns"))
    if source is not None and not isinstance(source, IntervalColumns):
        check_text(source, "query: source", "name the type of the events, or give given()")
    tree = IntervalTree(
        source=source,
        partition_by=read_attributes(partition_by, "partition_by"),
        situations=check_all(defined, Situation, "query", 'give situations: define("A", attr("x") > 8)'),
        pattern=check_all(pattern, Constraint, "pattern", 'give a list: pattern=[relate("A", "before", "B")]'),
        within=read_length(within, "query: within", problems),
        detect_at_end=check_flag(detect_at_end, "query: detect_at_end"),
        returns=returns,
        every=read_length(every, "query: every", problems),
    )
    raise_problems(problems)
    return make_query(tree, problems, print_intervals(tree))
