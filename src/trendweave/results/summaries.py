"""Summaries of forgotten rows as Arrow columns, one row per summary, and back: what is carried on and written down.

Whole numbers of a summary are words in two's complement, the lowest first, all of them with the same number of words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.kernels.inputs import NO_TREND, NO_VALUE
from trendweave.kernels.loops.fold import CHECKED_BITS
from trendweave.kernels.loops.summaries import Algebra, Group, Maps, Summaries, unpack

#: The column with counts, and sums of whole numbers; or all of these as floats.
NUMBERS = "numbers"
#: The columns of the other groups, those of their wide numbers, and how these are read.
_OTHERS: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("sums", "wide sums", Decimal),
    ("largest", "wide largest", int),
)


def to_arrow(algebra: Algebra, summaries: Summaries) -> dict[str, pa.Array]:
    """Columns by name; only those that this algebra has. Numbers take as few bytes as all of them fit in."""
    columns = {NUMBERS: _write_words(algebra.groups[0], summaries.maps[0])}
    for (name, wide_name, _), group, maps in zip(_OTHERS, algebra.groups[1:], summaries.maps[1:], strict=True):
        if group.components:
            columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(maps.numbers.reshape(-1)), group.cells)
            if maps.is_wide().any():
                texts = [None if cells is None else list(map(str, cells)) for cells in maps.wide.tolist()]
                columns[wide_name] = pa.array(texts, pa.list_(pa.string()))
    return columns


def _write_words(group: Group, maps: Maps) -> pa.Array:
    wide = np.flatnonzero(maps.is_wide()).tolist()
    if not wide:
        flat = maps.numbers.reshape(-1)
        return pa.FixedSizeListArray.from_arrays(pa.array(_in_few_bytes(flat)), group.cells)
    stored = np.empty(maps.wide.size, object)
    small = np.flatnonzero(~maps.is_wide())
    stored[small] = [row.tobytes() for row in maps.numbers[small]]
    stored[wide] = maps.wide[wide]
    ends = np.cumsum([len(words) // 8 for words in stored.tolist()])
    words = pa.array(np.frombuffer(b"".join(stored.tolist()), np.int64))
    if (np.diff(ends) == ends[0]).all():
        return pa.FixedSizeListArray.from_arrays(words, int(ends[0]))
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([[0], ends])), words)


def _in_few_bytes(numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype != np.int64 or not numbers.size:
        return numbers
    low, high = int(numbers.min()), int(numbers.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return numbers.astype(next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max))


def from_arrow(algebra: Algebra, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Summaries:
    """The inverse of `to_arrow`. Largest values were stored with marks once, sums of floats as whole numbers.

    Raises:
        DataError: Sums of floats are stored as they were once (TW311).
    """
    if algebra.groups[1].components and _OTHERS[0][0] not in columns:
        message = "sums of floats in the state have version 3, this release reads version 4"
        raise DataError([Problem("TW311", message, "run it with the release that wrote it, or start with no state")])
    found = [_read_words(algebra.groups[0], _one_array(columns[NUMBERS]))]
    for (name, wide_name, read), group in zip(_OTHERS, algebra.groups[1:], strict=True):
        if not group.components:
            size = found[0].wide.size
            found.append(Maps(np.zeros((size, group.cells), group.kind), np.full(size, None)))
            continue
        if name not in columns:
            found.append(_read_marked(algebra, found[0], columns))
            continue
        flat: np.ndarray = np.asarray(_one_array(columns[name]).flatten(), group.kind)
        wide = np.full(found[0].wide.size, None)
        if wide_name in columns:
            wide[:] = [cells and list(map(read, cells)) for cells in columns[wide_name].to_pylist()]
        found.append(Maps(flat.reshape(-1, group.cells), wide))
    return Summaries(tuple(found))


def _read_words(group: Group, stored: pa.Array) -> Maps:
    size = len(stored)
    flat: np.ndarray = np.asarray(stored.flatten(), group.kind)
    if pa.types.is_fixed_size_list(stored.type):
        ends = (1 + np.arange(size)) * stored.type.list_size
    else:
        ends = np.asarray(stored.offsets)[1:] - stored.offsets[0].as_py()
    begins = ends - np.diff(ends, prepend=0)
    numbers: np.ndarray = np.zeros((size, group.cells), group.kind)
    wide = np.full(size, None)
    small = np.flatnonzero(ends - begins == group.cells)
    numbers[small] = flat[begins[small][:, None] + np.arange(group.cells)]
    if group.kind is np.int64:
        is_large = (numbers >= 2**CHECKED_BITS) | (numbers <= -(2**CHECKED_BITS))
        chosen = np.flatnonzero((ends - begins > group.cells) | is_large.any(axis=1)).tolist()
        words = flat.tobytes() if chosen else b""
        for one in chosen:
            wide[one] = words[8 * begins[one] : 8 * ends[one]]
        numbers[chosen] = 0
    return Maps(numbers, wide)


def _read_marked(algebra: Algebra, counted: Maps, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Maps:
    """Largest values from codes, marks of those that are known, and the ways on which there are some."""
    group, counts = algebra.groups[2], algebra.groups[0]
    shape = group.shape
    by_state = (len(counted.wide), shape.past, shape.components, shape.lines)
    codes, marks = (np.asarray(_one_array(columns[name]).flatten()).reshape(by_state) for name in ("codes", "marks"))
    numbers = counted.numbers.copy()
    for one in np.flatnonzero(counted.is_wide()).tolist():
        numbers[one] = [cell != 0 for cell in unpack(counted.wide[one], counts.cells)]
    ways = numbers.reshape(-1, shape.past, counts.shape.components, shape.lines)[:, :, :1] != 0
    found = np.where(marks != 0, codes.astype(np.int64), np.where(ways, NO_VALUE, NO_TREND))
    odd = ((marks != 0) & (codes <= NO_VALUE)).any(axis=(1, 2, 3))
    wide = np.full(len(found), None)
    found, known = found.reshape(-1, group.cells), (marks != 0).reshape(-1, group.cells)
    for one in np.flatnonzero(odd).tolist():
        pairs = zip(found[one].tolist(), known[one].tolist(), strict=True)
        wide[one] = [code + 2**64 if is_known else code for code, is_known in pairs]
    return Maps(found, wide)


def _one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
