"""Row expressions over Arrow columns, a column at a time. `spark_expressions` says the same in Spark SQL.

A value means what it means to Spark SQL's `try_` functions, whatever the session's settings: arithmetic that overflows,
division by zero and failed casts are NULL; NaN equals itself and is larger than every other number.

Columns are brought to one type per kind first, and results have these types too:

    whole numbers     int64; a uint64 that does not fit is NULL
    floats            float64
    decimals          as they are, compared exactly with decimals and whole numbers; arithmetic takes them as float64
    strings, binary   large_string, large_binary; dictionaries are decoded
    timestamps        UTC, in microseconds, or in nanoseconds where the column has them; naive ones are UTC wall clock
    dates             date32; next to a timestamp it is midnight UTC
    durations         microseconds, or nanoseconds where needed; next to a number the number of seconds as float64
    NULL              null, a type of its own
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Path

__all__ = ["column_of", "comparable", "evaluate", "is_true"]

Rows: TypeAlias = pa.Table | pa.RecordBatch
#: A column, or a scalar where all rows have the same value.
Value: TypeAlias = pa.Array | pa.Scalar

_INTEGER, _FLOAT, _STRING = pa.int64(), pa.float64(), pa.large_string()
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
#: 2 ** 63 as a float: the first number above all 64-bit integers.
_TOO_LARGE = 2.0**63
_TICKS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_SECONDS_PER_DAY = 86_400


def evaluate(expression: st.Expression, table: Rows, later: Rows | None = None) -> pa.Array:
    """The value of a row expression in every row; `NextAttribute` is a column of the same row of `later`."""
    return _spread(_Evaluation(table, later).value(expression), table.num_rows)


def column_of(table: Rows, path: Path) -> pa.Array:
    """The column itself, in its own type, for keys and results. A field of a struct that is NULL is NULL."""
    column = _in_one_piece(table.column(path[0]))
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


def comparable(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[pa.Array]:
    """Columns that are to be compared with each other, in the one type in which a condition would compare them."""
    return _comparable([_prepared(_in_one_piece(column)) for column in columns])


def is_true(expression: st.Expression, table: Rows, later: Rows | None = None) -> np.ndarray:
    """Where does a condition hold? NULL is not true."""
    condition = pc.cast(evaluate(expression, table, later), pa.bool_())
    return pc.fill_null(condition, False).to_numpy(zero_copy_only=False)


class _Evaluation:
    """One expression over one table; a column that is used twice is prepared once."""

    def __init__(self, table: Rows, later: Rows | None) -> None:
        self._table = table
        self._later = later
        self._columns: dict[tuple[bool, Path], pa.Array] = {}

    def value(self, expression: st.Expression) -> Value:
        match expression:
            case st.Literal(value=value):
                return _literal(value)
            case st.TimestampLiteral(microseconds=microseconds):
                return pa.scalar(microseconds, pa.timestamp("us", "UTC"))
            case st.DateLiteral(days=days):
                return pa.scalar(days, pa.date32())
            case st.Duration(nanoseconds=nanoseconds):
                return _duration_literal(nanoseconds)
            case st.Attribute(names=path):
                return self._column(path, later=False)
            case st.NextAttribute(names=path):
                return self._column(path, later=True)
            case st.Negative(operand=operand):
                return _negative(self.value(operand))
            case st.Arithmetic(operator=operator, left=left, right=right):
                return self._arithmetic(operator, self.value(left), self.value(right))
            case st.Comparison(operator=operator, left=left, right=right):
                return _compare(operator, self.value(left), self.value(right))
            case st.AllOf(parts=parts):
                return reduce(pc.and_kleene, map(self._condition, parts))
            case st.AnyOf(parts=parts):
                return reduce(pc.or_kleene, map(self._condition, parts))
            case st.Inverse(operand=operand):
                return pc.invert(self._condition(operand))
            case st.InList(operand=operand, options=options, negated=negated):
                return _inverted_if(negated, _in_list(self.value(operand), [self.value(option) for option in options]))
            case st.Between(operand=operand, low=low, high=high, negated=negated):
                return _inverted_if(negated, _between(self.value(operand), self.value(low), self.value(high)))
            case st.IsNull(operand=operand, negated=negated):
                value = self.value(operand)
                return pc.is_valid(value) if negated else pc.is_null(value)
            case st.Like(operand=operand, pattern=pattern, negated=negated):
                return _inverted_if(negated, _like(self.value(operand), pattern))
            case st.Cast(operand=operand, type=target):
                value = self.value(operand)
                return self._as_integer(value) if target == "BIGINT" else self._as_float(value)
            case st.Call(function=function, arguments=arguments):
                return self._call(function, [self.value(argument) for argument in arguments])
        raise AssertionError(f"{type(expression).__name__} is not a row expression")

    def _condition(self, expression: st.Expression) -> Value:
        return pc.cast(self.value(expression), pa.bool_())

    def _column(self, path: Path, later: bool) -> pa.Array:
        if (later, path) not in self._columns:
            table = self._later if later else self._table
            assert table is not None, "an expression on two rows needs both"
            self._columns[later, path] = _prepared(column_of(table, path))
        return self._columns[later, path]

    def _arithmetic(self, operator: st.ArithmeticOperator, left: Value, right: Value) -> Value:
        if types.is_null(left.type) or types.is_null(right.type):
            return _NULL
        if _is_of_time(left) and _is_of_time(right):
            return _time_arithmetic(operator, left, right)
        if operator == "/":
            return _quotient(_to_float(left), _to_float(right))
        if left.type != _INTEGER or right.type != _INTEGER:
            left, right = _to_float(left), _to_float(right)
        if operator == "%":
            return _remainder(_spread(left, self._rows), _spread(right, self._rows))
        return _total(operator, left, right)

    def _as_integer(self, value: Value) -> Value:
        if value.type == _STRING:
            return _integer_from_text(_spread(value, self._rows))
        return _truncated(value)

    def _as_float(self, value: Value) -> Value:
        if value.type == _STRING:
            return _float_from_text(_spread(value, self._rows))
        return _to_float(value)

    def _call(self, function: str, arguments: list[Value]) -> Value:
        if function in _OF_SEVERAL:
            return _OF_SEVERAL[function](arguments)
        if any(types.is_null(argument.type) for argument in arguments):
            return _NULL
        if function in _OF_COLUMNS:
            return _OF_COLUMNS[function](*(_spread(argument, self._rows) for argument in arguments))
        return _OF_ONE[function](*arguments)

    @property
    def _rows(self) -> int:
        return self._table.num_rows


# Columns and literals

_NULL = pa.scalar(None, pa.null())
#: The answer to a question about NULL.
_NO_ANSWER = pa.scalar(None, pa.bool_())


def _spread(value: Value, rows: int) -> pa.Array:
    return pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value


def _literal(value: bool | int | float | str | None) -> pa.Scalar:
    if value is None:
        return _NULL
    return pa.scalar(value, {bool: pa.bool_(), int: _INTEGER, float: _FLOAT, str: _STRING}[type(value)])


def _duration_literal(nanoseconds: int | None) -> pa.Scalar:
    assert nanoseconds is not None, "a problem was reported for it"
    if nanoseconds % 1_000:
        return pa.scalar(nanoseconds, pa.duration("ns"))
    return pa.scalar(nanoseconds // 1_000, pa.duration("us"))


def _in_one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _prepared(column: pa.Array) -> pa.Array:
    """The column in the one type of its kind; kinds that can only be tested for NULL stay as they are."""
    kind = column.type
    if types.is_dictionary(kind):
        return _prepared(column.dictionary_decode())
    if types.is_uint64(kind):
        return _unless_wrapped(pc.cast(column, _INTEGER, safe=False), pc.cast(column, _FLOAT, safe=False))
    if types.is_integer(kind):
        return pc.cast(column, _INTEGER)
    if types.is_floating(kind):
        return pc.cast(column, _FLOAT)
    if types.is_decimal(kind):
        digits, scale = _digits(kind)
        return _to_decimal(column, digits, scale)
    if types.is_string(kind) or types.is_string_view(kind):
        return pc.cast(column, _STRING)
    if types.is_binary(kind) or types.is_fixed_size_binary(kind):
        return pc.cast(column, pa.large_binary())
    if types.is_date(kind):
        return pc.cast(column, pa.date32())
    if types.is_timestamp(kind) or types.is_duration(kind):
        unit = _time_unit([column])
        return _from_ticks(_ticks(column, unit), unit, types.is_duration(kind))
    return column


def _unless_wrapped(wrapped: Value, approximate: Value) -> Value:
    """Integers computed modulo 2 ** 64, NULL where they went over: there they are at least 2 ** 64 off, while a float's
    rounding error is far smaller."""
    distance = pc.abs(pc.subtract(approximate, pc.cast(wrapped, _FLOAT, safe=False)))
    return _only_where(pc.less(distance, 2.0**62), wrapped)


def _only_where(condition: Value, value: Value) -> Value:
    """The value where the condition is true, NULL elsewhere."""
    return pc.if_else(condition, value, pa.scalar(None, value.type))


# The types in which values meet


def _common_type(values: Sequence[Value]) -> pa.DataType:
    """What Spark SQL would turn values into before it compares them or picks one of them."""
    kinds = [value.type for value in values if not types.is_null(value.type)]
    if not kinds:
        return pa.null()
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(map(types.is_duration, kinds)):
        return pa.duration(_time_unit(values))
    if any(types.is_floating(kind) or types.is_duration(kind) for kind in kinds):
        return _FLOAT
    if any(map(types.is_decimal, kinds)):
        return _common_decimal(kinds)
    return pa.timestamp(_time_unit(values), "UTC")


def _converted(value: Value, target: pa.DataType) -> Value:
    if value.type == target:
        return value
    if types.is_null(value.type):
        return pc.cast(value, target)
    if types.is_floating(target):
        return _to_float(value)
    if types.is_decimal(target):
        return _to_decimal(value, target.precision - target.scale, target.scale)
    return _from_ticks(_ticks(value, target.unit), target.unit, types.is_duration(target))


def _alike(values: Sequence[Value]) -> list[Value]:
    target = _common_type(values)
    return [_converted(value, target) for value in values]


def _comparable(values: Sequence[Value]) -> list[Value]:
    """Values of one type. A time too far away for nanoseconds is at the end of their range: before or after all others,
    as it must be."""
    target = _common_type(values)
    convert = _clamped_to_nanoseconds if _has_unit(target, "ns") else _converted
    return [convert(value, target) for value in values]


def _clamped_to_nanoseconds(value: Value, target: pa.DataType) -> Value:
    if not _is_of_time(value) or _has_unit(value.type, "ns"):
        return _converted(value, target)
    ticks = _ticks(value, "us")
    end_of_range = pc.if_else(pc.less(ticks, 0), _SMALLEST, _LARGEST)
    return _from_ticks(pc.coalesce(_scaled(ticks, 1_000), end_of_range), "ns", types.is_duration(target))


# Numbers


def _to_float(value: Value) -> Value:
    if types.is_decimal(value.type):
        # Through text, because Arrow's own conversion does not round correctly.
        return pc.cast(pc.cast(value, _STRING), _FLOAT)
    if types.is_duration(value.type):
        ticks = pc.cast(pc.cast(value, _INTEGER), _FLOAT, safe=False)
        return pc.divide(ticks, float(_TICKS_PER_SECOND[value.type.unit]))
    if types.is_boolean(value.type):
        value = pc.cast(value, _INTEGER)
    return pc.cast(value, _FLOAT, safe=False)


def _total(operator: str, left: Value, right: Value) -> Value:
    """`+`, `-` and `*` of two integers or two floats."""
    wrapping, checked = {
        "+": (pc.add, pc.add_checked),
        "-": (pc.subtract, pc.subtract_checked),
        "*": (pc.multiply, pc.multiply_checked),
    }[operator]
    if left.type == _FLOAT:
        return wrapping(left, right)
    try:
        return checked(left, right)
    except pa.ArrowInvalid:  # some row overflows
        return _unless_wrapped(wrapping(left, right), wrapping(_to_float(left), _to_float(right)))


def _scaled(value: Value, factor: int) -> Value:
    return value if factor == 1 else _total("*", value, pa.scalar(factor, _INTEGER))


def _quotient(left: Value, right: Value) -> Value:
    return pc.divide(left, _only_where(pc.not_equal(right, 0.0), right))


def _remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    """With the sign of the dividend. Arrow has no such operation."""
    right = _only_where(pc.not_equal(right, 0), right)
    missing = pc.is_null(right).to_numpy(zero_copy_only=False) | pc.is_null(left).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):  # infinity % x is NaN
        remainder = np.fmod(_filled(left), _filled(right))
    return pa.array(remainder, left.type, mask=missing)


def _filled(column: pa.Array) -> np.ndarray:
    return pc.fill_null(column, 1).to_numpy(zero_copy_only=False)


def _negative(value: Value) -> Value:
    if types.is_null(value.type):
        return value
    if types.is_duration(value.type):
        return _from_ticks(_negative(pc.cast(value, _INTEGER)), value.type.unit, is_duration=True)
    if value.type == _INTEGER:
        value = _only_where(pc.not_equal(value, _SMALLEST), value)
    return pc.negate(value)


def _absolute(value: Value) -> Value:
    if value.type == _INTEGER:
        value = _only_where(pc.not_equal(value, _SMALLEST), value)
    return pc.abs(value)


def _sign(value: Value) -> Value:
    """-1, 0 or 1; a float keeps its -0.0 and NaN, and a decimal's sign is a float."""
    if types.is_decimal(value.type):
        value = _to_float(value)
    return pc.if_else(pc.equal(value, pa.scalar(0, value.type)), value, pc.cast(pc.sign(value), value.type))


def _truncated(value: Value) -> Value:
    """To BIGINT, towards zero. 2 ** 63 as a float becomes the largest integer, as in Spark, whose test for numbers that
    are too large is made in floats."""
    if types.is_decimal(value.type):
        return _whole_decimal(pc.trunc(value))
    if value.type != _FLOAT:
        return pc.cast(value, _INTEGER)
    whole = pc.trunc(value)
    fits = pc.and_(pc.less_equal(whole, _TOO_LARGE), pc.greater_equal(whole, -_TOO_LARGE))
    return pc.if_else(pc.equal(whole, _TOO_LARGE), _LARGEST, _integral(_only_where(fits, whole)))


def _rounded(rounding: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """CEIL or FLOOR, to BIGINT; NULL where that does not fit, NaN included."""

    def rounded(value: Value) -> Value:
        if types.is_decimal(value.type):
            digits, scale = _digits(value.type)
            return _whole_decimal(rounding(_to_decimal(value, digits + 1, scale)))
        if value.type == _INTEGER:
            return value
        whole = rounding(value)
        fits = pc.and_(pc.less(whole, _TOO_LARGE), pc.greater_equal(whole, -_TOO_LARGE))
        return _integral(_only_where(fits, whole))

    return rounded


def _integral(value: Value) -> Value:
    return pc.cast(value, _INTEGER, safe=False)


def _whole_decimal(value: Value) -> Value:
    return _unless_wrapped(_integral(value), _to_float(value))


# Decimals, as digits before and after the point


def _digits(kind: pa.DataType) -> tuple[int, int]:
    if not types.is_decimal(kind):
        return 20, 0  # a BIGINT next to a decimal is a DECIMAL(20, 0) in Spark
    return max(kind.precision - kind.scale, 0), max(kind.scale, 0)


def _common_decimal(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Wide enough for all. Spark gives up digits after the point where more than 38 are needed, and so does this."""
    digits = max(_digits(kind)[0] for kind in kinds)
    scale = max(_digits(kind)[1] for kind in kinds)
    widest = 76 if any(types.is_decimal256(kind) for kind in kinds) else 38
    return _decimal(digits, min(scale, max(widest - digits, 0)))


def _decimal(digits: int, scale: int) -> pa.DataType:
    precision = max(digits + scale, 1)
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(min(precision, 76), scale)


def _to_decimal(value: Value, digits: int, scale: int) -> Value:
    target = _decimal(digits, scale)
    if types.is_decimal(value.type) and value.type.scale > scale:
        rounded = pc.round(pc.cast(value, pa.decimal256(76, value.type.scale)), scale, "half_towards_infinity")
        return pc.cast(rounded, target)
    return pc.cast(value, target)


# Times: timestamps, dates, durations


def _is_of_time(value: Value) -> bool:
    return types.is_timestamp(value.type) or types.is_date(value.type) or types.is_duration(value.type)


def _has_unit(kind: pa.DataType, unit: str) -> bool:
    return (types.is_timestamp(kind) or types.is_duration(kind)) and kind.unit == unit


def _time_unit(values: Sequence[Value]) -> str:
    return "ns" if any(_has_unit(value.type, "ns") for value in values) else "us"


def _ticks(value: Value, unit: str) -> Value:
    """How many units since the epoch, or in the duration; NULL where 64 bits are not enough."""
    if types.is_date(value.type):
        days = pc.cast(pc.cast(value, pa.int32()), _INTEGER)
        return _scaled(days, _SECONDS_PER_DAY * _TICKS_PER_SECOND[unit])
    return _scaled(pc.cast(value, _INTEGER), _TICKS_PER_SECOND[unit] // _TICKS_PER_SECOND[value.type.unit])


def _from_ticks(ticks: Value, unit: str, is_duration: bool) -> Value:
    return pc.cast(ticks, pa.duration(unit) if is_duration else pa.timestamp(unit, "UTC"))


def _time_arithmetic(operator: str, left: Value, right: Value) -> Value:
    unit = _time_unit([left, right])
    moments = [not types.is_duration(value.type) for value in (left, right)]
    ticks = _total(operator, _ticks(left, unit), _ticks(right, unit))
    # The difference of two moments is a duration; a moment and a duration make a moment.
    return _from_ticks(ticks, unit, is_duration=moments[0] == moments[1])


# Conditions


def _inverted_if(negated: bool, condition: Value) -> Value:
    return pc.invert(condition) if negated else condition


def _compare(operator: str, left: Value, right: Value) -> Value:
    left, right = _comparable([left, right])
    match operator:
        case "<":
            return _less(left, right)
        case ">":
            return _less(right, left)
        case ">=":
            return pc.invert(_less(left, right))
        case "<=":
            return pc.invert(_less(right, left))
        case "=":
            return _equal(left, right)
    return pc.invert(_equal(left, right))


def _less(left: Value, right: Value) -> Value:
    if types.is_null(left.type):
        return _NO_ANSWER
    less = pc.less(left, right)
    if left.type == _FLOAT:
        return pc.or_(less, pc.and_not(pc.is_nan(right), pc.is_nan(left)))
    return less


def _equal(left: Value, right: Value) -> Value:
    if types.is_null(left.type):
        return _NO_ANSWER
    equal = pc.equal(left, right)
    if left.type == _FLOAT:
        return pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return equal


def _between(value: Value, low: Value, high: Value) -> Value:
    return pc.and_kleene(_compare(">=", value, low), _compare("<=", value, high))


def _in_list(value: Value, options: list[Value]) -> Value:
    value, *options = _comparable([value, *options])
    if value.type in (_INTEGER, _STRING) and all(
        isinstance(option, pa.Scalar) and option.is_valid for option in options
    ):
        found = pc.is_in(value, value_set=pa.array([option.as_py() for option in options], value.type))
        return _only_where(pc.is_valid(value), found)
    return reduce(pc.or_kleene, (_equal(value, option) for option in options))


def _like(value: Value, pattern: str) -> Value:
    if types.is_null(value.type):
        return _NO_ANSWER
    return pc.match_substring_regex(value, f"(?s)^{_regular_expression(pattern)}$")


def _regular_expression(pattern: str) -> str:
    r"""`%` is any text, `_` any character; `\` takes the special meaning from `%`, `_` and `\`. Before anything else,
    where Spark would fail while it runs, it stands for itself."""
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    return "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[-1]) for part in parts)


# Functions


def _coalesce(values: list[Value]) -> Value:
    return pc.coalesce(*_alike(values))


def _first_unless_equal(values: list[Value]) -> Value:
    """NULLIF. The result has the type of the first value, as in Spark."""
    first, second = values
    if types.is_null(first.type):
        return first
    same = pc.coalesce(_compare("=", first, second), pa.scalar(False))
    return _only_where(pc.invert(same), first)


def _extreme(beats: Callable[[Value, Value], Value]) -> Callable[[list[Value]], Value]:
    """GREATEST or LEAST: NULLs are passed over; of equal values (0.0 and -0.0) the first is taken."""

    def better(best: Value, value: Value) -> Value:
        takes_over = pc.coalesce(beats(value, best), pc.and_(pc.is_null(best), pc.is_valid(value)))
        return pc.if_else(takes_over, value, best)

    def extreme(values: list[Value]) -> Value:
        return reduce(better, _alike(values))

    return extreme


def _concatenated(*values: Value) -> Value:
    return pc.binary_join_element_wise(*values, pa.scalar("", _STRING), null_handling="emit_null")


def _length(value: Value) -> Value:
    return pc.cast(pc.utf8_length(value), _INTEGER)


def _trimmed(value: Value) -> Value:
    return pc.utf8_trim(value, characters=" ")


def _in_case(of_ascii: Callable[[Value], Value], of_text: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """LOWER or UPPER. Arrow maps character to character, Spark knows that ß is SS: texts that are not ASCII are mapped
    by Python, each distinct one once."""

    def in_case(column: pa.Array) -> pa.Array:
        others = pc.fill_null(pc.invert(pc.string_is_ascii(column)), False)
        if not pc.any(others).as_py():
            return of_ascii(column)
        distinct = pc.filter(column, others).dictionary_encode()
        mapped = pa.array([of_text(text) for text in distinct.dictionary.to_pylist()], _STRING)
        return pc.replace_with_mask(of_ascii(column), others, mapped.take(distinct.indices))

    return in_case


def _substring(text: pa.Array, position: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """Positions count from 1, negative ones from the end; 0 is 1. A part before the beginning counts into the length.
    NULL where position or length do not fit 32 bits, as Spark's own types for them."""
    position = _of_32_bits(position)
    length = pa.repeat(pa.scalar(2**31 - 1, _INTEGER), len(text)) if length is None else _of_32_bits(length)
    missing = ~(_valid(text) & _valid(position) & _valid(length))
    first_byte, first_character, data = _characters(text)
    characters = np.diff(first_character)
    place = _filled(position)
    start = np.where(place > 0, place - 1, np.where(place < 0, characters + place, 0))
    end = np.clip(start + _filled(length), 0, characters)
    start = np.minimum(np.clip(start, 0, characters), end)
    start_byte, end_byte = first_byte[first_character[:-1] + start], first_byte[first_character[:-1] + end]
    return _text_of_slices(data, start_byte, np.where(missing, 0, end_byte - start_byte), missing)


def _of_32_bits(value: pa.Array) -> pa.Array:
    value = _truncated(value)
    return _only_where(pc.and_(pc.less(value, 2**31), pc.greater_equal(value, -(2**31))), value)


def _valid(column: pa.Array) -> np.ndarray:
    return pc.is_valid(column).to_numpy(zero_copy_only=False)


def _characters(text: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first byte of every character of the whole column (and the end), the number of characters before each row
    (and in all), and the bytes."""
    _, offsets, data = text.buffers()
    offsets = (
        np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1] if offsets else np.zeros(1, int)
    )
    data = np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8)
    first_byte = np.flatnonzero((data[: offsets[-1]] & 0xC0) != 0x80)  # others continue a character
    return np.append(first_byte, offsets[-1]), np.searchsorted(first_byte, offsets), data


def _text_of_slices(data: np.ndarray, start: np.ndarray, length: np.ndarray, missing: np.ndarray) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(length)])
    source = np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], length)
    valid = pa.array(~missing).buffers()[1]
    buffers = [valid, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data[source])]
    return pa.Array.from_buffers(_STRING, len(missing), buffers)


# Numbers from text, as Java reads them

#: What CAST to BIGINT takes off both ends; CAST to DOUBLE leaves the last one.
_BLANKS = "".join(map(chr, [*range(33), 127]))
_INTEGER_TEXT = r"^[+-]?[0-9]+$"
_FLOAT_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$"
_HEXADECIMAL_TEXT = r"^[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[dDfF]?$"
_SPECIAL_FLOATS = (("[+-]NaN|(?i:nan)", np.nan), (r"(?i:\+?inf(inity)?)", np.inf), ("(?i:-inf(inity)?)", -np.inf))


def _integer_from_text(text: pa.Array) -> pa.Array:
    text = pc.utf8_trim(text, characters=_BLANKS)
    text = _only_where(pc.match_substring_regex(text, _INTEGER_TEXT), text)
    digits = pc.utf8_ltrim(text, characters="+-0")
    # Nineteen digits always fit a uint64, and more never fit a BIGINT.
    digits = _only_where(pc.less_equal(pc.utf8_length(digits), 19), digits)
    size = pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.uint64())
    is_negative = pc.starts_with(text, "-")
    limit = pc.if_else(is_negative, pa.scalar(2**63, pa.uint64()), pa.scalar(_LARGEST, pa.uint64()))
    wrapped = pc.cast(_only_where(pc.less_equal(size, limit), size), _INTEGER, safe=False)
    return pc.if_else(is_negative, pc.negate(wrapped), wrapped)


def _float_from_text(text: pa.Array) -> pa.Array:
    text = pc.utf8_trim(text, characters=_BLANKS[:-1])
    plain = _only_where(pc.match_substring_regex(text, _FLOAT_TEXT), text)
    result = pc.cast(pc.utf8_rtrim(plain, characters="dDfF"), _FLOAT)
    for pattern, number in _SPECIAL_FLOATS:
        result = pc.if_else(pc.match_substring_regex(text, f"^({pattern})$"), number, result)
    return _with_hexadecimal_floats(text, result)


def _with_hexadecimal_floats(text: pa.Array, result: pa.Array) -> pa.Array:
    """Java reads `0x1.8p3`, too. It is rare, and read by Python."""
    hexadecimal = pc.fill_null(pc.match_substring_regex(text, _HEXADECIMAL_TEXT), False)
    if not pc.any(hexadecimal).as_py():
        return result
    numbers = [_hexadecimal_float(number) for number in pc.filter(text, hexadecimal).to_pylist()]
    return pc.replace_with_mask(result, hexadecimal, pa.array(numbers, _FLOAT))


def _hexadecimal_float(text: str) -> float:
    try:
        return float.fromhex(text.rstrip("dDfF"))
    except OverflowError:
        return -np.inf if text.startswith("-") else np.inf


#: Functions of any number of values, NULL literals among them.
_OF_SEVERAL: dict[str, Callable[[list[Value]], Value]] = {
    "COALESCE": _coalesce,
    "NULLIF": _first_unless_equal,
    "GREATEST": _extreme(lambda value, best: _less(best, value)),
    "LEAST": _extreme(lambda value, best: _less(value, best)),
}
#: Functions that are NULL where an argument is, of scalars as well as columns.
_OF_ONE: dict[str, Callable[..., Value]] = {
    "ABS": _absolute,
    "CEIL": _rounded(pc.ceil),
    "FLOOR": _rounded(pc.floor),
    "SIGN": _sign,
    "SQRT": lambda value: pc.sqrt(_to_float(value)),
    "LENGTH": _length,
    "TRIM": _trimmed,
    "CONCAT": _concatenated,
}
#: Functions that need whole columns.
_OF_COLUMNS: dict[str, Callable[..., pa.Array]] = {
    "LOWER": _in_case(pc.ascii_lower, str.lower),
    "UPPER": _in_case(pc.ascii_upper, str.upper),
    "SUBSTRING": _substring,
}
