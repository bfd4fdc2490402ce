"""An interval query as plain data, and its text in the query language."""

from __future__ import annotations

from dataclasses import dataclass

# ----------------------------------------------------------------------------------------------------------- conditions


@dataclass(frozen=True)
class Column:
    """An attribute of the event that a condition is about."""

    attribute: str


@dataclass(frozen=True)
class Previous:
    """`PREV(x)`: the attribute of the partition's previous event."""

    attribute: str


@dataclass(frozen=True)
class Constant:
    value: int | float | str


@dataclass(frozen=True)
class Arithmetic:
    left: Expression
    operator: str
    right: Expression


Expression = Column | Previous | Constant | Arithmetic


@dataclass(frozen=True)
class Comparison:
    left: Expression
    comparison: str
    right: Expression


@dataclass(frozen=True)
class IsNull:
    operand: Expression
    negated: bool = False


@dataclass(frozen=True)
class Not:
    operand: Condition


@dataclass(frozen=True)
class Both:
    left: Condition
    right: Condition


@dataclass(frozen=True)
class Either:
    left: Condition
    right: Condition


Condition = Comparison | IsNull | Not | Both | Either


# ---------------------------------------------------------------------------------------------- definitions and pattern


@dataclass(frozen=True)
class Definition:
    """`A AS accel > 8 AT LEAST 5 seconds`. Bounds are in seconds, both are allowed lengths themselves.

    Of a query FROM INTERVALS there is no condition: the name is that of the user's intervals.
    """

    name: str
    condition: Condition | None = None
    at_least: int | None = None
    at_most: int | None = None


@dataclass(frozen=True)
class Constraint:
    """`A meets; overlaps B`: one of the relations holds."""

    left: str
    relations: tuple[str, ...]
    right: str


# -------------------------------------------------------------------------------------------------------------- returns

FUNCTIONS = ("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX", "DURATION")


@dataclass(frozen=True)
class Aggregate:
    """`AVG(B.speed)`; `COUNT(B)` and `DURATION(B)` without an attribute; `COUNT(*)` without a name either."""

    function: str
    name: str | None = None
    attribute: str | None = None
    renamed: str | None = None

    @property
    def column(self) -> str:
        if self.renamed is not None:
            return self.renamed
        return "_".join(part for part in (self.function.lower(), self.name, self.attribute) if part is not None)


COUNT_ALL = Aggregate("COUNT")


@dataclass(frozen=True)
class PartitionAttribute:
    """`car_id`, one of the attributes of PARTITION BY."""

    attribute: str
    renamed: str | None = None

    @property
    def column(self) -> str:
        return self.attribute if self.renamed is None else self.renamed


Return = Aggregate | PartitionAttribute


# ---------------------------------------------------------------------------------------------------------------- query


@dataclass(frozen=True)
class Query:
    definitions: tuple[Definition, ...]
    constraints: tuple[Constraint, ...] = ()
    within: int | None = None
    partition_by: tuple[str, ...] = ()
    returns: tuple[Return, ...] = ()
    at_end: bool = False
    every: int | None = None
    return_situations: bool = False
    from_intervals: bool = False
    source: str = "Readings"

    def __post_init__(self) -> None:
        names = [definition.name for definition in self.definitions]
        assert len(names) == len(set(names)), f"a name is defined twice: {names}"
        for definition in self.definitions:
            assert (definition.condition is None) == self.from_intervals, definition
        for constraint in self.constraints:
            assert constraint.left != constraint.right, f"a name related to itself: {constraint}"
            assert {constraint.left, constraint.right} <= set(names), f"a name nobody defines: {constraint}"
            assert constraint.relations, constraint
        assert (self.every is not None) == (COUNT_ALL in self.returns), "COUNT(*) and EVERY belong together"
        if self.every is not None:
            assert self.within is not None, "EVERY needs the length of the window"
            assert 0 < self.every <= self.within, "windows would leave times out"
        for returned in self.returns:
            self._check_returned(returned, names)
        columns = self.column_names()
        assert len(columns) == len(set(columns)), f"two columns of the result have the same name: {columns}"

    def _check_returned(self, returned: Return, names: list[str]) -> None:
        assert not self.return_situations, "situations have columns of their own"
        if isinstance(returned, PartitionAttribute):
            assert returned.attribute in self.partition_by, returned
            return
        assert returned.function in FUNCTIONS, returned
        if self.every is not None:
            assert returned == COUNT_ALL, f"only matches are counted per window: {returned}"
            return
        assert returned.name in names, returned
        if returned.function == "DURATION":
            assert returned.attribute is None, returned
            return
        assert not self.from_intervals, f"an interval has no events: {returned}"
        assert returned.attribute is not None or returned.function == "COUNT", returned

    def column_names(self) -> list[str]:
        """The columns of the result, in order."""
        if self.return_situations:
            return [*self.partition_by, "name", "start", "end"]
        if self.every is not None:
            first = ["window_start", "window_end"]
        else:
            first = ["time"]
            for definition in self.definitions:
                first += [f"{definition.name}_start", f"{definition.name}_end"]
        return first + [returned.column for returned in self.returns]


# ----------------------------------------------------------------------------------------------------------------- text


def text(query: Query) -> str:
    """The whole query in the query language, one clause per line. What is not there is not written."""
    source = "FROM INTERVALS" if query.from_intervals else f"FROM {query.source}"
    lines = [f"{source} PARTITION BY {', '.join(query.partition_by)}" if query.partition_by else source]
    written = [definition_text(d) for d in query.definitions if d != Definition(d.name)]
    if written:
        lines.append("DEFINE " + ",\n       ".join(written))
    if query.constraints:
        lines.append("PATTERN " + "\n    AND ".join(constraint_text(constraint) for constraint in query.constraints))
    if query.within is not None:
        lines.append(f"WITHIN {_seconds(query.within)}")
    if query.at_end:
        lines.append("DETECT AT END")
    if query.return_situations:
        lines.append("RETURN SITUATIONS")
    elif query.returns:
        lines.append(f"RETURN {', '.join(_return_text(returned) for returned in query.returns)}")
    if query.every is not None:
        lines.append(f"EVERY {_seconds(query.every)}")
    return "\n".join(lines)


def definition_text(definition: Definition) -> str:
    written = definition.name
    if definition.condition is not None:
        written += f" AS {condition_text(definition.condition)}"
    match definition:
        case Definition(at_least=None, at_most=None):
            return written
        case Definition(at_least=low, at_most=None):
            return f"{written} AT LEAST {_seconds(low)}"
        case Definition(at_least=None, at_most=high):
            return f"{written} AT MOST {_seconds(high)}"
        case Definition(at_least=low, at_most=high):
            return f"{written} BETWEEN {_seconds(low)} AND {_seconds(high)}"


def constraint_text(constraint: Constraint) -> str:
    return f"{constraint.left} {'; '.join(constraint.relations)} {constraint.right}"


def condition_text(condition: Condition) -> str:
    """Brackets round every condition inside another, so that no rule of precedence is needed."""
    match condition:
        case Comparison(left=left, comparison=comparison, right=right):
            return f"{expression_text(left)} {comparison} {expression_text(right)}"
        case IsNull(operand=operand, negated=negated):
            return f"{expression_text(operand)} IS {'NOT ' if negated else ''}NULL"
        case Not(operand=operand):
            return f"NOT ({condition_text(operand)})"
        case Both(left=left, right=right):
            return f"({condition_text(left)}) AND ({condition_text(right)})"
        case Either(left=left, right=right):
            return f"({condition_text(left)}) OR ({condition_text(right)})"
    raise TypeError(condition)


def expression_text(expression: Expression) -> str:
    match expression:
        case Column(attribute=attribute):
            return attribute
        case Previous(attribute=attribute):
            return f"PREV({attribute})"
        case Constant(value=str() as value):
            return "'" + value.replace("'", "''") + "'"
        case Constant(value=value):
            return repr(value)
        case Arithmetic(left=left, operator=operator, right=right):
            return f"({expression_text(left)} {operator} {expression_text(right)})"
    raise TypeError(expression)


def _return_text(returned: Return) -> str:
    match returned:
        case PartitionAttribute(attribute=attribute):
            written = attribute
        case Aggregate(function=function, name=None):
            written = f"{function}(*)"
        case Aggregate(function=function, name=name, attribute=None):
            written = f"{function}({name})"
        case Aggregate(function=function, name=name, attribute=attribute):
            written = f"{function}({name}.{attribute})"
    return written if returned.renamed is None else f"{written} AS {returned.renamed}"


def _seconds(length: int) -> str:
    return "1 second" if length == 1 else f"{length} seconds"
