"""Patterns and clauses of trend queries, and whole ones, as nodes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from trendweave.language.expressions import Attribute, Duration, Expression
from trendweave.language.nodes import Node

#: What stands for every type in a pattern, where it is not in back quotes; `_` is another way to write it.
ANY = "ANY"


def means_any(type_: str) -> bool:
    """Is a name without back quotes one that stands for every type?"""
    return type_.upper() == ANY or type_ == "_"


def type_text(type_: str | None) -> str:
    """The type of a variable for people."""
    return "any" if type_ is None else type_


@dataclass(frozen=True, slots=True)
class EventPattern(Node):
    """`Stock S`; without a variable the type names it. `ANY X` has no type (None) and reads events of every type."""

    type: str | None
    variable: str | None = None

    @property
    def name(self) -> str:
        return (self.type or ANY) if self.variable is None else self.variable


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """`body{low,high}`; `+` is (1, None), `*` is (0, None), `?` is (0, 1)."""

    body: Pattern
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Alternatives(Node):
    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Conjunction(Node):
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Negation(Node):
    body: Pattern


Pattern: TypeAlias = EventPattern | Sequence | Repeat | Alternatives | Conjunction | Negation


@dataclass(frozen=True, slots=True)
class Output(Node):
    value: Expression
    alias: str | None = None


ReturnKind: TypeAlias = OneOf["aggregates", "each", "trends", "rows"]


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`attributes` are what `TRENDS(S.price)` shows of each event; without a list it is all that the query names.
    `complete`: only of trends that are no part of a longer one."""

    kind: ReturnKind
    outputs: tuple[Output, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    complete: bool = False


ChoiceKind: TypeAlias = OneOf["limit", "longest", "sample"]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`LIMIT 10`, `LONGEST 10`, `SAMPLE 10 SEED 7`: so many trends per window and group. Only a sample has a seed."""

    kind: ChoiceKind
    count: int
    seed: int | None = None


AfterMatchKind: TypeAlias = OneOf["past last", "next", "first", "last"]
PerStart: TypeAlias = OneOf["longest", "shortest"]


@dataclass(frozen=True, slots=True)
class AfterMatch(Node):
    """`AFTER MATCH SKIP ...`: where the next match may begin. `TO FIRST S` and `TO LAST S` name a variable."""

    kind: AfterMatchKind
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class OrderItem(Node):
    value: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class QueryTree(Node):
    """A whole query. A query without RETURN asks for complete trends. With `session`, `within` is the gap that ends a
    window."""

    pattern: Pattern
    returns: Return | None = None
    where: tuple[Expression, ...] = ()
    group_by: tuple[Attribute, ...] = ()
    strategy: str | None = None
    within: Duration | None = None
    slide: Duration | None = None
    choice: Choice | None = None
    session: bool = False
    after_match: AfterMatch | None = None
    per_start: PerStart | None = None
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()

    @property
    def return_kind(self) -> ReturnKind:
        return "trends" if self.returns is None else self.returns.kind

    @property
    def complete(self) -> bool:
        return self.returns is None or self.returns.complete
