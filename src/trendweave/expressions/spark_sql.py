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
from trendweave.events import Kind, Schema, find_column
from trendweave.language import syntax_tree as st
from trendweave.language.functions import PARTS_OF_TIME
from trendweave.language.regular_expressions import translate
from trendweave.planning.plan import Path

_MICROSECONDS_PER_DAY = 86_400_000_000


def find_common_kind(values: Sequence[Sql]) -> Kind:
    """Find the kind in which values meet.

    Args:
        values: Text with kinds.

    Returns:
        The kind.
    """
    kinds = {value.kind for value in values} - {Kind.NULL}
    if len(kinds) <= 1:
        return next(iter(kinds), Kind.NULL)
    if kinds <= MOMENTS:
        return Kind.TIMESTAMP
    return Kind.FLOAT if kinds & {Kind.FLOAT, Kind.DURATION} else Kind.DECIMAL


def convert_to_common_kind(values: Sequence[Sql]) -> list[Sql]:
    """Convert values to the kind in which they meet.

    Args:
        values: Text with kinds.

    Returns:
        The same values in one kind.
    """
    target = find_common_kind(values)
    return [_convert(value, target) for value in values]


def _convert(value: Sql, target: Kind) -> Sql:
    if value.kind in (target, Kind.NULL):
        return value
    match target:
        case Kind.FLOAT:
            return to_float(value)
        case Kind.TIMESTAMP:
            return Sql(f"TIMESTAMP_MICROS({count_microseconds(value)})", Kind.TIMESTAMP)
    return Sql(f"CAST({value.text} AS DECIMAL(20, 0))", Kind.DECIMAL)


def to_float(value: Sql) -> Sql:
    """Convert a number, or a length of time in seconds, to DOUBLE.

    Args:
        value: Text with its kind.

    Returns:
        The text.
    """
    if value.kind is Kind.FLOAT:
        return value
    if value.nanoseconds is not None:
        return write_literal(_seconds(value.nanoseconds))
    number = f"CAST({value.text} AS DOUBLE)"
    return Sql(f"({number} / 1000000D)" if value.kind is Kind.DURATION else number, Kind.FLOAT)


def _seconds(nanoseconds: int) -> float:
    """By one division of a number of the unit that Arrow columns would have, so that the last bit is the same."""
    return nanoseconds / 1e9 if nanoseconds % 1_000 else nanoseconds // 1_000 / 1e6


def count_microseconds(value: Sql) -> str:
    """Count microseconds since the epoch, or in a duration.

    Args:
        value: Text with its kind.

    Returns:
        The text of a BIGINT.
    """
    match value.kind:
        case Kind.TIMESTAMP:
            return f"UNIX_MICROS({value.text})"
        case Kind.DATE:
            return f"TRY_MULTIPLY(CAST(UNIX_DATE({value.text}) AS BIGINT), {_MICROSECONDS_PER_DAY}L)"
    return value.text


@dataclass(frozen=True, slots=True)
class Sql:
    """Text with the kind of its value; of a duration that the query spells out, also its length."""

    text: str
    kind: Kind
    nanoseconds: int | None = None


NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL})
MOMENTS = frozenset({Kind.TIMESTAMP, Kind.DATE})
NULL = Sql("NULL", Kind.NULL)
NO_ANSWER = Sql("CAST(NULL AS BOOLEAN)", Kind.BOOLEAN)


def spark_column(path: Path) -> str:
    """Write a column as it is, in its own type, for keys and results.

    Args:
        path: The name of the column, behind those of the structs that it lies in.

    Returns:
        The text.
    """
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def write_column(column: str, kind: Kind) -> str:
    """Write a column in the one type of its kind.

    Args:
        column: Its name as Spark quotes it.
        kind: Its kind.

    Returns:
        The text.
    """
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


def write_literal(value: bool | int | float | str | None) -> Sql:
    """Write a Python value.

    Args:
        value: What stands in the query.

    Returns:
        The text.
    """
    match value:
        case None:
            return NULL
        case bool():
            return Sql("TRUE" if value else "FALSE", Kind.BOOLEAN)
        case int():
            return Sql(f"{value}L", Kind.INTEGER)
        case float():
            return Sql(f"{value!r}D", Kind.FLOAT)
        case str():
            return Sql(write_text(value), Kind.STRING)


def write_text(value: str) -> str:
    """Quote a text; as bytes where a setting of the session could give a character another meaning.

    Args:
        value: The text.

    Returns:
        The literal.
    """
    if re.fullmatch(r"[^\\'\"$\x00-\x1f]*", value):
        return f"'{value}'"
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def write_duration(nanoseconds: int | None) -> Sql:
    """Write a length of time in microseconds.

    Args:
        nanoseconds: The length.

    Returns:
        The text.
    """
    assert nanoseconds is not None, "a problem was reported for it"
    whole, fraction = divmod(nanoseconds, 1_000)
    return Sql(f"{whole}.{fraction:03}BD" if fraction else f"{whole}L", Kind.DURATION, nanoseconds)


def refuse_finer_than_microseconds(expression: st.Expression) -> None:
    """Refuse lengths of time that Spark cannot hold.

    Args:
        expression: Where they may stand.

    Raises:
        LanguageError: One is finer than a microsecond.
    """
    for node in expression.walk():
        if isinstance(node, st.Duration) and node.nanoseconds is not None and node.nanoseconds % 1_000:
            message = "Spark's timestamps and durations have no parts finer than a microsecond"
            raise_problems([Problem("TW306", message, "write the duration in microseconds")])


#: Functions of a day, which Spark calls by the same names.
_OF_DAYS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "WEEKOFYEAR"})
#: Units of DATE_TRUNC that have the same length everywhere, in seconds.
_FIXED_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3_600, "DAY": 86_400}


def call_calendar(function: str, arguments: list[Sql], unit: str | None = None) -> Sql:
    """Call a function of moments.

    Args:
        function: Its name.
        arguments: Timestamps or dates.
        unit: Of DATE_TRUNC, the unit of time in upper case.

    Returns:
        The text.
    """
    first = arguments[0]
    if function in _OF_DAYS:
        return Sql(f"CAST({function}({_day(first)}) AS BIGINT)", Kind.INTEGER)
    match function:
        case "HOUR":
            return Sql(f"FLOOR(PMOD({_seconds_of(first)}, 86400L) / 3600D)", Kind.INTEGER)
        case "MINUTE":
            return Sql(f"FLOOR(PMOD({_seconds_of(first)}, 3600L) / 60D)", Kind.INTEGER)
        case "SECOND":
            return Sql(f"PMOD({_seconds_of(first)}, 60L)", Kind.INTEGER)
        case "DATE":
            return Sql(_day(first), Kind.DATE)
        case "DATEDIFF":
            return Sql(f"CAST(DATEDIFF({_day(first)}, {_day(arguments[1])}) AS BIGINT)", Kind.INTEGER)
        case "UNIX_TIMESTAMP":
            return Sql(_seconds_of(first), Kind.INTEGER)
    assert unit is not None, "DATE_TRUNC alone is left"
    return Sql(_truncated(unit, first), Kind.TIMESTAMP)


def _truncated(unit: str, moment: Sql) -> str:
    if unit == "MILLISECOND" and moment.kind is Kind.TIMESTAMP:
        return f"TIMESTAMP_MILLIS(UNIX_MILLIS({moment.text}))"
    size = _FIXED_UNITS.get(unit)
    if size == 1 or unit == "MILLISECOND":
        return f"TIMESTAMP_SECONDS({_seconds_of(moment)})"
    if size is not None:
        return f"TIMESTAMP_SECONDS(FLOOR({_seconds_of(moment)} / {size}D) * {size}L)"
    return f"TIMESTAMP_SECONDS({_midnight(f'''TRUNC({_day(moment)}, '{unit}')''')})"


def _day(moment: Sql) -> str:
    if moment.kind is Kind.DATE:
        return moment.text
    return f"DATE_FROM_UNIX_DATE(CAST(FLOOR({_seconds_of(moment)} / 86400D) AS INT))"


def _seconds_of(moment: Sql) -> str:
    """Whole seconds since the epoch."""
    return _midnight(moment.text) if moment.kind is Kind.DATE else f"UNIX_SECONDS({moment.text})"


def _midnight(day: str) -> str:
    return f"(CAST(UNIX_DATE({day}) AS BIGINT) * 86400L)"


_TRY = {"+": "TRY_ADD", "-": "TRY_SUBTRACT", "*": "TRY_MULTIPLY", "/": "TRY_DIVIDE"}


def negate(value: Sql) -> Sql:
    """Turn the sign of a number or a duration.

    Args:
        value: Text with its kind.

    Returns:
        The text.
    """
    match value.kind:
        case Kind.NULL:
            return value
        case Kind.INTEGER | Kind.DURATION:
            return Sql(f"TRY_SUBTRACT(0L, {value.text})", value.kind)
    return Sql(f"(-({value.text}))", value.kind)


def calculate(place: st.Expression, operator: str, left: Sql, right: Sql) -> Sql:
    """Calculate with numbers and times.

    Args:
        place: The expression, for errors.
        operator: +, -, *, / or %.
        left: Text with its kind.
        right: Text with its kind.

    Returns:
        The text.

    Raises:
        LanguageError: A length of time is finer than Spark's times.
    """
    kinds = {left.kind, right.kind}
    if Kind.NULL in kinds:
        return NULL
    if not kinds & NUMBERS:
        return _calculate_times(place, operator, left, right)
    if operator == "/" or kinds != {Kind.INTEGER}:
        left, right = to_float(left), to_float(right)
        if operator == "%":
            return Sql(_remainder(left.text, right.text, "0D"), left.kind)
        return Sql(f"{_TRY[operator]}({left.text}, {right.text})", left.kind)
    return Sql(_calculate_whole(operator, left.text, right.text), left.kind)


def _calculate_whole(operator: str, left: str, right: str) -> str:
    """Write a step on whole numbers that Spark takes exactly where it stands.

    Spark's optimiser puts chains of + and of * in another order, and then other steps leave 64 bits, or none does. It
    does not look for them behind another operator, so steps inside get one that changes nothing.
    """
    if operator == "%":
        return _remainder(left, right, "0L")
    name = _TRY[operator]
    left, right = (f"({text} | 0L)" if f"{name}(" in text else text for text in (left, right))
    return f"{name}({left}, {right})"


def _remainder(left: str, right: str, zero: str) -> str:
    """NULL where the divisor is zero: Spark 3.5 has no function for it."""
    return f"({left} % NULLIF({right}, {zero}))"


def _calculate_times(place: st.Expression, operator: str, left: Sql, right: Sql) -> Sql:
    text = _calculate_whole(operator, count_microseconds(left), count_microseconds(right))
    # The difference of two moments is a duration; a moment and a duration make a moment.
    if (left.kind in MOMENTS) == (right.kind in MOMENTS):
        return Sql(text, Kind.DURATION)
    refuse_finer_than_microseconds(place)
    return Sql(f"TIMESTAMP_MICROS({text})", Kind.TIMESTAMP)


def invert_if(negated: bool, condition: Sql) -> Sql:
    """Turn a condition round where the query says NOT.

    Args:
        negated: Does it?
        condition: The condition.

    Returns:
        The condition.
    """
    return Sql(f"(NOT {condition.text})", Kind.BOOLEAN) if negated else condition


def compare(operator: str, left: Sql, right: Sql) -> Sql:
    """Compare two values.

    Args:
        operator: <, <=, =, !=, >= or >.
        left: Text with its kind.
        right: Text with its kind.

    Returns:
        A condition.
    """
    if Kind.NULL in (left.kind, right.kind):
        return NO_ANSWER
    left, right = convert_to_common_kind([left, right])
    return Sql(f"({left.text} {operator} {right.text})", Kind.BOOLEAN)


def is_between(value: Sql, low: Sql, high: Sql) -> Sql:
    """Test whether a value lies between two others or equals one of them.

    Args:
        value: Text with its kind.
        low: The lower bound.
        high: The upper bound.

    Returns:
        A condition.
    """
    kinds = {value.kind, low.kind, high.kind}
    if len(kinds) == 1 and Kind.NULL not in kinds:
        return Sql(f"({value.text} BETWEEN {low.text} AND {high.text})", Kind.BOOLEAN)
    return Sql(f"({compare('>=', value, low).text} AND {compare('<=', value, high).text})", Kind.BOOLEAN)


def is_in_list(value: Sql, options: list[Sql]) -> Sql:
    """Test whether a value equals one of several.

    Args:
        value: Text with its kind.
        options: The others.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    first, *others = (item.text for item in convert_to_common_kind([value, *options]))
    return Sql(f"({first} IN ({', '.join(others)}))", Kind.BOOLEAN)


def take_first_true(conditions: list[Sql], values: list[Sql]) -> Sql:
    """CASE: take the value of the first condition that is true.

    Args:
        conditions: Text with its kind.
        values: One for each condition, and one where none is true.

    Returns:
        The value.
    """
    kind = find_common_kind(values)
    if kind is Kind.NULL:
        return NULL
    *values, otherwise = convert_to_common_kind(values)
    branches = [f"WHEN {one.text} THEN {value.text}" for one, value in zip(conditions, values, strict=True)]
    return Sql(f"(CASE {' '.join(branches)} ELSE {otherwise.text} END)", kind)


def match_like(value: Sql, pattern: str) -> Sql:
    """Test a text against a LIKE pattern. A backslash before anything but `%`, `_` and itself, where Spark would fail,
    stands for itself.

    Args:
        value: Text with its kind.
        pattern: The pattern.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    accepted = "".join("\\\\" if part == "\\" else part for part in parts)
    return Sql(f"({value.text} LIKE {write_text(accepted)})", Kind.BOOLEAN)


def match_regex(value: Sql, pattern: str) -> Sql:
    """Test whether a text contains a match of a regular expression.

    Args:
        value: Text with its kind.
        pattern: The expression.

    Returns:
        A condition.
    """
    if value.kind is Kind.NULL:
        return NO_ANSWER
    return Sql(f"({value.text} RLIKE {write_text(translate(pattern, 'java'))})", Kind.BOOLEAN)


#: Floats between these round to 64-bit integers: -2 ** 63 and the last float before 2 ** 63.
_SMALLEST_WHOLE, _LARGEST_WHOLE = "-9223372036854775808D", "9223372036854774784D"


def cast(value: Sql, target: str) -> Sql:
    """CAST to BIGINT or DOUBLE; NULL where that fails.

    Args:
        value: Text with its kind.
        target: The name of the type.

    Returns:
        The text.
    """
    kind = Kind.INTEGER if target == "BIGINT" else Kind.FLOAT
    return value if value.kind is kind else Sql(f"TRY_CAST({value.text} AS {target})", kind)


def call(function: str, arguments: list[Sql]) -> Sql:
    """Call a function of the language.

    Args:
        function: Its name.
        arguments: Text with kinds.

    Returns:
        The text.
    """
    if function == "NULLIF":
        return _take_unless_equal(*arguments)
    if function in ("COALESCE", "GREATEST", "LEAST"):
        return Sql(_write_call(function, convert_to_common_kind(arguments)), find_common_kind(arguments))
    if any(argument.kind is Kind.NULL for argument in arguments):
        return NULL
    first, *others = arguments
    match function:
        case "ABS":
            return _take_absolute(first)
        case "SIGN":
            sign = f"SIGN({to_float(first).text})"
            return cast(Sql(sign, Kind.FLOAT), "BIGINT") if first.kind is Kind.INTEGER else Sql(sign, Kind.FLOAT)
        case "CEIL" | "FLOOR":
            return _round(function, first)
        case "ROUND":
            # What is rounded to a whole number of digits is the shortest text of a float: Spark's way, and ours.
            digits = int(others[0].text.removesuffix("L")) if others else 0
            return first if first.kind is Kind.INTEGER else Sql(f"ROUND({first.text}, {digits})", first.kind)
        case "DATE_TRUNC":
            return call_calendar(function, others, unit=first.text.strip("'"))
        case function if function in PARTS_OF_TIME or function in ("DATE", "DATEDIFF"):
            return call_calendar(function, arguments)
        case "SQRT":
            return Sql(f"SQRT({to_float(first).text})", Kind.FLOAT)
        case "LENGTH":
            return Sql(f"CAST(LENGTH({first.text}) AS BIGINT)", Kind.INTEGER)
        case "SUBSTRING":
            places = [Sql(f"TRY_CAST({other.text} AS INT)", Kind.INTEGER) for other in others]
            return Sql(_write_call(function, [first, *places]), Kind.STRING)
        case "UPPER" | "LOWER" if first.text.startswith(("UPPER(", "LOWER(")):
            # Of two of these Spark's optimiser keeps the outer one alone, which for letters that become several (the
            # ligature fi) is not the same.
            return Sql(f"{function}(SUBSTRING({first.text}, 1))", Kind.STRING)
    return Sql(_write_call(function, arguments), Kind.STRING)


def _write_call(name: str, arguments: Sequence[Sql]) -> str:
    return f"{name}({', '.join(argument.text for argument in arguments)})"


def _take_unless_equal(first: Sql, second: Sql) -> Sql:
    """NULLIF; the result has the type of the first value."""
    if Kind.NULL in (first.kind, second.kind):
        return first
    if first.kind is second.kind:
        return Sql(_write_call("NULLIF", [first, second]), first.kind)
    return Sql(f"IF({compare('=', first, second).text}, NULL, {first.text})", first.kind)


def _take_absolute(value: Sql) -> Sql:
    if value.kind is Kind.INTEGER:
        return Sql(f"ABS(NULLIF({value.text}, {-(2**63)}L))", Kind.INTEGER)
    return Sql(f"ABS({value.text})", value.kind)


def _round(function: str, value: Sql) -> Sql:
    """To BIGINT; NULL where that does not fit, NaN included."""
    match value.kind:
        case Kind.INTEGER:
            return value
        case Kind.DECIMAL:
            return cast(Sql(f"{function}({value.text})", Kind.DECIMAL), "BIGINT")
    # The value is named by a lambda, so that nested calls do not repeat their arguments again and again.
    fits = f"x BETWEEN {_SMALLEST_WHOLE} AND {_LARGEST_WHOLE}"
    return Sql(f"TRANSFORM(ARRAY({value.text}), x -> IF({fits}, {function}(x), NULL))[0]", Kind.INTEGER)


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
    refuse_finer_than_microseconds(expression)
    return f"(INTERVAL '0.000001' SECOND * {result.text})"


class _Translation:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def sql(self, expression: st.Expression) -> Sql:
        match expression:
            case st.Literal(value=value):
                return write_literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return Sql(f"TIMESTAMP_MICROS({microseconds}L)", Kind.TIMESTAMP)
            case st.DateLiteral(days=days):
                return Sql(f"DATE_FROM_UNIX_DATE({days})", Kind.DATE)
            case st.Duration(nanoseconds=nanoseconds):
                return write_duration(nanoseconds)
            case st.Attribute(names=path):
                return self._column(path)
            case st.Negative(operand=operand):
                return negate(self.sql(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return calculate(expression, operator, self.sql(left), self.sql(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return compare(operator, self.sql(left), self.sql(right))
            case st.AllOf(parts=parts):
                return self._join("AND", parts)
            case st.AnyOf(parts=parts):
                return self._join("OR", parts)
            case st.Inverse(operand=operand):
                return invert_if(True, self._condition(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                return invert_if(negated, is_in_list(self.sql(operand), [self.sql(option) for option in options]))
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                return invert_if(negated, is_between(self.sql(operand), self.sql(low), self.sql(high)))
            case st.IsNull(operand=operand, negated=negated):
                return Sql(f"({self.sql(operand).text} IS {'NOT ' if negated else ''}NULL)", Kind.BOOLEAN)
            case st.Like(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_like(self.sql(operand), pattern))
            case st.RLike(operand=operand, pattern=pattern, negated=negated):
                return invert_if(negated, match_regex(self.sql(operand), pattern))
            case st.Cast(operand=operand, type=target):
                return cast(self.sql(operand), target)
            case st.Case(whens=whens, values=values):
                conditions = [self._condition(when.condition) for when in whens]
                return take_first_true(conditions, [self.sql(value) for value in values])
            case st.Call(function=function, arguments=arguments):
                return call(function, [self.sql(argument) for argument in arguments])
        raise AssertionError(f"{type(expression).__name__} is not an expression on one row")

    def _column(self, path: Path) -> Sql:
        found = find_column(self._schema, path)
        if isinstance(found, Problem):
            raise_problems([found])
        assert not isinstance(found, Problem), "it was raised"
        return Sql(write_column(spark_column(path), found.kind), found.kind)

    def _condition(self, expression: st.Expression) -> Sql:
        condition = self.sql(expression)
        return NO_ANSWER if condition.kind is Kind.NULL else condition

    def _join(self, word: str, parts: Sequence[st.Expression]) -> Sql:
        return Sql("(" + f" {word} ".join(self._condition(part).text for part in parts) + ")", Kind.BOOLEAN)
