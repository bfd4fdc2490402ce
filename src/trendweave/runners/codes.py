"""Arrow columns as integers: codes that tell values apart (keys), and codes that keep their order (comparisons)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

NULL = -1


def key_codes(columns: list[pa.ChunkedArray], length: int) -> np.ndarray:
    """One number per different combination of values, counted from 0 without gaps; NULL is a value of its own.

    NaN equals itself and -0.0 equals 0.0, as everywhere in the language.
    """
    codes = np.zeros(length, np.int64)
    for column in columns:
        codes = _combined(codes, _value_codes(column))
    return codes


def _combined(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if not left.size:
        return left
    width = int(right.max()) + 1
    highest = (int(left.max()) + 1) * width
    pairs = left * width + right
    if highest <= 4 * pairs.size + 1024:
        # Few enough to mark those that occur, which needs no sorting.
        present = np.zeros(highest, np.bool_)
        present[pairs] = True
        return (np.cumsum(present) - 1)[pairs]
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _value_codes(column: pa.ChunkedArray) -> np.ndarray:
    kind = column.type
    if pa.types.is_floating(kind):
        numbers = pc.cast(column, pa.float64()).to_numpy() + 0.0
        known = ~np.asarray(column.is_null())
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        column = pa.chunked_array([pa.array(bits, mask=~known)])
    elif pa.types.is_nested(kind):
        column = pa.chunked_array([pa.array([repr(value) for value in column.to_pylist()], pa.string())])
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column, null_encoding="encode")
    else:
        # A given dictionary may hold duplicates or NULL; a fresh one does not.
        column = pc.dictionary_encode(pc.cast(column, column.type.value_type), null_encoding="encode")
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def order_codes(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of two columns such that comparing codes is comparing values; NULL is -1, all others are not negative."""
    columns = [left] if left is right else list(_alike(left, right))
    numbers, known = [], []
    for column in columns:
        ordered = _ordered(column)
        if ordered is None:
            codes = _ranks(columns)
            break
        numbers.append(ordered[0])
        known.append(ordered[1])
    else:
        codes = _non_negative(numbers, known)
    return codes[0], codes[-1]


def _alike(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Two columns of one type: whole numbers stay whole, other numbers meet as floats, moments as fine timestamps."""
    kinds = left.type, right.type
    if kinds[0] == kinds[1] and not pa.types.is_dictionary(kinds[0]):
        return left, right
    if all(pa.types.is_decimal(kind) or pa.types.is_integer(kind) for kind in kinds):
        if not any(pa.types.is_decimal(kind) for kind in kinds):
            return pc.cast(left, pa.int64()), pc.cast(right, pa.int64())
        scale = max(kind.scale if pa.types.is_decimal(kind) else 0 for kind in kinds)
        common = pa.decimal256(76, scale)
        return pc.cast(left, common), pc.cast(right, common)
    if all(_is_number(kind) for kind in kinds):
        return pc.cast(left, pa.float64()), pc.cast(right, pa.float64())
    if all(pa.types.is_temporal(kind) and not pa.types.is_duration(kind) for kind in kinds):
        finest = "ns" if any(getattr(kind, "unit", "") == "ns" for kind in kinds) else "us"
        return _moments(left, finest), _moments(right, finest)
    if all(pa.types.is_duration(kind) for kind in kinds):
        return pc.cast(left, pa.duration("ns")), pc.cast(right, pa.duration("ns"))
    if all(pa.types.is_duration(kind) or _is_number(kind) for kind in kinds):
        return _seconds(left), _seconds(right)
    return pc.cast(left, pa.large_string()), pc.cast(right, pa.large_string())


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _moments(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray:
    if pa.types.is_date(column.type):
        column = pc.cast(column, pa.timestamp("s"))
    if column.type.tz is not None:
        column = pc.cast(pc.cast(column, pa.int64()), pa.timestamp(column.type.unit))
    return pc.cast(column, pa.timestamp(unit))


def _seconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_duration(column.type):
        return pc.cast(column, pa.float64())
    steps = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
    return pc.divide(pc.cast(pc.cast(column, pa.int64()), pa.float64()), steps)


def _ordered(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Order-preserving int64 numbers and where they are known (None: everywhere); None for values that are no
    numbers."""
    kind = column.type
    known = np.asarray(column.is_valid()) if column.null_count else None
    if pa.types.is_floating(kind):
        numbers = pc.cast(column, pa.float64()).to_numpy() + 0.0
        bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
        return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits), known
    if pa.types.is_boolean(kind):
        column = pc.cast(column, pa.int8())
    elif pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        column = pc.cast(_moments(column, "ns" if getattr(kind, "unit", "") == "ns" else "us"), pa.int64())
    elif pa.types.is_duration(kind):
        column = pc.cast(column, pa.int64())
    elif not pa.types.is_integer(kind):
        return None
    filled = pc.fill_null(column, 0) if known is not None else column
    return pc.cast(filled, pa.int64()).to_numpy(), known


def _non_negative(numbers: list[np.ndarray], known: list[np.ndarray | None]) -> list[np.ndarray]:
    """Moved so that the smallest is 0; ranked where their spread does not fit."""
    real = [part if mask is None else part[mask] for part, mask in zip(numbers, known, strict=True)]
    real = [part for part in real if part.size]
    lowest = min((int(part.min()) for part in real), default=0)
    highest = max((int(part.max()) for part in real), default=0)
    if highest - lowest < 2**62:
        codes = [part - lowest for part in numbers]
    else:
        values = np.unique(np.concatenate(real))
        codes = [np.searchsorted(values, part).astype(np.int64) for part in numbers]
    return [part if mask is None else np.where(mask, part, NULL) for part, mask in zip(codes, known, strict=True)]


def _ranks(columns: list[pa.ChunkedArray]) -> list[np.ndarray]:
    """Ranks of strings, decimals and other values among all that occur; strings by their UTF-8 bytes."""
    together = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    encoded = pc.dictionary_encode(together).unify_dictionaries()
    chunks = encoded.chunks
    values = chunks[0].dictionary if chunks else pa.array([], together.type)
    rank = np.empty(len(values), np.int64)
    rank[pc.sort_indices(values).to_numpy()] = np.arange(len(values))
    codes = [
        np.where(
            np.asarray(chunk.is_valid()), rank[pc.fill_null(chunk.indices, 0).to_numpy()] if len(values) else NULL, NULL
        )
        for chunk in chunks
    ]
    joined = np.concatenate(codes) if codes else np.empty(0, np.int64)
    return np.split(joined, np.cumsum([len(column) for column in columns])[:-1])
