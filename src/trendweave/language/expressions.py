"""Scalar expressions and conditions, as nodes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias
from typing import Literal as OneOf

from trendweave.language.nodes import Node, Span, copy_node


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
class Parameter(Node):
    """`$threshold`: a value that is given when the query is run."""

    name: str


@dataclass(frozen=True, slots=True)
class LengthParameter(Duration):
    """`WITHIN $length`: a length of time that is given when the query is run."""

    name: str
    #: Whether it stands where no time at all has a meaning.
    may_be_zero: bool = field(default=False, compare=False)


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


def is_during_column(name: str) -> bool:
    """Whether a column is one that says whether an event lies in a situation."""
    return name.startswith(_DURING)


@dataclass(frozen=True, slots=True)
class NextAttribute(Node):
    """`NEXT(S).price`: the attribute of the following S."""

    variable: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreviousAttribute(Node):
    """`PREV(S).price`: the attribute of the S directly before."""

    variable: str
    names: tuple[str, ...]


class CalculatedName(str):
    """The name of a value that is calculated of each event before anything else is done with it. In a path it stands
    for a column that no table has: `expression` gives it, and attributes in that are columns of the event."""

    expression: Expression

    def __new__(cls, text: str, expression: Expression) -> CalculatedName:
        name = super().__new__(cls, text)
        name.expression = expression
        return name

    def of(self, variable: str) -> Expression:
        """What it stands for, of the events of a variable, as queries write it."""
        return _with_variable(self.expression, variable)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CalculatedName) and str.__eq__(self, other)

    def __hash__(self) -> int:
        return hash(("calculated", str(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return CalculatedName, (str(self), self.expression)


@dataclass(frozen=True, slots=True)
class Calculated(Node):
    """What an aggregate is of where that is more than an attribute: `SUM(F.x * F.y)`. All attributes are of one
    variable; where there are no variables, None."""

    expression: Expression
    variable: str | None

    @property
    def names(self) -> tuple[str, ...]:
        """As of an attribute: the variable, and a name that knows what it stands for."""
        from trendweave.language.printer import print_expression

        of_event = _without_variable(self.expression) if self.variable is not None else self.expression
        name = CalculatedName(print_expression(of_event), of_event)
        return (name,) if self.variable is None else (self.variable, name)


def _without_variable(node: Any) -> Any:
    """An expression of one event: columns for attributes of its variable."""
    if isinstance(node, Attribute):
        return Attribute(node.names[1:], span=node.span)
    return copy_node(node, _without_variable, node.span)


def _with_variable(node: Any, variable: str) -> Any:
    if isinstance(node, Attribute):
        return Attribute((variable, *node.names), span=node.span)
    return copy_node(node, lambda part: _with_variable(part, variable), node.span)


def value_at(path: tuple[str, ...]) -> Expression:
    """What stands at a path: a column, or what is calculated of columns."""
    return path[0].expression if isinstance(path[0], CalculatedName) else Attribute(path)


def columns_at(path: tuple[str, ...]) -> set[tuple[str, ...]]:
    """The columns that are read for a path."""
    return {node.names for node in value_at(path).walk() if isinstance(node, Attribute)}


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`COUNT(*)` has no argument; the function name is upper case. `FIRST(S.x)` is also written `FIRST(S).x`.

    `parameter` is the p of `PERCENTILE(S.x, p)`, and the number of the event in `S[2].x` (NTH).
    """

    function: str
    argument: Attribute | Calculated | None
    distinct: bool = False
    parameter: int | float | None = None


@dataclass(frozen=True, slots=True)
class Negative(Node):
    operand: Expression


ArithmeticOperator: TypeAlias = OneOf["+", "-", "*", "/", "%"]
ComparisonOperator: TypeAlias = OneOf["<", "<=", ">", ">=", "=", "!="]
#: What a comparison says when its sides change places.
MIRRORED: dict[ComparisonOperator, ComparisonOperator] = {
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
    "=": "=",
    "!=": "!=",
}


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
class RLike(Node):
    """The operand contains a match of a regular expression."""

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
class When(Node):
    """`WHEN condition THEN value`, a branch of CASE."""

    condition: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Case(Node):
    """`CASE WHEN ... THEN ... ELSE ... END`: the value of the first branch whose condition is true."""

    whens: tuple[When, ...]
    otherwise: Expression | None = None

    @property
    def values(self) -> tuple[Expression, ...]:
        """What it can give, in the order of the text; NULL where there is no ELSE."""
        last = Literal(None) if self.otherwise is None else self.otherwise
        return (*(when.value for when in self.whens), last)


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """`[company, P.vehicle]`."""

    attributes: tuple[Attribute, ...]


Expression: TypeAlias = (
    Literal
    | TimestampLiteral
    | DateLiteral
    | Duration
    | Parameter
    | Attribute
    | NextAttribute
    | PreviousAttribute
    | Calculated
    | Aggregate
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
    | RLike
    | Call
    | Cast
    | Case
    | Equivalence
)


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
