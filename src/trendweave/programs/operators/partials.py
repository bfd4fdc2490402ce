"""Aggregates of slices: what nodes of the tree and rows both become, and what is added up to windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.exact_sums import ExactSums, join, trimmed
from trendweave.programs.operators.kernels.summaries import summarise_floats, summarise_whole
from trendweave.programs.operators.measured import Measured, codes_of, is_float


@dataclass(frozen=True)
class ColumnPart:
    """A column in some slices.

    Attributes:
        low: Codes of the smallest values; above `high` where there is none.
        high: Codes of the largest values that are no NaN.
        known: How many values are not NULL.
        nans: How many of these are NaN.
        sums: Exact sums of finite values.
    """

    low: np.ndarray
    high: np.ndarray
    known: np.ndarray
    nans: np.ndarray
    sums: ExactSums


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
    empty = ColumnPart(none, none, none, none, ExactSums(np.zeros((1, 0), np.int64), 0))
    return Partials(none, none, none, none, (empty,) * columns)


def merge(parts: Sequence[Partials], columns: int) -> Partials:
    """All slices in order, each once."""
    parts = [part for part in parts if part.size]
    if not parts:
        return nothing(columns)
    joined = _join(parts) if len(parts) > 1 else parts[0]
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
    return _add_runs(joined, starts)


def _join(parts: Sequence[Partials]) -> Partials:
    def all_of(get: Callable[[Partials], np.ndarray]) -> np.ndarray:
        return np.concatenate([get(part) for part in parts])

    columns = [
        ColumnPart(
            np.concatenate([own.low for own in owns]),
            np.concatenate([own.high for own in owns]),
            np.concatenate([own.known for own in owns]),
            np.concatenate([own.nans for own in owns]),
            join([own.sums for own in owns]),
        )
        for owns in zip(*(part.columns for part in parts), strict=True)
    ]
    return Partials(
        all_of(lambda part: part.number),
        all_of(lambda part: part.count),
        all_of(lambda part: part.first),
        all_of(lambda part: part.last),
        tuple(columns),
        None if parts[0].group is None else np.concatenate([part.group for part in parts if part.group is not None]),
    )


def choose(part: Partials, places: np.ndarray) -> Partials:
    """Some of the slices."""
    columns = [
        ColumnPart(own.low[places], own.high[places], own.known[places], own.nans[places], own.sums.take(places))
        for own in part.columns
    ]
    group = None if part.group is None else part.group[places]
    times = part.first[places], part.last[places]
    return Partials(part.number[places], part.count[places], *times, tuple(columns), group)


def _add_runs(part: Partials, starts: np.ndarray) -> Partials:
    columns = [
        ColumnPart(
            np.minimum.reduceat(own.low, starts),
            np.maximum.reduceat(own.high, starts),
            np.add.reduceat(own.known, starts),
            np.add.reduceat(own.nans, starts),
            own.sums.add_runs(starts),
        )
        for own in part.columns
    ]
    return Partials(
        part.number[starts],
        np.add.reduceat(part.count, starts),
        np.minimum.reduceat(part.first, starts),
        np.maximum.reduceat(part.last, starts),
        tuple(columns),
        None if part.group is None else part.group[starts],
    )


def summarise(
    times: np.ndarray,
    measured: Sequence[Measured],
    kinds: Sequence[pa.DataType],
    starts: np.ndarray,
    numbers: np.ndarray,
) -> Partials:
    """Slices of events in order of time.

    Args:
        times: Ascending.
        measured: Columns in the same order.
        kinds: Their types.
        starts: Where slices begin, and the end of the last one.
        numbers: The slices.
    """
    parts = []
    for own, kind in zip(measured, kinds, strict=True):
        if is_float(kind):
            limbs, base, low, high, known, nans = summarise_floats(own.values, own.valid, starts)
        else:
            limbs, low, high, known = summarise_whole(own.values, own.valid, starts)
            base, nans = 0, np.zeros(known.size, np.int64)
        sums = trimmed(np.ascontiguousarray(limbs.T), base)
        parts.append(ColumnPart(codes_of(low), codes_of(high), known, nans, sums))
    return Partials(numbers, np.diff(starts), times[starts[:-1]], times[starts[1:] - 1], tuple(parts))
