"""A query as plain data, and its text in the query language (semantics, all sections).

Predicates say here outright which event comes last; `text` writes them so that the language's rule about the
order of two variables gives back the same meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .pattern import And, Pattern, can_follow_all
from .pattern import text as pattern_text

ANY_MATCH = "skip-till-any-match"
NEXT_MATCH = "skip-till-next-match"
CONTIGUOUS = "contiguous"
STRATEGIES = (ANY_MATCH, NEXT_MATCH, CONTIGUOUS)

# --------------------------------------------------------------------------------------------------- scalar expressions


@dataclass(frozen=True)
class Column:
    """An attribute of the event a predicate is about. In an Edge, `later` picks the second event of the two."""

    attribute: str
    later: bool = False


@dataclass(frozen=True)
class Anchored:
    """An attribute of an earlier event of the trend: `A.x` and `LAST(A).x` of the latest a before, `FIRST(A).x` of the
    first, `PREV(A).x` of the event directly before, if that is an a."""

    which: str  # "LATEST" (written plainly), "LAST", "FIRST" or "PREV"
    variable: str
    attribute: str


@dataclass(frozen=True)
class Constant:
    value: int | float | str


@dataclass(frozen=True)
class Arithmetic:
    left: Expression
    operator: str
    right: Expression


@dataclass(frozen=True)
class Attribute:
    """`company`, which binds all events, or `P.vehicle`, which binds those read as P. For `[...]` and GROUP-BY."""

    name: str
    variable: str | None = None


LENGTH = "LENGTH"


@dataclass(frozen=True)
class Aggregate:
    """`COUNT(*)` (no variable), `COUNT(S)` (no attribute), `SUM(S.price)`; `name` is what `AS` gives it.

    Of one trend also `FIRST(S.x)`, `LAST(S.x)`, `S[2].x` (NTH), `MEDIAN(S.x)`, `PERCENTILE(S.x, 0.9)`,
    `COLLECT_LIST(S.x)`, `COLLECT_SET(S.x)` and `LENGTH`; of several, `AVG(LENGTH)`. `parameter` is the number of
    NTH and the share of PERCENTILE. In a condition on a whole match `plain` is the LAST that is written as `S.x`.
    """

    function: str
    variable: str | None = None
    attribute: str | None = None
    name: str | None = None
    plain: bool = False
    distinct: bool = False
    parameter: int | float | None = None

    @property
    def column(self) -> str:
        if self.name is not None:
            return self.name
        return "_".join(part for part in (self.function.lower(), self.variable, self.attribute) if part is not None)


COUNT_ALL = Aggregate("COUNT")

Leaf = Column | Anchored | Aggregate | Attribute
Expression = Leaf | Constant | Arithmetic


def columns(expression: Expression) -> Iterator[Leaf]:
    """The columns of an expression, in the order in which they are written."""
    match expression:
        case Column() | Anchored() | Aggregate() | Attribute():
            yield expression
        case Arithmetic(left=left, right=right):
            yield from columns(left)
            yield from columns(right)


# ----------------------------------------------------------------------------------------------------------- predicates


@dataclass(frozen=True)
class Local:
    """`S.volume > 100`: decides which events can be read as the variable."""

    variable: str
    left: Expression
    comparison: str
    right: Expression


@dataclass(frozen=True)
class Edge:
    """`S.price > NEXT(S).price`: holds for each s directly followed by an s."""

    variable: str
    left: Expression
    comparison: str
    right: Expression


@dataclass(frozen=True)
class Anchor:
    """`A.x < B.y`, `FIRST(S).x < S.x`: holds for each event of the variable before which all anchors exist.

    Columns are the event's own, the others are anchors.
    """

    variable: str
    left: Expression
    comparison: str
    right: Expression

    def anchors(self) -> list[Anchored]:
        return [c for side in (self.left, self.right) for c in columns(side) if isinstance(c, Anchored)]


@dataclass(frozen=True)
class Whole:
    """`SUM(S.v) < 1000`, `FIRST(A).x < LAST(B).x`: chooses among whole matches."""

    left: Expression
    comparison: str
    right: Expression


Predicate = Local | Edge | Anchor | Whole

MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


# ----------------------------------------------------------------------------------------------- windows and aggregates


@dataclass(frozen=True)
class Sliding:
    """`WITHIN w SLIDE s`, in seconds."""

    within: int
    slide: int


@dataclass(frozen=True)
class Moving:
    """`WITHIN w` alone, in seconds: the window moves with the stream."""

    within: int


@dataclass(frozen=True)
class Session:
    """`WITHIN SESSION g`, in seconds: a window ends with a pause of g in its partition."""

    gap: int


@dataclass(frozen=True)
class Calculated:
    """`SUM(P.x) / COUNT(*) AS mean`: an output that is calculated from aggregates and the group's attributes."""

    value: Expression
    name: str

    @property
    def column(self) -> str:
        return self.name


Output = Aggregate | Calculated


@dataclass(frozen=True)
class Having:
    """`COUNT(*) > 3`: chooses among rows."""

    left: Expression
    comparison: str
    right: Expression


@dataclass(frozen=True)
class Order:
    """`COUNT(*) DESC`: NULL is the smallest value, NaN the largest, as in Spark SQL."""

    value: Expression
    descending: bool = False


@dataclass(frozen=True)
class AfterMatch:
    """`AFTER MATCH SKIP PAST LAST EVENT | TO NEXT EVENT | TO FIRST S | TO LAST S`"""

    kind: str  # "past last", "next", "first" or "last"
    variable: str | None = None


@dataclass(frozen=True)
class Query:
    pattern: Pattern
    aggregates: tuple[Output, ...] = (COUNT_ALL,)
    predicates: tuple[Predicate, ...] = ()
    equivalence: tuple[Attribute, ...] = ()
    group_by: tuple[Attribute, ...] = ()
    window: Sliding | Moving | Session | None = None
    strategy: str = ANY_MATCH
    complete: bool = False
    after_match: AfterMatch | None = None
    per_start: str | None = None  # "longest" or "shortest"
    having: tuple[Having, ...] = ()
    order_by: tuple[Order, ...] = ()
    limit: int | None = None

    def chooses(self) -> bool:
        """Is the query about some of the trends only?"""
        conditions = any(isinstance(predicate, Whole) for predicate in self.predicates)
        return self.complete or conditions or self.after_match is not None or self.per_start is not None

    def __post_init__(self) -> None:
        if self.after_match is not None or self.per_start is not None:
            assert self.strategy != ANY_MATCH, "trends are chosen of those of a stricter strategy"
        if isinstance(self.pattern, And):
            assert self.aggregates == (COUNT_ALL,), "a conjunction is for COUNT(*) only"
            assert all(a.variable is None for a in self.group_by), (
                "a conjunction has no groups by one variable's events"
            )
        names = self.column_names()
        assert len(names) == len(set(names)), f"two columns of the result have the same name: {names}"

    def column_names(self) -> list[str]:
        """The columns of the result, in order (semantics, "Groups and results")."""
        first = ["time"] if isinstance(self.window, Moving) else ["window_start", "window_end"]
        return first + [attribute.name for attribute in self.group_by] + [a.column for a in self.aggregates]


# ----------------------------------------------------------------------------------------------------------------- text


def text(query: Query) -> str:
    """The whole query in the query language, one clause per line."""
    returned = [_attribute_text(attribute) for attribute in query.group_by]
    returned += [output_text(output) for output in query.aggregates]
    complete = "COMPLETE " if query.complete else ""
    lines = [f"RETURN {complete}{', '.join(returned)}", f"PATTERN {pattern_text(query.pattern)}"]
    if query.strategy != ANY_MATCH:
        lines.append(f"SEMANTICS {query.strategy}")
    conditions = []
    if query.equivalence:
        conditions.append(f"[{', '.join(_attribute_text(attribute) for attribute in query.equivalence)}]")
    conditions += [predicate_text(predicate, query.pattern) for predicate in query.predicates]
    if conditions:
        lines.append(f"WHERE {' AND '.join(conditions)}")
    if query.group_by:
        lines.append(f"GROUP-BY {', '.join(_attribute_text(attribute) for attribute in query.group_by)}")
    match query.window:
        case Sliding(within=within, slide=slide):
            lines.append(f"WITHIN {_duration(within)} SLIDE {_duration(slide)}")
        case Moving(within=within):
            lines.append(f"WITHIN {_duration(within)}")
        case Session(gap=gap):
            lines.append(f"WITHIN SESSION {_duration(gap)}")
    match query.after_match:
        case AfterMatch(kind="past last"):
            lines.append("AFTER MATCH SKIP PAST LAST EVENT")
        case AfterMatch(kind="next"):
            lines.append("AFTER MATCH SKIP TO NEXT EVENT")
        case AfterMatch(kind=kind, variable=variable):
            lines.append(f"AFTER MATCH SKIP TO {kind.upper()} {variable}")
    if query.per_start is not None:
        lines.append(f"{query.per_start.upper()} PER START")
    if query.having:
        lines.append("HAVING " + " AND ".join(predicate_text(condition, query.pattern) for condition in query.having))
    if query.order_by:
        items = [_side(order.value, None) + (" DESC" if order.descending else "") for order in query.order_by]
        lines.append(f"ORDER BY {', '.join(items)}")
    if query.limit is not None:
        lines.append(f"LIMIT {query.limit}")
    return "\n".join(lines)


def _duration(seconds: int) -> str:
    return "1 second" if seconds == 1 else f"{seconds} seconds"


def predicate_text(predicate: Predicate | Having, pattern: Pattern) -> str:
    if isinstance(predicate, Anchor) and not order_is_understood(predicate, pattern):
        predicate = mirrored(predicate)
        if not order_is_understood(predicate, pattern):
            raise ValueError(f"no text says this of variables that can come in either order: {predicate}")
    return f"{_side(predicate.left, predicate)} {predicate.comparison} {_side(predicate.right, predicate)}"


def mirrored(predicate: Anchor) -> Anchor:
    return Anchor(predicate.variable, predicate.right, MIRRORED[predicate.comparison], predicate.left)


def order_is_understood(condition: Anchor, pattern: Pattern) -> bool:
    """Semantics: the variable written first is the earlier event, unless the pattern allows only the other order.

    So a condition is about the variable written last, unless only another can come last.
    """
    written: list[str] = []
    for column in [*columns(condition.left), *columns(condition.right)]:
        plain = condition.variable if isinstance(column, Column) else column.variable
        if (isinstance(column, Column) or column.which == "LATEST") and plain not in written:
            written.append(plain)
    marked = {anchor.variable for anchor in condition.anchors() if anchor.which != "LATEST"}
    can_be_last = [
        variable
        for variable in written
        if can_follow_all(pattern, variable, frozenset(marked | {other for other in written if other != variable}))
    ]
    return condition.variable in can_be_last and (
        condition.variable == written[-1] or can_be_last == [condition.variable]
    )


def _side(expression: Expression, predicate: Predicate | Having | None) -> str:
    match expression:
        case Constant(value=str() as value):
            return "'" + value.replace("'", "''") + "'"
        case Constant(value=value):
            return repr(value)
        case Column(attribute=attribute, later=True):
            return f"NEXT({predicate.variable}).{attribute}"
        case Column(attribute=attribute):
            return f"{predicate.variable}.{attribute}"
        case Anchored(which="LATEST", variable=variable, attribute=attribute):
            return f"{variable}.{attribute}"
        case Anchored(which=which, variable=variable, attribute=attribute):
            return f"{which}({variable}).{attribute}"
        case Aggregate(plain=True, variable=variable, attribute=attribute):
            return f"{variable}.{attribute}"
        case Aggregate():
            return output_text(expression)
        case Attribute():
            return _attribute_text(expression)
        case Arithmetic(left=left, operator=operator, right=right):
            return f"{_operand(left, predicate)} {operator} {_operand(right, predicate)}"
    raise TypeError(expression)


def _operand(expression: Expression, predicate: Predicate | Having | None) -> str:
    """Brackets round every calculation inside another, so that no rule of precedence is needed."""
    written = _side(expression, predicate)
    return f"({written})" if isinstance(expression, Arithmetic) else written


def _attribute_text(attribute: Attribute) -> str:
    return attribute.name if attribute.variable is None else f"{attribute.variable}.{attribute.name}"


def output_text(output: Output) -> str:
    match output:
        case Calculated(value=value):
            written = _side(value, None)
        case Aggregate(function="LENGTH"):
            written = LENGTH
        case Aggregate(function=function, variable=None):
            written = f"{function}({output.attribute or '*'})"
        case Aggregate(function=function, variable=variable, attribute=None):
            written = f"{function}({variable})"
        case Aggregate(function="NTH", variable=variable, attribute=attribute, parameter=number):
            written = f"{variable}[{number}].{attribute}"
        case Aggregate(function="PERCENTILE", variable=variable, attribute=attribute, parameter=share):
            written = f"PERCENTILE({variable}.{attribute}, {share})"
        case Aggregate(function=function, variable=variable, attribute=attribute, distinct=distinct):
            written = f"{function}({'DISTINCT ' if distinct else ''}{variable}.{attribute})"
    return written if output.name is None else f"{written} AS {output.name}"
