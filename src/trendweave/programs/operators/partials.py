"""Aggregates of slices: what nodes of the tree and rows both become, and what is added up to windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.measured import LEAST, MOST, Measured, codes_of
from trendweave.programs.operators.sums import Sums, carry, no_sums, sums_of

#: The arrays of slices, and of columns in slices, and how those of some slices become one.
_OWN = {"number": np.minimum, "count": np.add, "first": np.minimum, "last": np.maximum}
_OF_COLUMN = {"low": np.minimum, "high": np.maximum, "known": np.add, "nans": np.add}


@dataclass(frozen=True)
class ColumnPart:
    """A column in some slices.

    Attributes:
        low: Codes of the smallest values; above `high` where there is none.
        high: Codes of the largest values that are no NaN.
        known: How many values are not NULL.
        nans: How many of these are NaN.
        sums: Their sums.
    """

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    nans: np.ndarray
    sums: Sums


@dataclass(frozen=True)
class Partials:
    """Some slices.

    Attributes:
        number: The slices.
        count: How many events each has.
        first: The time of the first one.
        last: The time of the last one.
        columns: What is asked of columns, in their order.
        group: The group of each, where groups are asked for.
    """

    number: np.ndarray
    count: np.ndarray
    first: np.ndarray
    last: np.ndarray
    columns: tuple[ColumnPart, ...]
    group: np.ndarray | None = None

    @property
    def size(self) -> int:
        """How many there are."""
        return int(self.number.size)


def nothing(columns: int) -> Partials:
    """No slice at all."""
    none = np.empty(0, np.int64)
    empty = ColumnPart(none, none, none, none, no_sums(0, of_floats=False))
    return Partials(none, none, none, none, (empty,) * columns)


def merge(parts: Sequence[Partials], columns: int) -> Partials:
    """All slices in order, each once."""
    parts = [part for part in parts if part.size]
    if not parts:
        return nothing(columns)
    joined = _make(parts, lambda arrays, _: np.concatenate(arrays, axis=-1)) if len(parts) > 1 else parts[0]
    number = joined.number
    if joined.group is not None:
        joined = choose(joined, np.lexsort((number, joined.group)))
    elif joined.size > 1 and (number[1:] < number[:-1]).any():
        joined = choose(joined, np.argsort(number, kind="stable"))
    number, group = joined.number, joined.group
    changes = number[1:] != number[:-1]
    if group is not None:
        changes |= group[1:] != group[:-1]
    starts = np.flatnonzero(np.concatenate(([True], changes)))
    if starts.size == joined.size:
        return joined

    def add_runs(arrays: Sequence[np.ndarray], add: np.ufunc) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return add.reduceat(arrays[0], starts, axis=-1)

    return _make([joined], add_runs)


#: Makes an array of those of several parts, where the last axis counts slices; how several slices become one.
_Make: TypeAlias = Callable[[Sequence[np.ndarray], np.ufunc], np.ndarray]


def _make(parts: Sequence[Partials], make: _Make) -> Partials:
    """Slices of which each array is made of those of other ones."""

    def made(owns: Sequence[Any], names: Mapping[str, np.ufunc]) -> dict[str, np.ndarray]:
        return {name: make([getattr(own, name) for own in owns], how) for name, how in names.items()}

    columns = [
        ColumnPart(**made(owns, _OF_COLUMN), sums=carry(make([own.sums.parts for own in owns], np.add)))
        for owns in zip(*(part.columns for part in parts), strict=True)
    ]
    groups = [part.group for part in parts if part.group is not None]
    return Partials(**made(parts, _OWN), columns=tuple(columns), group=make(groups, np.minimum) if groups else None)


def choose(part: Partials, places: np.ndarray) -> Partials:
    """Some of the slices."""
    return _make([part], lambda arrays, _: arrays[0][..., places])


def to_table(part: Partials) -> pa.Table:
    """Slices as a table, without groups."""
    columns = {name: getattr(part, name) for name in _OWN}
    for place, own in enumerate(part.columns):
        columns |= {f"{name} {place}": getattr(own, name) for name in _OF_COLUMN}
        columns |= {f"sum {place} {number}": sums for number, sums in enumerate(own.sums.parts)}
    return pa.table(columns)


def from_table(table: pa.Table) -> Partials:
    """What `to_table` wrote."""

    def column(name: str) -> np.ndarray:
        return np.asarray(table.column(name).to_numpy())

    columns: list[ColumnPart] = []
    while f"low {len(columns)}" in table.column_names:
        place = len(columns)
        sums = [column(name) for name in table.column_names if name.startswith(f"sum {place} ")]
        told = {name: column(f"{name} {place}") for name in _OF_COLUMN}
        columns.append(ColumnPart(**told, sums=Sums(np.stack(sums))))
    return Partials(**{name: column(name) for name in _OWN}, columns=tuple(columns))


def summarise(
    times: np.ndarray,
    measured: Sequence[Measured],
    starts: np.ndarray,
    numbers: np.ndarray,
) -> Partials:
    """Slices of events in order of time.

    Args:
        times: Ascending.
        measured: Columns in the same order.
        starts: Where slices begin, and the end of the last one.
        numbers: The slices.
    """
    parts = [summarise_column(own, starts) for own in measured]
    parts = [replace(part, low=codes_of(part.low), high=codes_of(part.high)) for part in parts]
    return Partials(numbers, np.diff(starts), times[starts[:-1]], times[starts[1:] - 1], tuple(parts))


def summarise_column(column: Measured, starts: np.ndarray) -> ColumnPart:
    """A column in slices, with values instead of codes as bounds.

    Args:
        column: In order.
        starts: Where slices begin, and the end of the last one; none is empty.
    """
    values, valid, starts = column.values, column.valid, starts[:-1]
    is_float = values.dtype == np.float64
    none = np.zeros(starts.size, np.int64)
    if not starts.size:
        return ColumnPart(values[:0], values[:0], none, none, no_sums(0, is_float))
    known = np.ones(values.size, np.bool_) if valid is None else valid
    added = values if valid is None else np.where(valid, values, values.dtype.type(0))
    bounded = known & ~np.isnan(values) if is_float else known
    least, most = (-np.inf, np.inf) if is_float else (LEAST, MOST)
    low, high = (values, values) if bounded.all() else (np.where(bounded, values, end) for end in (most, least))
    return ColumnPart(
        np.minimum.reduceat(low, starts),
        np.maximum.reduceat(high, starts),
        np.add.reduceat(known, starts, dtype=np.int64),
        np.add.reduceat(known & ~bounded, starts, dtype=np.int64) if is_float else none,
        sums_of(added).add_runs(starts),
    )
