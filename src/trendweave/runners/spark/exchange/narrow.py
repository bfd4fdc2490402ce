"""Whole numbers in as few bytes as they need, on the way from task to task.

What travels is copied and compressed several times by Spark, so fewer bytes are worth one more pass over them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

_WIDTHS = (np.uint8, np.uint16, np.uint32)
#: Times in microseconds are often whole seconds or milliseconds. So many are looked at before all of them are.
_STEPS = (1_000_000, 1_000)
_FEW = 1_000


class Scale(NamedTuple):
    """How numbers are written: how many steps above the lowest they are; as they are where the step is 0."""

    low: int = 0
    step: int = 0


PLAIN = Scale()


def narrow(column: pa.Array, order: np.ndarray | None) -> tuple[pa.Array, Scale]:
    """A column in another order (None: its own), and how it is written.

    Whole numbers and times of 64 bits without NULL are written by their distance to the lowest one where that takes
    fewer bytes.
    """
    if not _is_wide(column.type) or column.null_count or not len(column):
        return (column if order is None else column.take(pa.array(order))), PLAIN
    numbers = _stored(column, np.dtype(np.int64))
    low, high = int(numbers.min()), int(numbers.max())
    step = _find_step(numbers, low, high)
    width = _find_width((high - low) // step)
    if width is None:
        taken = column if order is None else pa.array(numbers.take(order)).view(column.type)
        return taken, Scale(low)
    distance = numbers - low
    distance = (distance if step == 1 else distance // step).astype(width)
    return pa.array(distance if order is None else distance.take(order)), Scale(low, step)


def widen(parts: Sequence[pa.Array], scales: Sequence[Scale], kind: pa.DataType) -> pa.ChunkedArray:
    """Parts of a column that `narrow` wrote, one after the other, in the type that they had."""
    if not any(scale.step for scale in scales) or any(part.null_count for part in parts):
        chunks = [
            widen([part], [scale], kind).chunk(0) if scale.step else part
            for part, scale in zip(parts, scales, strict=True)
        ]
        return pa.chunked_array(chunks, kind)
    numbers = np.empty(sum(map(len, parts)), np.int64)
    done = 0
    for part, scale in zip(parts, scales, strict=True):
        place = numbers[done : done + len(part)]
        if not scale.step:
            place[:] = _stored(part, np.dtype(np.int64))
        elif scale.step == 1:
            np.add(_stored(part, _width_of(part)), np.int64(scale.low), out=place, dtype=np.int64)
        else:
            np.multiply(_stored(part, _width_of(part)), np.int64(scale.step), out=place, dtype=np.int64)
            place += scale.low
        done += len(part)
    return pa.chunked_array([pa.array(numbers).view(kind)])


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


def _width_of(array: pa.Array) -> np.dtype:
    return np.dtype(array.type.to_pandas_dtype())


def _stored(array: pa.Array, width: np.dtype) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], width)[array.offset : array.offset + len(array)]


def _is_wide(kind: pa.DataType) -> bool:
    return bool(kind == pa.int64() or pa.types.is_timestamp(kind))
