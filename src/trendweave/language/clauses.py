"""Clauses of trend queries, and whole ones, as nodes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from trendweave.language.expressions import Attribute, Duration, Expression
from trendweave.language.nodes import Node
from trendweave.language.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`COUNT(*)` has no argument; the function name is upper case."""

    function: str
    argument: Attribute | None


@dataclass(frozen=True, slots=True)
class Output(Node):
    value: Aggregate | Attribute
    alias: str | None = None


ReturnKind: TypeAlias = OneOf["aggregates", "each", "trends", "complete trends"]


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`attributes` are what `TRENDS(S.price)` shows of each event; without a list it is all that the query names."""

    kind: ReturnKind
    outputs: tuple[Output, ...] = ()
    attributes: tuple[Attribute, ...] = ()


ChoiceKind: TypeAlias = OneOf["limit", "longest", "sample"]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`LIMIT 10`, `LONGEST 10`, `SAMPLE 10 SEED 7`: so many trends per window and group. Only a sample has a seed."""

    kind: ChoiceKind
    count: int
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class QueryTree(Node):
    """A whole query. A query without RETURN asks for complete trends."""

    pattern: Pattern
    returns: Return | None = None
    where: tuple[Expression, ...] = ()
    group_by: tuple[Attribute, ...] = ()
    strategy: str | None = None
    within: Duration | None = None
    slide: Duration | None = None
    choice: Choice | None = None
