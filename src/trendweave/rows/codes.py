"""Arrow columns as numbers: codes that tell values apart (keys), codes that keep their order (comparisons), and the
numbers that kernels add and compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.expressions.arrow.evaluate import make_columns_comparable
from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels.sorting import number_near, number_present, ordered_bits
from trendweave.planning.plan import AggregateColumn


def as_numbers(column: pa.ChunkedArray, aggregate: AggregateColumn) -> tuple[np.ndarray, np.ndarray | None]:
    """Read a column that is aggregated. Decimals are counted in their last digit.

    Args:
        column: The column.
        aggregate: What is asked of it, for errors.

    Returns:
        int64 or float64 numbers, and where they are known (None: everywhere).

    Raises:
        DataError: A value does not fit 64 bits.
    """
    try:
        numbers, valid = read_numbers(column)
    except pa.ArrowInvalid:
        message = f"{aggregate.function} of {'.'.join(aggregate.path or ())}: a value does not fit 64 bits"
        raise DataError([Problem("TW310", message, "cast the column to a float, or to a smaller scale")]) from None
    if numbers.dtype == np.float64:
        numbers = numbers + 0.0
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
    return numbers, valid


def read_numbers(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers as they are, dates and times in their unit, decimals in their last digit.

    Args:
        column: The column.

    Returns:
        int64 or float64 numbers, 0 where a value is NULL, and which are known (None: all).

    Raises:
        pa.ArrowInvalid: A value does not fit 64 bits.
    """
    kind = column.type
    valid = np.asarray(column.is_valid()) if column.null_count else None
    if pa.types.is_decimal(kind):
        return _last_digits(column, kind.scale), valid
    if pa.types.is_temporal(kind) and kind.bit_width == 32:
        column = pc.cast(column, pa.int32())
    numbers = pc.cast(column, pa.float64() if pa.types.is_floating(kind) else pa.int64())
    return (numbers if valid is None else pc.fill_null(numbers, 0)).to_numpy(), valid


def _last_digits(column: pa.ChunkedArray, scale: int) -> np.ndarray:
    """The whole numbers that decimals are stored as: two 64-bit words each, of which the lower must be enough."""
    array = pc.fill_null(pc.cast(column, pa.decimal128(38, scale)), pa.scalar(0, pa.decimal128(38, scale)))
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    if (words[:, 1] != words[:, 0] >> 63).any():
        raise pa.ArrowInvalid("a decimal does not fit 64 bits")
    return words[:, 0].copy()


#: The code of NULL, which is no value.
NO_VALUE = -1


@dataclass(frozen=True, slots=True)
class DistinctCodes:
    """A code per row, and the value that each code stands for."""

    codes: np.ndarray
    dictionary: pa.Array


def distinct_codes(column: pa.Array) -> DistinctCodes:
    """Number the different values of a column.

    Args:
        column: Values of any type but lists and maps.

    Returns:
        The numbers.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        column = pc.add(column, pa.scalar(0.0, column.type))
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
    encoded = column.dictionary_encode()
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), NO_VALUE).to_numpy(zero_copy_only=False)
    return DistinctCodes(codes, encoded.dictionary)


NULL = -1
#: Numbers that occur are marked in an array with a place for each number up to the largest. Measured on a thousand and
#: on two million numbers, that is quicker than sorting them up to some 16 places per number; half of it leaves a margin
#: and bounds the memory. So few places that they fit a cache are always marked.
_MARKS_PER_NUMBER = 8
_FEW_MARKS = 1024
#: Whole numbers with no more numbers between them than this, per row, are numbered without a hash table.
_NEAR_PER_ROW = 2


def key_codes(columns: list[pa.ChunkedArray], length: int) -> np.ndarray:
    """Number the different combinations of values by their first rows; NULL is a value of its own.

    NaN equals itself and -0.0 equals 0.0, as everywhere in the language.

    Args:
        columns: The columns.
        length: How many rows they have.

    Returns:
        A number per row, counted from 0 without gaps.
    """
    if not columns:
        return np.zeros(length, np.int64)
    codes = _value_codes(columns[0])
    for column in columns[1:]:
        codes = pair_codes(codes, _value_codes(column))
    return codes


def first_of_each(codes: np.ndarray) -> np.ndarray:
    """Find the first row of each code.

    Args:
        codes: Numbers that count from 0 without gaps.

    Returns:
        A row per code.
    """
    first = np.empty(int(codes.max()) + 1 if codes.size else 0, np.int64)
    first[codes[::-1]] = np.arange(codes.size)[::-1]
    return first


def pair_codes(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Number pairs of numbers.

    Args:
        left: Numbers that are not negative.
        right: Others, which count from 0 without gaps.

    Returns:
        A number per pair, counted from 0 without gaps.
    """
    return _number(left * (int(right.max()) + 1) + right) if left.size else left


def different_numbers(numbers: np.ndarray) -> np.ndarray:
    """Sort numbers and keep each once. NumPy's `unique` hashes them, which takes many times as long for large ones.

    Args:
        numbers: Any numbers but NaN.

    Returns:
        The different ones, sorted.
    """
    ordered = np.sort(numbers, axis=None)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if ordered.size else ordered


def present_codes(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the numbers that occur.

    Args:
        numbers: Numbers that are not negative.

    Returns:
        The place of each number among those that occur, and those, sorted.
    """
    highest = int(numbers.max()) + 1 if numbers.size else 0
    if highest > _MARKS_PER_NUMBER * numbers.size + _FEW_MARKS or numbers.size >= 2**31:
        values, places = np.unique(numbers, return_inverse=True)
        return places.astype(np.int64), values
    # Few enough to mark those that occur, which needs no sorting.
    return number_present(np.ascontiguousarray(numbers, np.int64), highest)


def _value_codes(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_dictionary(column.type):
        return _codes_of_dictionaries(column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    array = join_chunks(column)
    kind = array.type
    if _is_whole(kind):
        return _codes_of_whole_numbers(array)
    if pa.types.is_floating(kind):
        bits = ordered_bits(pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False))
        array = pa.array(bits, mask=np.asarray(array.is_null()))
    elif pa.types.is_nested(kind):
        array = pa.array(
            [None if value is None else repr(_drop_negative_zero(value)) for value in array.to_pylist()], pa.string()
        )
    return _arrow_codes(array)


def _is_whole(kind: pa.DataType) -> bool:
    """Values that are whole numbers of 64 bits with a sign."""
    if pa.types.is_integer(kind):
        return bool(kind != pa.uint64())
    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind))


def _codes_of_whole_numbers(array: pa.Array) -> np.ndarray:
    """The numbers are read where they are stored; those of NULL may be any, and are not looked at."""
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    wide = array.cast(pa.int64())
    edges = pc.min_max(wide)
    if not edges["min"].is_valid:
        return np.zeros(len(array), np.int64)
    least, most = edges["min"].as_py(), edges["max"].as_py()
    if not _are_near(least, most, len(wide)):
        return _arrow_codes(wide)
    numbers = np.frombuffer(wide.buffers()[1], np.int64)[wide.offset : wide.offset + len(wide)]
    return number_near(numbers, np.asarray(wide.is_valid()) if wide.null_count else None, least, most)


def _are_near(least: int, most: int, rows: int) -> bool:
    return most - least < _NEAR_PER_ROW * rows + _FEW_MARKS and rows < 2**31


def _number(numbers: np.ndarray) -> np.ndarray:
    """Number int64 numbers by their first rows."""
    if numbers.size:
        least, most = int(numbers.min()), int(numbers.max())
        if _are_near(least, most, numbers.size):
            return number_near(numbers, None, least, most)
    return _arrow_codes(pa.array(numbers))


def _arrow_codes(array: pa.Array) -> np.ndarray:
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _codes_of_dictionaries(chunks: list[pa.DictionaryArray]) -> np.ndarray:
    """Given dictionaries may hold duplicates, NULL and values that do not occur, so their codes are numbered again.
    NULL may also be a row without an entry, which gets an entry of its own."""
    if not chunks:
        return np.empty(0, np.int64)
    null = pa.nulls(1, chunks[0].type.value_type)
    codes = _value_codes(pa.concat_arrays([null, *(chunk.dictionary for chunk in chunks)]))
    first, parts = 1, []
    for chunk in chunks:
        entries = chunk.indices.cast(pa.int64())
        places = pc.fill_null(entries, -first).to_numpy() + first
        parts.append(codes[places])
        first += len(chunk.dictionary)
    return _number(np.concatenate(parts))


def _drop_negative_zero(value: object) -> object:
    """A nested value in which -0.0 is 0.0."""
    match value:
        case float():
            return value + 0.0
        case dict():
            return {name: _drop_negative_zero(inner) for name, inner in value.items()}
        case list():
            return [_drop_negative_zero(inner) for inner in value]
    return value


def order_codes(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Number the values of two columns such that comparing numbers is comparing values.

    Args:
        left: One column.
        right: The other, or the same.

    Returns:
        A number per row of both, -1 for NULL, all others not negative.
    """
    columns = make_columns_comparable([left] if left is right else [left, right])
    ordered = [part for part in map(order_numbers, columns) if part is not None]
    if len(ordered) < len(columns):
        codes = _rank_values(columns)
    else:
        codes = _shift_to_zero([part[0] for part in ordered], [part[1] for part in ordered])
    return codes[0], codes[-1]


def joint_codes(pairs: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Join several pairs of code columns to one.

    Args:
        pairs: Codes as `order_codes` gives them.

    Returns:
        A pair that is equal iff all are equal, and NULL if one of them is.
    """
    length = pairs[0][0].size
    combined = np.zeros(2 * length, np.int64)
    known = np.ones(2 * length, np.bool_)
    for previous, following in pairs:
        both = np.concatenate([previous, following])
        known &= both >= 0
        combined = pair_codes(combined, _number(both))
    codes = np.where(known, combined, NULL)
    if all(previous is following for previous, following in pairs):
        only = codes[:length]
        return only, only
    return codes[:length], codes[length:]


def order_numbers(column: pa.Array) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Write values as int64 numbers of the same order.

    Args:
        column: The values.

    Returns:
        The numbers and where they are known (None: everywhere); None for values without such numbers.
    """
    kind = column.type
    known = np.asarray(column.is_valid()) if column.null_count else None
    if pa.types.is_floating(kind):
        return ordered_bits(column.to_numpy(zero_copy_only=False)), known
    if pa.types.is_date32(kind):
        column = pc.cast(column, pa.int32())
    elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind)):
        return None
    column = pc.cast(column, pa.int64())
    filled = pc.fill_null(column, 0) if known is not None else column
    return filled.to_numpy(), known


def _shift_to_zero(numbers: list[np.ndarray], known: list[np.ndarray | None]) -> list[np.ndarray]:
    """Moved so that the smallest is 0; ranked where their spread does not fit."""
    real = [part if mask is None else part[mask] for part, mask in zip(numbers, known, strict=True)]
    real = [part for part in real if part.size]
    lowest = min((int(part.min()) for part in real), default=0)
    highest = max((int(part.max()) for part in real), default=0)
    if highest - lowest < 2**62:
        codes = [part - lowest for part in numbers]
    else:
        values = different_numbers(np.concatenate(real))
        codes = [np.searchsorted(values, part).astype(np.int64) for part in numbers]
    return [part if mask is None else np.where(mask, part, NULL) for part, mask in zip(codes, known, strict=True)]


def _rank_values(columns: list[pa.Array]) -> list[np.ndarray]:
    """Ranks of strings, decimals and other values among all that occur; strings by their UTF-8 bytes."""
    encoded = pc.dictionary_encode(pa.concat_arrays(columns))
    values = encoded.dictionary
    rank = np.empty(len(values) + 1, np.int64)
    rank[pc.sort_indices(values).to_numpy()] = np.arange(len(values))
    rank[-1] = NULL
    joined = rank[pc.fill_null(encoded.indices, len(values)).to_numpy()]
    return np.split(joined, np.cumsum([len(column) for column in columns])[:-1])
