"""The rows of a result: slices added up to windows, for all events together or for each group by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.operators.measured import as_column, is_measured, is_text
from trendweave.programs.operators.partials import Partials
from trendweave.programs.operators.sums import count_between
from trendweave.programs.operators.windows.aggregates import SlicedColumn, write_aggregate
from trendweave.results.types import single_aggregate_type
from trendweave.rows.times import TimeType, as_times
from trendweave.store.aggregate.question import Wanted, Windows

if TYPE_CHECKING:
    from trendweave.store.snapshot import Snapshot


_NAN = object()


class Groups:
    """Gives each group a number, in the order in which they are met. NULL and NaN are values of their own."""

    def __init__(self, schema: pa.Schema, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._schema = pa.schema([schema.field(name) for name in names])
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._values: list[tuple[Any, ...]] = []

    @property
    def size(self) -> int:
        """How many groups were met."""
        return len(self._values)

    def number(self, values: tuple[Any, ...]) -> int:
        """The number of a group."""
        key = tuple(_key(value) for value in values)
        if key not in self._numbers:
            self._numbers[key] = len(self._values)
            self._values.append(tuple(value + 0.0 if isinstance(value, float) else value for value in values))
        return self._numbers[key]

    def of_rows(self, table: pa.Table) -> np.ndarray:
        """The group of each row."""
        codes = np.zeros(table.num_rows, np.int64)
        parts = []
        for name in self.names:
            encoded = table.column(name).combine_chunks().dictionary_encode("encode")
            own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            codes = codes * max(1, len(encoded.dictionary)) + own
            parts.append((encoded.dictionary.to_pylist(), own))
        distinct, rows, place = np.unique(codes, return_index=True, return_inverse=True)
        found = [tuple(values[own[row]] for values, own in parts) for row in rows.tolist()]
        numbers = np.array([self.number(values) for values in found], np.int64)
        return numbers[place] if distinct.size else codes

    def of_blocks(self, store: Snapshot) -> np.ndarray:
        """The group of each block; -1 where it has several, or where that is not known."""
        columns = [one_value_per_block(store, name) for name in self.names]
        known = np.logical_and.reduce([is_one for _, is_one in columns])
        numbers = np.full(store.blocks.size, -1)
        chosen = np.flatnonzero(known)
        if chosen.size:
            numbers[chosen] = self.of_rows(
                pa.table([column.take(pa.array(chosen)) for column, _ in columns], schema=self._schema)
            )
        return numbers

    def table(self) -> pa.Table:
        """The groups by their numbers."""
        columns = zip(*self._values, strict=True) if self._values else [()] * len(self.names)
        pairs = zip(self._schema, columns, strict=True)
        return pa.table([pa.array(values, field.type) for field, values in pairs], schema=self._schema)

    def ranks(self) -> np.ndarray:
        """The place of each group in the order of values; NULL comes last."""
        order = pc.sort_indices(self.table(), [(name, "ascending") for name in self.names]) if self.size else []
        ranks = np.empty(self.size, np.int64)
        ranks[np.asarray(order, np.int64)] = np.arange(self.size)
        return ranks


def one_value_per_block(store: Snapshot, name: str) -> tuple[pa.Array, np.ndarray]:
    """A value of each block, and whether all of its events have it."""
    kind = store.schema.field(name).type
    blocks = store.blocks
    if is_text(kind):
        return blocks.one_text(name)
    column = blocks.column(name) if is_measured(kind) else None
    if column is None:
        return pa.nulls(blocks.size, kind), np.zeros(blocks.size, np.bool_)
    told = column.known & blocks.exact
    missing = told & (column.nulls == blocks.count)
    one = told & (column.low == column.high) & (column.nulls == 0) & (column.nans == 0)
    values = np.where(one, column.low, 0)
    return as_column(values, kind, ~one), one | missing


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return _NAN if math.isnan(value) else value + 0.0
    return value


def write_answer(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], windows: Windows | None, kind: TimeType
) -> pa.Table:
    """The rows of a result: one per window that has an event; of windows of events, one per full window.

    Args:
        slices: In order, each once.
        wanted: The aggregates.
        columns: The columns of the slices.
        windows: None for one window over all.
        kind: How the time column counts.
    """
    if windows is None:
        low, high = np.zeros(min(1, slices.size), np.int64), np.full(min(1, slices.size), slices.size)
        edges = {name: pa.nulls(low.size, kind.arrow) for name in ("window_start", "window_end")}
    else:
        numbers = windows.holding(slices.number)
        if windows.of_events:
            total = int(slices.count.sum())
            numbers = numbers[(numbers >= 0) & (numbers * windows.slide + windows.length <= total)]
        low, high = windows.reach(numbers, slices.number)
        edges = _edges(slices, windows, numbers, low, high, kind)
    return pa.table({**edges, **write_aggregates(slices, wanted, columns, low, high)})


def write_aggregates(
    slices: Partials, wanted: Sequence[Wanted], columns: Sequence[str], low: np.ndarray, high: np.ndarray
) -> dict[str, pa.Array]:
    """The aggregates of windows, each of which has the slices low[i] <= place < high[i]; both ascend."""
    events = count_between(slices.count, low, high)
    made = {}
    for one in wanted:
        if one.column is None:
            made[one.name] = pa.array(events, pa.int64())
        else:
            part = slices.columns[list(columns).index(one.column)]
            result = single_aggregate_type(one.function, one.kind, "decimal")
            column = SlicedColumn(one.kind, part, low, high)
            made[one.name] = write_aggregate(one.function, result, column, one.column)
    return made


def _edges(
    slices: Partials, windows: Windows, numbers: np.ndarray, low: np.ndarray, high: np.ndarray, kind: TimeType
) -> dict[str, pa.Array]:
    start = numbers * windows.slide
    if not windows.of_events:
        return {"window_start": as_times(start, kind), "window_end": as_times(start + windows.length, kind)}
    first, last = slices.first[low], slices.last[high - 1]
    return {"first_event": pa.array(start), "first_time": as_times(first, kind), "last_time": as_times(last, kind)}


def write_groups(
    slices: Partials,
    wanted: Sequence[Wanted],
    columns: Sequence[str],
    windows: Windows | None,
    kind: TimeType,
    grouped: Groups,
) -> pa.Table:
    """One row per window and group that has an event, in order of windows, then of groups.

    Groups are moved apart in time, one behind the other and further than a window reaches, so that one pass over all
    slices gives the windows of each.

    Args:
        slices: In order of groups and slices, each once.
        wanted: The aggregates.
        columns: The columns of the slices.
        windows: Of time; None for one window over all.
        kind: How the time column counts.
        grouped: Knows the groups.
    """
    group = slices.group if slices.group is not None else np.empty(0, np.int64)
    of_all = windows or Windows(1, 1)
    numbers, place, low, high = _find_windows(slices.number, group, of_all)
    made = write_aggregates(slices, wanted, columns, low, high)
    start = numbers * of_all.slide
    if windows is None:
        edges = [pa.nulls(numbers.size, kind.arrow)] * 2
    else:
        edges = [as_times(start, kind), as_times(start + of_all.length, kind)]
    keys = grouped.table().take(pa.array(place))
    named = {"window_start": edges[0], "window_end": edges[1]}
    named |= {name: keys.column(name) for name in grouped.names}
    order = np.lexsort((grouped.ranks()[place], start))
    return pa.table({**named, **made}).take(pa.array(order))


def _find_windows(
    number: np.ndarray, group: np.ndarray, windows: Windows
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Windows that hold a slice of a group: their numbers, their groups, and the places of their slices."""
    none = np.empty(0, np.int64)
    if not number.size:
        return none, none, none, none
    stride, reach = windows.stride, windows.whole + 2
    base = int(number.min()) // stride
    apart = int(number.max()) // stride - base + 2 * reach
    if apart * (int(group.max()) + 2) < 2**61:
        moved = number - stride * base + stride * (group * apart + reach)
        numbers = windows.holding(moved)
        place = numbers // apart
        return (numbers - place * apart - reach + base, place, *windows.reach(numbers, moved))
    # Times are too far apart for that: one group after the other.
    found = []
    edges = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1], [True])))
    for begin, end in pairwise(edges.tolist()):
        numbers = windows.holding(number[begin:end])
        low, high = windows.reach(numbers, number[begin:end])
        found.append((numbers, np.full(numbers.size, group[begin]), low + begin, high + begin))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))  # type: ignore[return-value]
