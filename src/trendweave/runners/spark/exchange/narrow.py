"""Numbers in as few bytes as they need, on the way from task to task.

What travels is copied, checked and compressed several times by Spark, so fewer bytes are worth one more pass over them
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trendweave.runners.spark.exchange.decimal_floats import find_whole, from_whole

_WIDTHS = (np.uint8, np.uint16, np.uint32)
#: Times in microseconds are often whole seconds or milliseconds. So many are looked at before all of them are.
_STEPS = (1_000_000, 1_000)
_FEW = 1_000


class Scale(NamedTuple):
    """How numbers are written: how many steps above the lowest they are; as they are where the step is 0. Floats are
    whole numbers of the `parts`-th part of one."""

    low: int = 0
    step: int = 0
    parts: int = 0


PLAIN = Scale()


def narrow(column: pa.Array, order: np.ndarray | None) -> tuple[pa.Array, Scale]:
    """A column in another order (None: its own), and how it is written.

    Whole numbers, times and floats of 64 bits without NULL are written by their distance to the lowest one where that
    takes fewer bytes. Where all are one number, there is nothing to write: Arrow's NULLs take no bytes.
    """
    if not _is_wide(column.type) or column.null_count or not len(column):
        return _taken(column, order), PLAIN
    numbers, parts = _stored(column, np.dtype(np.int64)), 0
    if pa.types.is_floating(column.type):
        found = find_whole(_stored(column, np.dtype(np.float64)))
        if found is None:
            return pa.array(_in_order(_stored(column, np.dtype(np.float64)), order)), PLAIN
        numbers, parts = found
    low, high = int(numbers.min()), int(numbers.max())
    if low == high:
        return pa.nulls(len(column)), Scale(low, 1, parts)
    step = _find_step(numbers, low, high)
    width = _find_width((high - low) // step)
    if width is None:
        taken = column if order is None else pa.array(_stored(column, np.dtype(np.int64)).take(order)).view(column.type)
        return taken, PLAIN if parts else Scale(low)
    distance = numbers - low
    distance = (distance if step == 1 else distance // step).astype(width)
    return pa.array(_in_order(distance, order)), Scale(low, step, parts)


def widen(parts: Sequence[pa.Array], scales: Sequence[Scale], kind: pa.DataType) -> pa.ChunkedArray:
    """Parts of a column that `narrow` wrote, one after the other, in the type that they had."""
    pairs = list(zip(parts, scales, strict=True))
    if not any(scale.step for scale in scales) or any(part.null_count and not scale.step for part, scale in pairs):
        chunks = [widen([part], [scale], kind).chunk(0) if scale.step else part for part, scale in pairs]
        return pa.chunked_array(chunks, kind)
    is_float = pa.types.is_floating(kind)
    width = np.dtype(np.float64 if is_float else np.int64)
    numbers = np.empty(sum(map(len, parts)), width)
    done = 0
    for part, scale in pairs:
        place = numbers[done : done + len(part)]
        if not scale.step:
            place[:] = _stored(part, width)
        elif is_float:
            place[:] = from_whole(_read_whole(part, scale), scale.parts)
        else:
            _read_whole(part, scale, place)
        done += len(part)
    return pa.chunked_array([pa.array(numbers).view(kind)])


def _read_whole(part: pa.Array, scale: Scale, place: np.ndarray | None = None) -> np.ndarray:
    """The whole numbers that were written, at their place where they have one."""
    place = np.empty(len(part), np.int64) if place is None else place
    if pa.types.is_null(part.type):
        place[:] = scale.low
    elif scale.step == 1:
        np.add(_stored(part, _width_of(part)), np.int64(scale.low), out=place, dtype=np.int64)
    else:
        np.multiply(_stored(part, _width_of(part)), np.int64(scale.step), out=place, dtype=np.int64)
        place += scale.low
    return place


def _find_step(numbers: np.ndarray, low: int, high: int) -> int:
    """The steps that all numbers are made of, as far as it is worth knowing."""
    if _find_width(high - low) is not None:
        return 1
    for step in _STEPS:
        if _find_width((high - low) // step) is not None and not ((numbers[:_FEW] - low) % step).any():
            # So far apart that their distance may not fit 64 bits, but then no step would have been worth it.
            return step if not ((numbers - low) % step).any() else 1
    return 1


def _find_width(distance: int) -> type[np.unsignedinteger] | None:
    return next((width for width in _WIDTHS if distance <= np.iinfo(width).max), None)


def _in_order(numbers: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    return numbers if order is None else numbers.take(order)


def _taken(column: pa.Array, order: np.ndarray | None) -> pa.Array:
    return column if order is None else column.take(pa.array(order))


def _width_of(array: pa.Array) -> np.dtype:
    return np.dtype(array.type.to_pandas_dtype())


def _stored(array: pa.Array, width: np.dtype) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array)]


def _is_wide(kind: pa.DataType) -> bool:
    return bool(kind == pa.int64() or kind == pa.float64() or pa.types.is_timestamp(kind))
