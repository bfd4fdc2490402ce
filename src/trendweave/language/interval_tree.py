"""The syntax tree of interval queries. Conditions, outputs and lengths of time are those of trend queries.

`PREV(x)` is a call of the function PREV: the value of x in the partition's previous step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeAlias

from trendweave.errors import Problem
from trendweave.language.durations import refuse_zero
from trendweave.language.syntax_tree import (
    Attribute,
    Duration,
    Expression,
    LengthParameter,
    Node,
    Output,
    QueryTree,
    problem_at,
)

PREV = "PREV"
#: Allen's thirteen relations, in the order in which they appear while one interval moves over another.
RELATIONS: tuple[str, ...] = (
    "before", "meets", "overlaps", "finished-by", "contains", "starts", "equals",
    "started-by", "during", "finishes", "overlapped-by", "met-by", "after",
)  # fmt: skip
#: What a match can tell of its situations.
MATCH_AGGREGATES: tuple[str, ...] = ("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "DURATION")


@dataclass(frozen=True, slots=True)
class Situation(Node):
    """`A AS accel > 8 AT LEAST 5 seconds`. Given intervals need no condition."""

    name: str
    condition: Expression | None = None
    low: Duration | None = None
    high: Duration | None = None


def with_limits(
    situation: Situation, low: Duration | None, high: Duration | None, problems: list[Problem]
) -> Situation:
    """The situation with limits of how long it lasts. Each lasts no time at all or longer: such a limit is none."""
    if isinstance(low, LengthParameter):
        low = replace(low, may_be_zero=True)
    elif low is not None and low.nanoseconds == 0:
        low = None
    high = None if high is None else refuse_zero(high, problems)
    if low and high and low.nanoseconds and high.nanoseconds and low.nanoseconds > high.nanoseconds:
        message = "the lower limit of BETWEEN is larger than the upper one"
        problems.append(problem_at(low.span or situation.span, "TW152", message, "write the smaller length first"))
    return replace(situation, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Constraint(Node):
    """`A meets; overlaps B`: one of the relations holds. Names of relations are canonical."""

    left: str
    relations: tuple[str, ...]
    right: str


@dataclass(frozen=True, slots=True)
class IntervalColumns(Node):
    """`FROM INTERVALS (start, end, name)`: the input holds intervals, in these columns."""

    start: str = "start"
    end: str = "end"
    name: str = "name"


IntervalReturnKind: TypeAlias = OneOf["matches", "situations"]


@dataclass(frozen=True, slots=True)
class IntervalReturn(Node):
    kind: IntervalReturnKind
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True, slots=True)
class IntervalTree(Node):
    """A whole interval query. `source` is the type of the events, None for all rows."""

    source: str | IntervalColumns | None = None
    partition_by: tuple[Attribute, ...] = ()
    situations: tuple[Situation, ...] = ()
    pattern: tuple[Constraint, ...] = ()
    within: Duration | None = None
    detect_at_end: bool = False
    returns: IntervalReturn | None = None
    every: Duration | None = None


@dataclass(frozen=True, slots=True)
class SituatedTree(Node):
    """A trend query whose events lie in situations, with the situations that its conditions name:

        RETURN COUNT(*) PATTERN Stock S+
        DEFINE Busy AS volume > 1000 AT LEAST 1 minute
        WHERE [company] AND S DURING Busy AND S.price > NEXT(S).price

    `S DURING Busy` decides which events can be read as S: those with `start <= time < end` of a situation of the same
    partition, which is that of the trend. `source` is the type of the events that make situations, None for all.
    """

    trend: QueryTree
    situations: tuple[Situation, ...]
    source: str | IntervalColumns | None = None


#: The tree of a query, whatever its kind.
Tree: TypeAlias = QueryTree | IntervalTree | SituatedTree
