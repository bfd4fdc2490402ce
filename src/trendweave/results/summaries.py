"""Summaries of forgotten rows as Arrow columns, one row per summary, and back: what is carried on and written down.

Whole numbers of a summary are words in two's complement, the lowest first, all of them with the same number of words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.values import join_chunks
from trendweave.kernels.aggregates.exact_numbers import DECIMALS
from trendweave.kernels.inputs import NO_TREND, NO_VALUE
from trendweave.kernels.loops.fold import CHECKED_BITS
from trendweave.kernels.loops.summaries import (
    Algebra,
    Group,
    Maps,
    Summaries,
    narrow,
    pack,
    unpack,
    widen_codes,
)

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
        if group.aggregates:
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
    """The inverse of `to_arrow`. Sums of floats were whole numbers with exponents once, largest values had marks."""
    numbers = join_chunks(columns[NUMBERS])
    if algebra.groups[1].aggregates and _OTHERS[0][0] not in columns:
        return _read_exponents(algebra, numbers, columns)
    found = [_read_words(algebra.groups[0], numbers, algebra.groups[0].cells)]
    for (name, wide_name, read), group in zip(_OTHERS, algebra.groups[1:], strict=True):
        if not group.aggregates:
            size = found[0].wide.size
            found.append(Maps(np.zeros((size, group.cells), group.kind), np.full(size, None)))
            continue
        if name not in columns:
            found.append(_read_marked(algebra, found[0], columns))
            continue
        flat: np.ndarray = np.asarray(join_chunks(columns[name]).flatten(), group.kind)
        wide = np.full(found[0].wide.size, None)
        if wide_name in columns:
            wide[:] = [cells and list(map(read, cells)) for cells in columns[wide_name].to_pylist()]
        found.append(Maps(flat.reshape(-1, group.cells), wide))
    return Summaries(tuple(found))


def _read_words(group: Group, stored: pa.Array, cells: int) -> Maps:
    size = len(stored)
    flat: np.ndarray = np.asarray(stored.flatten(), group.kind)
    if pa.types.is_fixed_size_list(stored.type):
        ends = (1 + np.arange(size)) * stored.type.list_size
    else:
        ends = np.asarray(stored.offsets)[1:] - stored.offsets[0].as_py()
    begins = ends - np.diff(ends, prepend=0)
    numbers: np.ndarray = np.zeros((size, cells), group.kind)
    wide = np.full(size, None)
    small = np.flatnonzero(ends - begins == cells)
    numbers[small] = flat[begins[small][:, None] + np.arange(cells)]
    if group.kind is np.int64:
        is_large = (numbers >= 2**CHECKED_BITS) | (numbers <= -(2**CHECKED_BITS))
        chosen = np.flatnonzero((ends - begins > cells) | is_large.any(axis=1)).tolist()
        words = flat.tobytes() if chosen else b""
        for one in chosen:
            wide[one] = words[8 * begins[one] : 8 * ends[one]]
        numbers[chosen] = 0
    return Maps(numbers, wide)


# As releases wrote them that summed floats exactly: marks of infinity (both signs), of no number, and of what is known.
_ODD = {1: math.inf, 2: -math.inf, 3: math.nan}
_NO_NUMBER, _KNOWN = 4, 8


def _read_exponents(algebra: Algebra, stored: pa.Array, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Summaries:
    """Sums of floats from whole numbers times powers of two, one for each sum of a summary."""
    whole, floats, _ = algebra.groups
    shape, lines = whole.shape, whole.shape.lines
    placed = ((one, group, place) for group in (0, 1) for place, one in enumerate(algebra.groups[group].aggregates))
    places = [(group, place) for _, group, place in sorted(placed)]
    sums = [place for place, (group, _) in enumerate(places) if group == 1]
    maps = _read_words(whole, stored, shape.past * (1 + len(places)) * lines)
    exponents = np.asarray(join_chunks(columns["exponents"]).flatten()).reshape(-1, len(sums)).tolist()
    marks = np.asarray(join_chunks(columns["marks"]).flatten()).reshape(len(exponents), shape.past, -1, lines)
    counted: list[bytes] = []
    wide: list[list[Decimal]] = []
    with localcontext(DECIMALS):
        for number, of_sums in enumerate(exponents):
            words = maps.wide[number] or maps.numbers[number].tobytes()
            cells = np.array(unpack(words, maps.numbers.shape[1]), object).reshape(shape.past, -1, lines)
            added = np.array([[[Decimal(one) for one in row] for row in cells[q, [0]]] for q in range(shape.past)])
            added = np.repeat(added, 1 + len(floats.aggregates), axis=1)
            for place, (exponent, old) in enumerate(zip(of_sums, sums, strict=True)):
                factor = Decimal(2) ** (0 if exponent == 1024 else exponent)
                for at, mark in np.ndenumerate(marks[number, :, place]):
                    odd = math.nan if mark & _NO_NUMBER else _ODD.get(mark & 3)
                    added[at[0], places[old][1] + 1, at[1]] = (
                        cells[at[0], 1 + old, at[1]] * factor if odd is None else Decimal(odd)
                    )
            kept = [0, *(1 + place for place, (group, _) in enumerate(places) if group == 0)]
            counted.append(pack(cells[:, kept].reshape(-1).tolist()))
            wide.append(added.reshape(-1).tolist())
    of_whole = Maps(np.zeros((len(wide), whole.cells), np.int64), np.empty(len(wide), object))
    of_floats = Maps(np.zeros((len(wide), floats.cells)), np.empty(len(wide), object))
    of_whole.wide[:], of_floats.wide[:] = counted, wide
    narrow(whole, np.arange(len(wide)), of_whole)
    narrow(floats, np.arange(len(wide)), of_floats)
    without = np.delete(marks, np.arange(len(sums)), axis=2)
    rest = {**columns, "marks": pa.array([one.reshape(-1) for one in without])}
    largest = algebra.groups[2]
    nothing = Maps(np.zeros((len(wide), largest.cells), np.int64), np.full(len(wide), None))
    return Summaries((of_whole, of_floats, _read_marked(algebra, of_whole, rest) if largest.aggregates else nothing))


def _read_marked(algebra: Algebra, counted: Maps, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> Maps:
    """Largest values from codes, marks of those that are known, and the ways on which there are some."""
    group, counts = algebra.groups[2], algebra.groups[0]
    shape = group.shape
    by_state = (len(counted.wide), shape.past, shape.components, shape.lines)
    codes, marks = (np.asarray(join_chunks(columns[name]).flatten()).reshape(by_state) for name in ("codes", "marks"))
    numbers = counted.numbers.copy()
    for one in np.flatnonzero(counted.is_wide()).tolist():
        numbers[one] = [cell != 0 for cell in unpack(counted.wide[one], counts.cells)]
    ways = numbers.reshape(-1, shape.past, counts.shape.components, shape.lines)[:, :, :1] != 0
    found = np.where(marks == _KNOWN, codes.astype(np.int64), np.where(ways, NO_VALUE, NO_TREND))
    odd = (marks == _KNOWN) & (codes <= NO_VALUE)
    found, odd = found.reshape(-1, group.cells), odd.reshape(-1, group.cells)
    wide = np.full(len(found), None)
    for one in np.flatnonzero(odd.any(axis=1)).tolist():
        wide[one] = widen_codes(found[one], odd[one])
    return Maps(found, wide)
