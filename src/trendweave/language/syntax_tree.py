"""The syntax tree: frozen nodes that compare by content; where a node stands in the text does not count.

Names are kept as written and resolved by the planner. `parse(print(tree)) == tree` for every tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Literal as OneOf
from typing import TypeAlias

from trendweave.errors import LanguageError, Problem

MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the query text. Lines and columns count from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes share: a place in the text, and a depth that is never above the limit."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)
    depth: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max((child.depth for child in self.children()), default=0)
        if depth > MAX_DEPTH:
            raise LanguageError([too_deep(self.span)])
        object.__setattr__(self, "depth", depth)

    def children(self) -> Iterator[Node]:
        for name in parts_of(type(self)):
            value = getattr(self, name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, in the order of the text."""
        yield self
        for child in self.children():
            yield from child.walk()


_PARTS: dict[type, tuple[str, ...]] = {}


def parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields that make a node what it is, in the order of the text."""
    if kind not in _PARTS:
        _PARTS[kind] = tuple(spec.name for spec in fields(kind) if spec.name not in ("span", "depth", "situation_span"))
    return _PARTS[kind]


def too_deep(span: Span | None) -> Problem:
    return problem_at(
        span,
        "TW103",
        f"the query is nested more than {MAX_DEPTH} levels deep",
        "split it, or write repetition with a quantifier such as {2,5}",
    )


def problem_at(span: Span | None, code: str, message: str, hint: str = "") -> Problem:
    """A problem placed at a span of the text, or nowhere for a tree that was built without text."""
    if span is None:
        return Problem(code, message, hint)
    return Problem(code, message, hint, span.line, span.column, max(1, span.end - span.start))


# Patterns


@dataclass(frozen=True, slots=True)
class EventPattern(Node):
    """`Stock S`; without a variable the type names it."""

    type: str
    variable: str | None = None

    @property
    def name(self) -> str:
        return self.type if self.variable is None else self.variable


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

# Scalar expressions


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """NULL, a boolean, a whole number, a float or a string."""

    value: bool | int | float | str | None

    def __eq__(self, other: object) -> bool:
        # Python holds 1 == 1.0 == True; the language does not.
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class TimestampLiteral(Node):
    """A moment, in microseconds since the Unix epoch; text without an offset is UTC."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class DateLiteral(Node):
    """A day, in days since the Unix epoch."""

    days: int


@dataclass(frozen=True, slots=True)
class Duration(Node):
    """A length of time. `None` stands for one that could not be read; a problem was reported for it."""

    nanoseconds: int | None


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """A dotted name: `price`, `S.price`, `S.address.city`."""

    names: tuple[str, ...]


#: How the column is called that says whether an event lies in a situation. No query names such a column by accident.
_DURING = "during "


@dataclass(frozen=True, slots=True)
class During(Attribute):
    """`S DURING Busy`: the events read as S lie in a situation.

    For everything after the language it is an attribute like others: a boolean column of the event, which whoever
    runs the query fills in.
    """

    situation_span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @classmethod
    def of(
        cls, variable: str, situation: str, *, span: Span | None = None, situation_span: Span | None = None
    ) -> During:
        return cls((variable, during_column(situation)), span=span, situation_span=situation_span)

    @property
    def variable(self) -> str:
        return self.names[0]

    @property
    def situation(self) -> str:
        return self.names[1].removeprefix(_DURING)


def during_column(situation: str) -> str:
    """The column of an event that says whether it lies in such a situation."""
    return _DURING + situation


@dataclass(frozen=True, slots=True)
class NextAttribute(Node):
    """`NEXT(S).price`: the attribute of the following S."""

    variable: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Negative(Node):
    operand: Expression


ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "%"]
ComparisonOperator: TypeAlias = OneOf["<", "<=", ">", ">=", "=", "!="]


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class AllOf(Node):
    """AND. Never directly inside another AllOf."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    """OR. Never directly inside another AnyOf."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Inverse(Node):
    """NOT of a condition."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class InList(Node):
    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Node):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    operand: Expression
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A scalar function; the name is upper case."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """CAST(operand AS type); the type is upper case."""

    operand: Expression
    type: str


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """`[company, P.vehicle]`."""

    attributes: tuple[Attribute, ...]


Expression: TypeAlias = (
    Literal
    | TimestampLiteral
    | DateLiteral
    | Duration
    | Attribute
    | NextAttribute
    | Negative
    | Arithmetic
    | Comparison
    | AllOf
    | AnyOf
    | Inverse
    | InList
    | Between
    | IsNull
    | Like
    | Call
    | Cast
    | Equivalence
)

# Clauses


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


def all_of(parts: tuple[Expression, ...], span: Span | None = None) -> Expression:
    """AND of parts, flattened; one part is itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,)))
    return flat[0] if len(flat) == 1 else AllOf(flat, span=span)


def any_of(parts: tuple[Expression, ...], span: Span | None = None) -> Expression:
    """OR of parts, flattened; one part is itself."""
    flat = tuple(inner for part in parts for inner in (part.parts if isinstance(part, AnyOf) else (part,)))
    return flat[0] if len(flat) == 1 else AnyOf(flat, span=span)


def negative(operand: Expression, span: Span | None = None) -> Expression:
    """Minus of an expression; of a number it is the number below zero."""
    if isinstance(operand, Literal) and type(operand.value) in (int, float):
        assert isinstance(operand.value, int | float)
        return Literal(-operand.value, span=span)
    return Negative(operand, span=span)
