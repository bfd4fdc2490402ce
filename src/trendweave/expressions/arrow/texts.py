"""Text functions, LIKE, and numbers from text."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.arrow.numbers import truncate
from trendweave.expressions.arrow.values import (
    FLOAT,
    INTEGER,
    LARGEST,
    NO_ANSWER,
    STRING,
    Value,
    fill_nulls,
    keep_where,
)
from trendweave.language.regular_expressions import translate


def match_like(value: Value, pattern: str) -> Value:
    """Test a text against a LIKE pattern.

    Args:
        value: A column, or a scalar where all rows have the same value.
        pattern: The pattern.

    Returns:
        True, False or NULL.
    """
    if types.is_null(value.type):
        return NO_ANSWER
    return pc.match_substring_regex(value, f"(?s)^{_regular_expression(pattern)}$")


def match_regex(value: Value, pattern: str) -> Value:
    """Test whether a text contains a match of a regular expression.

    Args:
        value: A column, or a scalar where all rows have the same value.
        pattern: The expression.

    Returns:
        True, False or NULL.
    """
    if types.is_null(value.type):
        return NO_ANSWER
    return pc.match_substring_regex(value, translate(pattern, "re2"))


def _regular_expression(pattern: str) -> str:
    r"""`%` is any text, `_` any character; `\` takes the special meaning from `%`, `_` and `\`. Before anything else,
    where Spark would fail while it runs, it stands for itself."""
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    return "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[-1]) for part in parts)


def concatenate(*values: Value) -> Value:
    """CONCAT: join texts; NULL where one of them is.

    Returns:
        The joined text.
    """
    return pc.binary_join_element_wise(*values, pa.scalar("", STRING), null_handling="emit_null")


def count_characters(value: Value) -> Value:
    """LENGTH of a text in characters.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        How many there are.
    """
    return pc.cast(pc.utf8_length(value), INTEGER)


def trim(value: Value) -> Value:
    """TRIM: take spaces away from both ends.

    Args:
        value: A column, or a scalar where all rows have the same value.

    Returns:
        The rest.
    """
    return pc.utf8_trim(value, characters=" ")


def _in_case(of_ascii: Callable[[Value], Value], of_text: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """LOWER or UPPER. Arrow maps character to character, Spark knows that ß is SS: texts that are not ASCII are mapped
    by Python, each distinct one once."""

    def in_case(column: pa.Array) -> pa.Array:
        # Copied, so that its text begins at byte 0: of a slice, Arrow's ASCII functions give damaged text.
        column = pa.concat_arrays([column, column.slice(0, 0)])
        others = pc.fill_null(pc.invert(pc.string_is_ascii(column)), False)
        if not pc.any(others).as_py():
            return of_ascii(column)
        distinct = pc.filter(column, others).dictionary_encode()
        mapped = pa.array([of_text(text) for text in distinct.dictionary.to_pylist()], STRING)
        return pc.replace_with_mask(of_ascii(column), others, mapped.take(distinct.indices))

    return in_case


lower_case = _in_case(pc.ascii_lower, str.lower)
upper_case = _in_case(pc.ascii_upper, str.upper)


def cut_substring(text: pa.Array, position: pa.Array, length: pa.Array | None = None) -> pa.Array:
    """SUBSTRING: positions count from 1, negative ones from the end; 0 is 1. A part before the beginning counts into
    the length.

    Args:
        text: The texts.
        position: Where the part begins.
        length: How long it is; None for the rest of the text.

    Returns:
        The parts; NULL where position or length do not fit 32 bits, as Spark's own types for them.
    """
    position = _of_32_bits(position)
    length = pa.repeat(pa.scalar(2**31 - 1, INTEGER), len(text)) if length is None else _of_32_bits(length)
    missing = ~(_valid(text) & _valid(position) & _valid(length))
    first_byte, first_character, data = _characters(text)
    characters = np.diff(first_character)
    place = fill_nulls(position)
    start = np.where(place > 0, place - 1, np.where(place < 0, characters + place, 0))
    end = np.clip(start + fill_nulls(length), 0, characters)
    start = np.minimum(np.clip(start, 0, characters), end)
    start_byte, end_byte = first_byte[first_character[:-1] + start], first_byte[first_character[:-1] + end]
    return _text_of_slices(data, start_byte, np.where(missing, 0, end_byte - start_byte), missing)


def _of_32_bits(value: pa.Array) -> pa.Array:
    value = truncate(value)
    return keep_where(pc.and_(pc.less(value, 2**31), pc.greater_equal(value, -(2**31))), value)


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
    return pa.Array.from_buffers(STRING, len(missing), buffers)


# Numbers from text, as Java reads them

#: What CAST to BIGINT takes off both ends; CAST to DOUBLE leaves the last one.
_BLANKS = "".join(map(chr, [*range(33), 127]))
_INTEGER_TEXT = r"^[+-]?[0-9]+$"
_FLOAT_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?$"
_HEXADECIMAL_TEXT = r"^[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[dDfF]?$"
_SPECIAL_FLOATS = (("[+-]NaN|(?i:nan)", np.nan), (r"(?i:\+?inf(inity)?)", np.inf), ("(?i:-inf(inity)?)", -np.inf))


def read_integer(text: pa.Array) -> pa.Array:
    """Read texts as CAST ... AS BIGINT does.

    Args:
        text: The texts.

    Returns:
        Integers; NULL where a text is none or does not fit.
    """
    text = pc.utf8_trim(text, characters=_BLANKS)
    text = keep_where(pc.match_substring_regex(text, _INTEGER_TEXT), text)
    digits = pc.utf8_ltrim(text, characters="+-0")
    # Nineteen digits always fit a uint64, and more never fit a BIGINT.
    digits = keep_where(pc.less_equal(pc.utf8_length(digits), 19), digits)
    size = pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.uint64())
    is_negative = pc.starts_with(text, "-")
    limit = pc.if_else(is_negative, pa.scalar(2**63, pa.uint64()), pa.scalar(LARGEST, pa.uint64()))
    wrapped = pc.cast(keep_where(pc.less_equal(size, limit), size), INTEGER, safe=False)
    return pc.if_else(is_negative, pc.negate(wrapped), wrapped)


def read_float(text: pa.Array) -> pa.Array:
    """Read texts as CAST ... AS DOUBLE does.

    Args:
        text: The texts.

    Returns:
        Floats; NULL where a text is none.
    """
    text = pc.utf8_trim(text, characters=_BLANKS[:-1])
    plain = keep_where(pc.match_substring_regex(text, _FLOAT_TEXT), text)
    result = pc.cast(pc.utf8_rtrim(plain, characters="dDfF"), FLOAT)
    for pattern, number in _SPECIAL_FLOATS:
        result = pc.if_else(pc.match_substring_regex(text, f"^({pattern})$"), number, result)
    return _with_hexadecimal_floats(text, result)


def _with_hexadecimal_floats(text: pa.Array, result: pa.Array) -> pa.Array:
    """Java reads `0x1.8p3`, too. It is rare, and read by Python."""
    hexadecimal = pc.fill_null(pc.match_substring_regex(text, _HEXADECIMAL_TEXT), False)
    if not pc.any(hexadecimal).as_py():
        return result
    numbers = [_hexadecimal_float(number) for number in pc.filter(text, hexadecimal).to_pylist()]
    return pc.replace_with_mask(result, hexadecimal, pa.array(numbers, FLOAT))


def _hexadecimal_float(text: str) -> float:
    try:
        return float.fromhex(text.rstrip("dDfF"))
    except OverflowError:
        return -np.inf if text.startswith("-") else np.inf
