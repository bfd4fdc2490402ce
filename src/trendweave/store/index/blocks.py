"""The blocks of all files of a store side by side, in order of time.

A file without an index has one block per row group, with what the footer of the file says about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.measured import NAN_CODE, codes_of, is_float, is_measured, is_text, measure
from trendweave.programs.operators.sums import Sums, join_sums, no_sums, sums_of
from trendweave.rows.times import TimeType
from trendweave.store.index.building import FileGroups
from trendweave.store.index.files import DamagedIndex
from trendweave.store.index.light import LightIndex, NumberColumn, compare_texts
from trendweave.store.index.secondary import code_ranges

Dropped = Callable[[int, DamagedIndex], None]


@dataclass(frozen=True)
class BlockColumn:
    """What is known of a column, per block.

    Attributes:
        low: The smallest value that is no NaN, int64 or float64; above the largest where there is none.
        high: The largest one.
        nulls: How many values are NULL; where blocks are not exact, at most so many.
        nans: How many are NaN.
        known: Whether the rest is known. Where it is not, values may be anything.
        sums: Their sums; zero where nothing is known.
    """

    low: np.ndarray
    high: np.ndarray
    nulls: np.ndarray
    nans: np.ndarray
    known: np.ndarray
    sums: Sums


class Blocks:
    """Flat arrays over blocks.

    Attributes:
        file: The number of the file.
        group: The row group in the file.
        number: The row group among those of the store.
        count: How many events it has; where it is not exact, at most so many.
        first: The time of the first one, in steps.
        last: The time of the last one.
        exact: Whether these are from an index.
    """

    def __init__(
        self,
        parts: Sequence[LightIndex | FileGroups],
        folders: Sequence[Mapping[str, str | None]],
        starts: np.ndarray,
        schema: pa.Schema,
        kind: TimeType,
        dropped: Dropped,
    ) -> None:
        self._parts, self._folders, self._schema, self._dropped = parts, folders, schema, dropped
        sizes = [part.size for part in parts]
        file = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)
        group, count, first, last = (
            np.concatenate([getattr(part, key) for part in parts]) if parts else np.empty(0, np.int64)
            for key in ("group", "count", "first", "last")
        )
        self._order = np.lexsort((group, file, last, first))
        self.file, self.group = file[self._order], group[self._order].astype(np.int32)
        self.count, self.first, self.last = count[self._order], first[self._order], last[self._order]
        self.number = starts[self.file] + self.group if parts else np.empty(0, np.int64)
        self.exact = np.repeat([isinstance(part, LightIndex) for part in parts], sizes)[self._order].astype(np.bool_)
        self.kind = kind
        self._columns: dict[str, BlockColumn | None] = {}

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.file.size)

    def times_of(self, part: np.ndarray, parts: int) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last time of events of parts of the store, in steps.

        Args:
            part: The number of the part that each block belongs to.
            parts: How many parts there are. Of one without a block the first time is behind the last.
        """
        first, last = np.full(parts, np.iinfo(np.int64).max), np.full(parts, np.iinfo(np.int64).min)
        np.minimum.at(first, part, self.first)
        np.maximum.at(last, part, self.last)
        return first, last

    def column(self, name: str) -> BlockColumn | None:
        """What is known of a column of numbers, dates or times; None where it is of another type."""
        if name not in self._columns:
            measured = name in self._schema.names and is_measured(self._schema.field(name).type)
            self._columns[name] = self._gather(name) if measured else None
        return self._columns[name]

    def may_hold(self, name: str, operator: str, value: Any) -> np.ndarray:
        """Which blocks may have a value that compares so with a constant; True where that is not known.

        Args:
            name: A column.
            operator: One of = <> < <= > >=.
            value: A number, string, date or time; None compares with nothing.
        """
        if value is None:
            return np.zeros(self.size, np.bool_)
        kind = self._schema.field(name).type if name in self._schema.names else pa.null()
        if is_text(kind) and isinstance(value, str):
            return self._may_hold_text(name, operator, value)
        column = self.column(name)
        if column is None:
            return np.ones(self.size, np.bool_)
        low, high = codes_of(column.low), codes_of(column.high)
        held = ~column.known
        for least, most in code_ranges(kind, operator, value):
            held |= (low <= high) & (low <= most) & (high >= least)
            if least <= NAN_CODE <= most:
                held |= column.nans > 0
        return held

    def _may_hold_text(self, name: str, operator: str, value: str) -> np.ndarray:
        answers = []
        for number, part in enumerate(self._parts):
            answer = np.ones(part.size, np.bool_)
            if name in self._folders[number]:
                own = self._folders[number][name]
                answer &= own is not None and compare_texts([own], operator, value)[0]
            elif isinstance(part, LightIndex):
                try:
                    answer = part.may_hold_text(name, operator, value)
                except DamagedIndex as error:
                    self._dropped(number, error)
            answers.append(answer)
        return np.concatenate(answers)[self._order] if answers else np.empty(0, np.bool_)

    def one_text(self, name: str) -> tuple[pa.Array, np.ndarray]:
        """A string of each block, and whether all of its events have it; False where that is not known."""
        values: list[str | None] = []
        known = [np.empty(0, np.bool_)]
        for number, part in enumerate(self._parts):
            found = None
            if name in self._folders[number]:
                found = [self._folders[number][name]] * part.size, np.ones(part.size, np.bool_)
            elif isinstance(part, LightIndex):
                try:
                    absent = name not in part.schema.names
                    found = ([None] * part.size, np.ones(part.size, np.bool_)) if absent else part.one_text(name)
                except DamagedIndex as error:
                    self._dropped(number, error)
            own, is_one = found or ([None] * part.size, np.zeros(part.size, np.bool_))
            values += own
            known.append(is_one)
        column = pa.array(values, self._schema.field(name).type)
        return column.take(pa.array(self._order)), np.concatenate(known)[self._order]

    def _gather(self, name: str) -> BlockColumn:
        kind = self._schema.field(name).type
        parts = [self._part(number, name, kind) for number in range(len(self._parts))]
        columns = [column for column, _ in parts]
        dtype = np.float64 if is_float(kind) else np.int64
        low, high, known, nans = (
            np.concatenate([np.empty(0), *(getattr(column, key) for column in columns)])[self._order]
            if key in ("low", "high") and is_float(kind)
            else np.concatenate([np.empty(0, np.int64), *(getattr(column, key) for column in columns)])[self._order]
            for key in ("low", "high", "known", "nans")
        )
        sums = join_sums([no_sums(0, is_float(kind)), *(column.sums for column in columns)]).take(self._order)
        told = np.concatenate([np.empty(0, np.bool_), *(whether for _, whether in parts)])[self._order]
        return BlockColumn(low.astype(dtype), high.astype(dtype), self.count - known, nans, told, sums)

    def _part(self, number: int, name: str, kind: pa.DataType) -> tuple[NumberColumn, np.ndarray]:
        part = self._parts[number]
        if name in self._folders[number]:
            same = _same_value(self._folders[number][name], part.count, kind)
            return same or _all_null(part.size, kind), np.full(part.size, same is not None)
        if isinstance(part, FileGroups):
            return part.column(name, kind)
        try:
            if name not in part.schema.names:
                return _all_null(part.size, kind), np.ones(part.size, np.bool_)
            found = part.column(name) if _same_codes(part.schema.field(name).type, kind) else None
        except DamagedIndex as error:
            self._dropped(number, error)
            found = None
        if found is None:
            return _all_null(part.size, kind), np.zeros(part.size, np.bool_)
        return found, np.ones(part.size, np.bool_)


def _same_codes(own: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether numbers that stand for values of one type stand for the same values of the other."""
    if own == wanted or pa.types.is_null(own):
        return True
    if pa.types.is_integer(own) or pa.types.is_floating(own):
        return is_float(own) == is_float(wanted) and (pa.types.is_integer(wanted) or pa.types.is_floating(wanted))
    return pa.types.is_decimal(own) and pa.types.is_decimal(wanted) and own.scale == wanted.scale


def _same_value(text: str | None, count: np.ndarray, kind: pa.DataType) -> NumberColumn | None:
    """A column whose values are the name of a folder; None where they are floats."""
    if text is None:
        return _all_null(count.size, kind)
    found = measure(pa.chunked_array([pa.array([text], pa.string()).cast(kind)])) if not is_float(kind) else None
    if found is None:
        return None
    value = int(found.values[0])
    same = np.full(count.size, value)
    return NumberColumn(same, same, count, np.zeros(count.size, np.int64), sums_of(same).times(count))


def _all_null(size: int, kind: pa.DataType) -> NumberColumn:
    """A column without a value."""
    if is_float(kind):
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
    else:
        low, high = np.full(size, 2**63 - 1), np.full(size, -(2**63))
    none = np.zeros(size, np.int64)
    return NumberColumn(low, high, none, none, no_sums(size, is_float(kind)))
