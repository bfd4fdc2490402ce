"""Row expressions as Spark SQL text. `arrow.evaluate` says the same with Arrow columns.

The text means the same whatever `spark.sql.ansi.enabled`, the time zone and other settings of the session are: it has
only `try_` functions and casts that cannot fail, and no cast between times, as those look at the session's zone. Inside
the text each kind of value has one type:

    whole numbers     BIGINT
    floats            DOUBLE
    decimals          as they are, compared exactly with decimals and whole numbers; arithmetic takes them as DOUBLE
    timestamps        TIMESTAMP; a TIMESTAMP_NTZ is UTC wall clock
    dates             DATE; next to a timestamp it is midnight UTC
    durations         BIGINT microseconds; next to a number the number of seconds as DOUBLE; as a result an INTERVAL
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.errors import Problem, raise_problems
from trendweave.events import Kind, Schema
from trendweave.language import syntax_tree as st
from trendweave.planning.checks.trends import find_column
from trendweave.planning.plan import Path

__all__ = ["spark_column", "spark_sql"]

_NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
_MOMENTS = frozenset({Kind.TIMESTAMP, Kind.DATE})
_TRY = {"+": "TRY_ADD", "-": "TRY_SUBTRACT", "*": "TRY_MULTIPLY", "/": "TRY_DIVIDE", "%": "TRY_MOD"}
_MICROSECONDS_PER_DAY = 86_400_000_000
#: Floats between these round to 64-bit integers: -2 ** 63 and the last float before 2 ** 63.
_SMALLEST_WHOLE, _LARGEST_WHOLE = "-9223372036854775808D", "9223372036854774784D"


def spark_sql(expression: st.Expression, schema: Schema) -> str:
    """Write a row expression as Spark SQL.

    Args:
        expression: An expression on one row.
        schema: The kinds of the columns that it reads.

    Returns:
        The text.

    Raises:
        LanguageError: The expression has something that Spark lacks.
    """
    result = _Translation(schema).sql(expression)
    if result.kind is not Kind.DURATION:
        return result.text
    _refuse_finer_than_microseconds(expression)
    return f"(INTERVAL '0.000001' SECOND * {result.text})"


def spark_column(path: Path) -> str:
    """Write a column as it is, in its own type, for keys and results.

    Args:
        path: The name of the column, behind those of the structs that it lies in.

    Returns:
        The text.
    """
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


@dataclass(frozen=True, slots=True)
class _Sql:
    """Text with the kind of its value; of a duration that the query spells out, also its length."""

    text: str
    kind: Kind
    nanoseconds: int | None = None


_NULL = _Sql("NULL", Kind.NULL)
_NO_ANSWER = _Sql("CAST(NULL AS BOOLEAN)", Kind.BOOLEAN)


class _Translation:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def sql(self, expression: st.Expression) -> _Sql:
        match expression:
            case st.Literal(value=value):
                return _literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return _Sql(f"TIMESTAMP_MICROS({microseconds}L)", Kind.TIMESTAMP)
            case st.DateLiteral(days=days):
                return _Sql(f"DATE_FROM_UNIX_DATE({days})", Kind.DATE)
            case st.Duration(nanoseconds=nanoseconds):
                return _duration_literal(nanoseconds)
            case st.Attribute(names=path):
                return self._column(path)
            case st.Negative(operand=operand):
                return _negative(self.sql(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return _arithmetic(expression, operator, self.sql(left), self.sql(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return _compare(operator, self.sql(left), self.sql(right))
            case st.AllOf(parts=parts):
                return self._joined("AND", parts)
            case st.AnyOf(parts=parts):
                return self._joined("OR", parts)
            case st.Inverse(operand=operand):
                return _inverted_if(True, self._condition(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                return _inverted_if(negated, _in_list(self.sql(operand), [self.sql(option) for option in options]))
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                return _inverted_if(negated, _between(self.sql(operand), self.sql(low), self.sql(high)))
            case st.IsNull(operand=operand, negated=negated):
                return _Sql(f"({self.sql(operand).text} IS {'NOT ' if negated else ''}NULL)", Kind.BOOLEAN)
            case st.Like(operand=operand, pattern=pattern, negated=negated):
                return _inverted_if(negated, _like(self.sql(operand), pattern))
            case st.Cast(operand=operand, type=target):
                return _cast(self.sql(operand), target)
            case st.Call(function=function, arguments=arguments):
                return _call(function, [self.sql(argument) for argument in arguments])
        raise AssertionError(f"{type(expression).__name__} is not an expression on one row")

    def _column(self, path: Path) -> _Sql:
        problems: list[Problem] = []
        found = find_column(self._schema, path, None, problems)
        raise_problems(problems)
        assert found is not None, "a problem was raised otherwise"
        return _Sql(_column_text(spark_column(path), found.kind), found.kind)

    def _condition(self, expression: st.Expression) -> _Sql:
        condition = self.sql(expression)
        return _NO_ANSWER if condition.kind is Kind.NULL else condition

    def _joined(self, word: str, parts: Sequence[st.Expression]) -> _Sql:
        return _Sql("(" + f" {word} ".join(self._condition(part).text for part in parts) + ")", Kind.BOOLEAN)


# Columns and literals


def _column_text(column: str, kind: Kind) -> str:
    match kind:
        case Kind.INTEGER:
            return f"CAST({column} AS BIGINT)"
        case Kind.FLOAT:
            return f"CAST({column} AS DOUBLE)"
        case Kind.TIMESTAMP:
            # Which of the two types it is, Spark knows when it reads the text; one branch disappears then.
            wall_clock = _microseconds_of_interval(f"{column} - TIMESTAMP_NTZ '1970-01-01 00:00:00'")
            return f"IF(TYPEOF({column}) = 'timestamp_ntz', TIMESTAMP_MICROS({wall_clock}), {column})"
        case Kind.DURATION:
            return _microseconds_of_interval(column)
    return column


def _microseconds_of_interval(interval: str) -> str:
    return f"CAST(CAST(CAST({interval} AS INTERVAL SECOND) AS DECIMAL(19, 6)) * 1000000 AS BIGINT)"


def _literal(value: bool | int | float | str | None) -> _Sql:
    match value:
        case None:
            return _NULL
        case bool():
            return _Sql("TRUE" if value else "FALSE", Kind.BOOLEAN)
        case int():
            return _Sql(f"{value}L", Kind.INTEGER)
        case float():
            return _Sql(f"{value!r}D", Kind.FLOAT)
        case str():
            return _Sql(_text(value), Kind.STRING)


def _text(value: str) -> str:
    """Quoted; as bytes where a setting of the session could give a character another meaning."""
    if re.fullmatch(r"[^\\'\"$\x00-\x1f]*", value):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def _duration_literal(nanoseconds: int | None) -> _Sql:
    assert nanoseconds is not None, "a problem was reported for it"
    whole, fraction = divmod(nanoseconds, 1_000)
    return _Sql(f"{whole}.{fraction:03}BD" if fraction else f"{whole}L", Kind.DURATION, nanoseconds)


def _refuse_finer_than_microseconds(expression: st.Expression) -> None:
    for node in expression.walk():
        if isinstance(node, st.Duration) and node.nanoseconds is not None and node.nanoseconds % 1_000:
            message = "Spark's timestamps and durations have no parts finer than a microsecond"
            raise_problems([Problem("TW306", message, "write the length of time in microseconds")])


# The kinds in which values meet


def _common_kind(values: Sequence[_Sql]) -> Kind:
    kinds = {value.kind for value in values} - {Kind.NULL}
    if len(kinds) <= 1:
        return next(iter(kinds), Kind.NULL)
    if kinds <= _MOMENTS:
        return Kind.TIMESTAMP
    return Kind.FLOAT if kinds & {Kind.FLOAT, Kind.DURATION} else Kind.DECIMAL


def _alike(values: Sequence[_Sql]) -> list[_Sql]:
    target = _common_kind(values)
    return [_converted(value, target) for value in values]


def _converted(value: _Sql, target: Kind) -> _Sql:
    if value.kind in (target, Kind.NULL):
        return value
    match target:
        case Kind.FLOAT:
            return _to_float(value)
        case Kind.TIMESTAMP:
            return _Sql(f"TIMESTAMP_MICROS({_microseconds(value)})", Kind.TIMESTAMP)
    return _Sql(f"CAST({value.text} AS DECIMAL(20, 0))", Kind.DECIMAL)


def _to_float(value: _Sql) -> _Sql:
    if value.kind is Kind.FLOAT:
        return value
    if value.nanoseconds is not None:
        return _literal(_seconds(value.nanoseconds))
    number = f"CAST({value.text} AS DOUBLE)"
    return _Sql(f"({number} / 1000000D)" if value.kind is Kind.DURATION else number, Kind.FLOAT)


def _seconds(nanoseconds: int) -> float:
    """By one division of a number of the unit that Arrow columns would have, so that the last bit is the same."""
    return nanoseconds / 1e9 if nanoseconds % 1_000 else nanoseconds // 1_000 / 1e6


def _microseconds(value: _Sql) -> str:
    """Since the epoch, or in the duration."""
    match value.kind:
        case Kind.TIMESTAMP:
            return f"UNIX_MICROS({value.text})"
        case Kind.DATE:
            return f"TRY_MULTIPLY(CAST(UNIX_DATE({value.text}) AS BIGINT), {_MICROSECONDS_PER_DAY}L)"
    return value.text


# Arithmetic


def _negative(value: _Sql) -> _Sql:
    match value.kind:
        case Kind.NULL:
            return value
        case Kind.INTEGER | Kind.DURATION:
            return _Sql(f"TRY_SUBTRACT(0L, {value.text})", value.kind)
    return _Sql(f"(-({value.text}))", value.kind)


def _arithmetic(place: st.Expression, operator: str, left: _Sql, right: _Sql) -> _Sql:
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return _NULL
    if not kinds & _NUMBERS:
        return _time_arithmetic(place, operator, left, right)
    if operator == "/" or kinds != {Kind.INTEGER}:
        left, right = _to_float(left), _to_float(right)
    return _Sql(f"{_TRY[operator]}({left.text}, {right.text})", left.kind)


def _time_arithmetic(place: st.Expression, operator: str, left: _Sql, right: _Sql) -> _Sql:
    text = f"{_TRY[operator]}({_microseconds(left)}, {_microseconds(right)})"
    # The difference of two moments is a duration; a moment and a duration make a moment.
    if (left.kind in _MOMENTS) == (right.kind in _MOMENTS):
        return _Sql(text, Kind.DURATION)
    _refuse_finer_than_microseconds(place)
    return _Sql(f"TIMESTAMP_MICROS({text})", Kind.TIMESTAMP)


# Conditions


def _inverted_if(negated: bool, condition: _Sql) -> _Sql:
    return _Sql(f"(NOT {condition.text})", Kind.BOOLEAN) if negated else condition


def _compare(operator: str, left: _Sql, right: _Sql) -> _Sql:
    if Kind.NULL in (left.kind, right.kind):
        return _NO_ANSWER
    left, right = _alike([left, right])
    return _Sql(f"({left.text} {operator} {right.text})", Kind.BOOLEAN)


def _between(value: _Sql, low: _Sql, high: _Sql) -> _Sql:
    kinds = {value.kind, low.kind, high.kind}
    if len(kinds) == 1 and Kind.NULL not in kinds:
        return _Sql(f"({value.text} BETWEEN {low.text} AND {high.text})", Kind.BOOLEAN)
    return _Sql(f"({_compare('>=', value, low).text} AND {_compare('<=', value, high).text})", Kind.BOOLEAN)


def _in_list(value: _Sql, options: list[_Sql]) -> _Sql:
    if value.kind is Kind.NULL:
        return _NO_ANSWER
    first, *others = (item.text for item in _alike([value, *options]))
    return _Sql(f"({first} IN ({', '.join(others)}))", Kind.BOOLEAN)


def _like(value: _Sql, pattern: str) -> _Sql:
    r"""A `\` before anything but `%`, `_` and `\`, where Spark would fail, stands for itself."""
    if value.kind is Kind.NULL:
        return _NO_ANSWER
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    accepted = "".join("\\\\" if part == "\\" else part for part in parts)
    return _Sql(f"({value.text} LIKE {_text(accepted)})", Kind.BOOLEAN)


# Functions


def _cast(value: _Sql, target: str) -> _Sql:
    kind = Kind.INTEGER if target == "BIGINT" else Kind.FLOAT
    return value if value.kind is kind else _Sql(f"TRY_CAST({value.text} AS {target})", kind)


def _call(function: str, arguments: list[_Sql]) -> _Sql:
    if function == "NULLIF":
        return _first_unless_equal(*arguments)
    if function in ("COALESCE", "GREATEST", "LEAST"):
        return _Sql(_function(function, _alike(arguments)), _common_kind(arguments))
    if any(argument.kind is Kind.NULL for argument in arguments):
        return _NULL
    first, *others = arguments
    match function:
        case "ABS":
            return _absolute(first)
        case "SIGN":
            sign = f"SIGN({_to_float(first).text})"
            return _cast(_Sql(sign, Kind.FLOAT), "BIGINT") if first.kind is Kind.INTEGER else _Sql(sign, Kind.FLOAT)
        case "CEIL" | "FLOOR":
            return _rounded(function, first)
        case "SQRT":
            return _Sql(f"SQRT({_to_float(first).text})", Kind.FLOAT)
        case "LENGTH":
            return _Sql(f"CAST(LENGTH({first.text}) AS BIGINT)", Kind.INTEGER)
        case "SUBSTRING":
            places = [_Sql(f"TRY_CAST({other.text} AS INT)", Kind.INTEGER) for other in others]
            return _Sql(_function(function, [first, *places]), Kind.STRING)
    return _Sql(_function(function, arguments), Kind.STRING)


def _function(name: str, arguments: Sequence[_Sql]) -> str:
    return f"{name}({', '.join(argument.text for argument in arguments)})"


def _first_unless_equal(first: _Sql, second: _Sql) -> _Sql:
    """NULLIF; the result has the type of the first value."""
    if Kind.NULL in (first.kind, second.kind):
        return first
    if first.kind is second.kind:
        return _Sql(_function("NULLIF", [first, second]), first.kind)
    return _Sql(f"IF({_compare('=', first, second).text}, NULL, {first.text})", first.kind)


def _absolute(value: _Sql) -> _Sql:
    if value.kind is Kind.INTEGER:
        return _Sql(f"ABS(NULLIF({value.text}, {-(2**63)}L))", Kind.INTEGER)
    return _Sql(f"ABS({value.text})", value.kind)


def _rounded(function: str, value: _Sql) -> _Sql:
    """To BIGINT; NULL where that does not fit, NaN included."""
    match value.kind:
        case Kind.INTEGER:
            return value
        case Kind.DECIMAL:
            return _cast(_Sql(f"{function}({value.text})", Kind.DECIMAL), "BIGINT")
    # The value is named by a lambda, so that nested calls do not repeat their arguments again and again.
    fits = f"x BETWEEN {_SMALLEST_WHOLE} AND {_LARGEST_WHOLE}"
    return _Sql(f"TRANSFORM(ARRAY({value.text}), x -> IF({fits}, {function}(x), NULL))[0]", Kind.INTEGER)
