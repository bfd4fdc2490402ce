"""The secondary index of a data file: entries (value, row, time) sorted by the value of one column, and lookups in
them that read no data.

Comparisons with a constant become ranges of codes: 64-bit whole numbers that are in the order of the values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import OptionError, Problem
from trendweave.kernels.sorting import order_by_time
from trendweave.programs.operators.measured import LEAST, MOST, codes_of, is_float, is_measured, is_text, measure
from trendweave.rows.times import as_steps, has_time, time_type
from trendweave.store.index.files import ArrayFile, DamagedIndex, tell_of_damage
from trendweave.store.index.light import compare_texts, own_schema
from trendweave.store.layout.reading import RowReader

OPERATORS = ("=", "<>", "<", "<=", ">", ">=")
#: Beyond this, whole numbers that differ may be one float.
_EXACT = 2**53
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9

Ranges = list[tuple[int, int]]


def code_ranges(kind: pa.DataType, operator: str, value: Any) -> Ranges:
    """Ranges of codes, both ends included, in which all values lie that compare so with a constant.

    Args:
        kind: The type of the column, one that is measured.
        operator: One of `OPERATORS`.
        value: A number, or a date or time for columns of such.

    Raises:
        OptionError: The operator or the value is none of these.
    """
    if operator not in OPERATORS:
        raise _not_understood(f"{operator} is no comparison", f"write one of {' '.join(OPERATORS)}")
    low, high = _float_codes(value) if is_float(kind) else _whole_codes(kind, value)
    # What certainly equals the value lies in [low, high]; where both are one code, the comparison is exact.
    exact = low == high
    if operator == "=":
        return _clipped([(low, high)])
    if operator == "<>":
        return _clipped([(LEAST, low - 1), (high + 1, MOST)] if exact else [(LEAST, MOST)])
    if operator in ("<", "<="):
        return _clipped([(LEAST, low - 1 if operator == "<" and exact else high)])
    return _clipped([(high + 1 if operator == ">" and exact else low, MOST)])


def _clipped(ranges: Ranges) -> Ranges:
    return [(max(LEAST, low), min(MOST, high)) for low, high in ranges if low <= high and low <= MOST and high >= LEAST]


def _float_codes(value: Any) -> tuple[int, int]:
    number = _number(value)
    if isinstance(number, float):
        code = int(codes_of(np.array([number]))[0])
        return code, code
    try:
        near = float(number)
    except OverflowError:
        near = math.inf if number > 0 else -math.inf
    code = int(codes_of(np.array([near]))[0])
    exact = math.isfinite(near) and Fraction(near) == number
    return (code, code) if exact else (code - 1, code + 1)


def _whole_codes(kind: pa.DataType, value: Any) -> tuple[int, int]:
    if pa.types.is_temporal(kind):
        number: Fraction | float = _in_unit(kind, value)
    elif pa.types.is_decimal(kind):
        found = _number(value)
        number = found if isinstance(found, float) and not math.isfinite(found) else Fraction(found) * 10**kind.scale
    else:
        number = _number(value)
    if isinstance(number, float):
        if math.isnan(number) or number == math.inf:
            return MOST + 1, MOST + 1
        if number == -math.inf:
            return LEAST - 1, LEAST - 1
        number = Fraction(number)
    # Whole numbers beyond 53 bits may be compared as floats; decimals, too.
    slack = 0 if abs(number) < _EXACT and not pa.types.is_decimal(kind) else int(abs(number)) // 2**50 + 1
    low, high = math.floor(number), math.ceil(number)
    return (low, high) if not slack else (low - slack, high + slack)


def _number(value: Any) -> Fraction | float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, Decimal, Fraction, np.number)):
        raise _not_understood(f"{value!r} is no number", "compare a column of numbers with a number")
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    return Fraction(value) if isinstance(value, (Decimal, Fraction)) else Fraction(int(value))


def _in_unit(kind: pa.DataType, value: Any) -> Fraction:
    """A date or time in the unit of a column; a number is in that unit already."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return Fraction(int(value))
    unit = _DAY if pa.types.is_date32(kind) else _NANOSECONDS["ms" if pa.types.is_date64(kind) else kind.unit]
    try:
        scalar = pa.scalar(value)
    except pa.ArrowException as error:
        raise _not_understood(f"{value!r} is no date or time", "write a datetime or a date") from error
    if pa.types.is_date32(scalar.type):
        return Fraction(scalar.value * _DAY, unit)
    if pa.types.is_timestamp(scalar.type) or pa.types.is_duration(scalar.type):
        return Fraction(scalar.value * _NANOSECONDS[scalar.type.unit], unit)
    raise _not_understood(f"{value!r} is no date or time", "write a datetime or a date")


def _not_understood(message: str, hint: str) -> OptionError:
    return OptionError([Problem("TW408", message, hint)])


#: Every so many entries the value is kept a second time, close together: where to look, and how many there are.
PAGE = 4096


def build_secondary(reader: RowReader, time: str, column: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """The entries of a file; None where the file has no such column, or one that has no order.

    Args:
        reader: Reads the file in its own columns.
        time: The column of the time.
        column: The column to sort by.

    Returns:
        Facts and arrays for `write_arrays`.
    """
    parquet = reader.files.parquet(reader.file)
    schema = own_schema(parquet)
    if column not in schema.names:
        return None
    groups = list(range(parquet.metadata.num_row_groups))
    table = RowReader(reader.files, reader.file, schema).read(groups, list(dict.fromkeys([time, column])))
    kept = np.asarray(pc.and_(has_time(table.column(time)), pc.is_valid(table.column(column))))
    rows = np.flatnonzero(kept)
    table = table.filter(pa.array(kept)) if rows.size < table.num_rows else table
    times = as_steps(table.column(time), time_type(schema.field(time).type))
    facts = {"column": column, "type": str(schema.field(column).type), "rows": int(kept.size)}
    if is_text(schema.field(column).type):
        return facts, _text_arrays(table.column(column), rows, times)
    if not is_measured(schema.field(column).type):
        return None
    measured = measure(table.column(column))
    if measured is None:
        return None
    order, _, codes = order_by_time(np.zeros(rows.size, np.int64), codes_of(measured.values), 1)
    arrays = {"codes": codes, "fences": codes[::PAGE].copy()}
    return facts, {**arrays, "rows": rows[order].astype(np.uint32), "times": times[order]}


def _text_arrays(column: pa.ChunkedArray, rows: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    encoded = column.combine_chunks().dictionary_encode()
    texts = encoded.dictionary.cast(pa.large_binary())
    ranks = np.empty(len(texts), np.int64)
    ranked = np.asarray(pc.sort_indices(texts))
    ranks[ranked] = np.arange(len(texts))
    codes = ranks[encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    order, starts, _ = order_by_time(codes, np.arange(rows.size), len(texts))
    ordered = texts.take(pa.array(ranked))
    _, offsets, data = ordered.buffers()
    bounds = np.frombuffer(offsets, np.int64)[ordered.offset : ordered.offset + len(ordered) + 1]
    letters = np.frombuffer(data or b"", np.uint8)[bounds[0] : bounds[-1]] if len(ordered) else np.empty(0, np.uint8)
    return {
        "text_ends": bounds[1:] - bounds[0],
        "letters": letters,
        "starts": starts,
        "rows": rows[order].astype(np.uint32),
        "times": times[order],
    }


class SecondaryIndex:
    """The entries of one file."""

    def __init__(self, source: ArrayFile) -> None:
        self._source = source
        self.is_text = "starts" in source
        self.size = source.length("rows")

    @cached_property
    def _fences(self) -> np.ndarray:
        return self._source.array("fences")

    def places_of_codes(self, ranges: Ranges) -> list[tuple[int, int]]:
        """Where the entries are whose values lie in some ranges of codes."""
        return [(self._place(low), self._place(high + 1)) for low, high in ranges]

    def _place(self, code: int) -> int:
        """Before which entry values are below a code."""
        if code <= LEAST:
            return 0
        if code > MOST:
            return self.size
        fences = self._fences
        page = int(np.searchsorted(fences, code))  # all entries from the fence on are not below it
        if page == 0:
            return 0
        first = (page - 1) * PAGE
        part = self._source.part("codes", first, min(first + PAGE, self.size))
        return first + int(np.searchsorted(part, code))

    def places_of_texts(self, operator: str, value: str) -> list[tuple[int, int]]:
        """Where the entries are whose strings compare so with a value."""
        starts = self._source.array("starts")
        texts = self._texts()
        holds = np.array(compare_texts(texts, operator, value), np.bool_)
        chosen = np.flatnonzero(holds)
        if not chosen.size:
            return []
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1)
        return [(int(starts[run[0]]), int(starts[run[-1] + 1])) for run in runs]

    def _texts(self) -> list[str]:
        ends = self._source.array("text_ends")
        letters = self._source.array("letters")
        offsets = pa.py_buffer(np.concatenate(([0], ends)).astype(np.int64))
        found = pa.LargeStringArray.from_buffers(ends.size, offsets, pa.py_buffer(letters.tobytes()))
        return found.to_pylist()

    def entries(self, places: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        """Times and rows of entries."""
        parts = [(self._source.part("times", *place), self._source.part("rows", *place)) for place in places]
        if not parts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        times, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return times, rows.astype(np.int64)


@dataclass(frozen=True)
class Hits:
    """Events that a lookup found, in order of time, file and row; perhaps a few too many, never too few.

    Attributes:
        time: Their times, in steps.
        file: The numbers of their files.
        row: Their rows in these files.
        missing: Files that have no entries: each of their events may be one.
        entries_read: How many entries were read.
    """

    time: np.ndarray
    file: np.ndarray
    row: np.ndarray
    missing: tuple[int, ...]
    entries_read: int


@dataclass(frozen=True)
class Estimate:
    """How many events a lookup would find.

    Attributes:
        entries: How many of those in files with entries.
        of: How many entries these files have.
        missing: Files that have none.
        per_file: How many in each file; none in those that have no entries.
    """

    entries: int
    of: int
    missing: tuple[int, ...]
    per_file: np.ndarray


class Lookups:
    """The entries of one column in all files.

    Args:
        kind: The type of the column in the store.
        indexes: One per file, or None.
    """

    def __init__(self, kind: pa.DataType, indexes: Sequence[SecondaryIndex | None]) -> None:
        self._kind, self._indexes = kind, list(indexes)

    def find(self, comparisons: Sequence[tuple[str, Any]], in_order: bool = True) -> Hits:
        """Events whose value compares so with all constants; in any order where none is asked for."""
        times, files, rows, missing = [], [], [], []
        for number, index in self._each():
            try:
                found = index.entries(self._places(index, comparisons)) if index is not None else None
            except DamagedIndex as error:
                self._drop(number, error)
                found = None
            if found is None:
                missing.append(number)
                continue
            times.append(found[0])
            rows.append(found[1])
            files.append(np.full(found[0].size, number, np.int32))
        time, file, row = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (times, files, rows))
        if not in_order:
            return Hits(time, file.astype(np.int32), row, tuple(missing), int(time.size))
        order = np.lexsort((row, file, time))
        return Hits(time[order], file[order].astype(np.int32), row[order], tuple(missing), int(time.size))

    def estimate(self, comparisons: Sequence[tuple[str, Any]]) -> Estimate:
        """How many events that are: per file two pages are read, and no entries."""
        per_file, of, missing = np.zeros(len(self._indexes), np.int64), 0, []
        for number, index in self._each():
            if index is None:
                missing.append(number)
                continue
            try:
                per_file[number] = sum(end - first for first, end in self._places(index, comparisons))
                of += index.size
            except DamagedIndex as error:
                self._drop(number, error)
                missing.append(number)
        return Estimate(int(per_file.sum()), of, tuple(missing), per_file)

    def _each(self) -> Iterator[tuple[int, SecondaryIndex | None]]:
        yield from enumerate(list(self._indexes))

    def _drop(self, number: int, error: DamagedIndex) -> None:
        tell_of_damage(error)
        self._indexes[number] = None

    def _places(self, index: SecondaryIndex, comparisons: Sequence[tuple[str, Any]]) -> list[tuple[int, int]]:
        if index.is_text != is_text(self._kind):
            raise DamagedIndex("entries of another type")
        if not index.is_text:
            return index.places_of_codes(self._ranges(comparisons))
        found = [index.places_of_texts(operator, value) for operator, value in comparisons]
        both = found[0]
        for more in found[1:]:
            both = _overlap(both, more)
        return both

    def _ranges(self, comparisons: Sequence[tuple[str, Any]]) -> Ranges:
        found = [code_ranges(self._kind, operator, value) for operator, value in comparisons]
        both = found[0]
        for more in found[1:]:
            both = [(low, high - 1) for low, high in _overlap(_half_open(both), _half_open(more))]
        return both


def _half_open(ranges: Ranges) -> Ranges:
    return [(low, high + 1) for low, high in ranges]


def _overlap(one: Ranges, other: Ranges) -> Ranges:
    """Where two lists of ranges overlap, ends left out."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return sorted((low, high) for low, high in pairs if low < high)


def pair_up(kind: pa.DataType, column: str, words: Sequence[Any]) -> list[tuple[str, Any]]:
    """Comparisons out of `">=", 3, "<", 5`.

    Raises:
        OptionError: They do not come in pairs, or the column has no order.
    """
    if not words or len(words) % 2:
        hint = 'write for example lookup("price", ">=", 3, "<", 5)'
        raise OptionError([Problem("TW408", "a lookup takes alternating operators and values", hint)])
    if not is_text(kind) and not is_measured(kind):
        raise OptionError([Problem("TW408", f"the column {column} has no order: it is {kind}", "look up another one")])
    return list(zip(words[::2], words[1::2], strict=True))
