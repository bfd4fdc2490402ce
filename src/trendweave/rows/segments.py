"""Rows by key and time, the one order that kernels read, in segments: one per partition, or per partition and value
of a key that binds only some variables; and comparisons of each row with the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.arrow.evaluate import make_columns_comparable
from trendweave.kernels.sorting import (
    find_in_order,
    list_ranges,
    order_by_time,
    order_by_words,
    ordered_bits,
    stable_order,
)
from trendweave.rows.codes import first_of_each, order_codes, order_numbers, present_codes


class Sorted(NamedTuple):
    """The order of rows by key and time, None where they stand in it; where each key starts, with the end of the last;
    and the times in this order."""

    order: np.ndarray | None
    starts: np.ndarray
    moment: np.ndarray


def sort_by_key_and_time(key: np.ndarray, moment: np.ndarray, count: int, keys_in_order: bool = True) -> Sorted:
    """Sort rows by their key, and by time where keys are equal; rows of one key and time stay in their order.

    Args:
        key: The number of each row's key, below `count`.
        moment: The time of each row, in steps of the time column.
        count: How many keys there are.
        keys_in_order: Shall key k be the k-th? Otherwise it is enough that the rows of each key stand together, as
            Spark brings them; then every number below `count` must occur.

    Returns:
        The rows in order.
    """
    key, moment = np.ascontiguousarray(key, np.int64), np.ascontiguousarray(moment, np.int64)
    starts = find_in_order(key, moment, count, keys_in_order)
    return Sorted(None, starts, moment) if starts is not None else Sorted(*order_by_time(key, moment, count))


def number_finer_times(moment: np.ndarray, columns: list[pa.ChunkedArray]) -> np.ndarray:
    """Number the different times and values of columns in their order, the time first.

    Args:
        moment: The time of each row.
        columns: The columns, the first one first. NULL comes before all values and NaN after them.

    Returns:
        A number per row, equal where time and all values are.
    """
    keys = [moment, *(order_codes(column, column)[0] for column in columns)]
    order = np.lexsort(keys[::-1])
    new = np.zeros(moment.size, np.bool_)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    place = np.empty(moment.size, np.int64)
    place[order] = np.cumsum(new)
    return place


def take_rows(column: pa.ChunkedArray, order: np.ndarray) -> pa.ChunkedArray:
    """Fetch the rows of a column in an order.

    Where there are NULLs, Arrow asks of each row whether it is one: numbers and times, and which of them are valid, are
    fetched apart, in half the time.

    Args:
        column: The column.
        order: Numbers of rows, which are not looked at again for being those of the column.

    Returns:
        The values in this order.
    """
    kind = column.type
    if column.num_chunks > 1 and (pa.types.is_primitive(kind) or pa.types.is_decimal(kind)):
        # Arrow would look for the piece of each row.
        column = pa.chunked_array([pa.concat_arrays(column.chunks)])
    plain = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    if not plain or not column.null_count or kind.bit_width > 64:
        return pc.take(column, pa.array(order), boundscheck=False)
    array = column.chunk(0)
    whole = np.frombuffer(array.buffers()[1], f"i{kind.bit_width // 8}")
    values = whole[array.offset : array.offset + len(array)].take(order, mode="clip")
    valid = array.is_valid().to_numpy(zero_copy_only=False).take(order, mode="clip")
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")), pa.py_buffer(values)]
    return pa.chunked_array([pa.Array.from_buffers(kind, order.size, buffers)])


def sort_by(*columns: np.ndarray) -> np.ndarray:
    """The order of rows by some columns of whole numbers, the first counts most."""
    if not columns[0].size:
        return np.empty(0, np.int64)
    lows = [int(column.min()) for column in columns]
    spans = [(column - low, int(column.max()) - low) for column, low in zip(columns, lows, strict=True)]
    return order_by_words(spans[::-1])


_COMPARE: dict[str, Callable[..., np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "=": np.equal,
    "!=": np.not_equal,
}


def compare_neighbours(previous: pa.ChunkedArray, operator: str, following: pa.ChunkedArray) -> np.ndarray:
    """Compare a column of each row before with a column of the row.

    Args:
        previous: The column of the earlier row.
        operator: The comparison.
        following: The column of the later row, or the same.

    Returns:
        True or False per row: NULL compares true with nothing, and nothing stands before the first row.
    """
    holds = np.zeros(len(following), np.bool_)
    if holds.size < 2:
        return holds
    (left, left_known), (right, right_known) = _comparable(previous, following)
    _COMPARE[operator](left[:-1], right[1:], out=holds[1:])
    if left_known is not None:
        holds[1:] &= left_known[:-1]
    if right_known is not None:
        holds &= right_known
    return holds


def _comparable(
    previous: pa.ChunkedArray, following: pa.ChunkedArray
) -> tuple[tuple[np.ndarray, np.ndarray | None], tuple[np.ndarray, np.ndarray | None]]:
    """Numbers to compare in the place of values, and where they are known (None: everywhere)."""
    columns = make_columns_comparable([previous] if previous is following else [previous, following])
    if pa.types.is_floating(columns[0].type):
        floats = [(column.to_numpy(zero_copy_only=False), _known(column)) for column in columns]
        if any(np.isnan(np.min(numbers)) for numbers, _ in floats):
            # NaN equals itself and is the largest, which only its bits can say; NULL is NaN here, too.
            floats = [(ordered_bits(numbers), known) for numbers, known in floats]
        return floats[0], floats[-1]
    ordered = [part for part in map(order_numbers, columns) if part is not None]
    if len(ordered) == len(columns):
        return ordered[0], ordered[-1]
    left, right = order_codes(previous, following)
    return (left, left >= 0), (right, right >= 0)


def _known(column: pa.Array) -> np.ndarray | None:
    return np.asarray(column.is_valid()) if column.null_count else None


#: Copies of rows that belong to every value of a key of another variable.
MAX_COPIES = 100_000_000


@dataclass(frozen=True, slots=True)
class Lanes:
    """What copies of rows remember: per anchor the number of its value before the row is read, and after it; 0 where
    the trend has no such event, or nothing asks for it.

    `begins`: whether a trend may begin with the copy, that is, whether it remembers nothing.
    """

    before: np.ndarray
    after: np.ndarray
    begins: np.ndarray

    def take(self, low: int, high: int) -> Lanes:
        """Take the copies low:high."""
        return Lanes(self.before[low:high], self.after[low:high], self.begins[low:high])


def can_be_read(letters: np.ndarray, variable: int) -> np.ndarray:
    """Find the rows that can be read as a variable.

    Args:
        letters: A bit per variable, in words of 64, per row.
        variable: Its number.

    Returns:
        Whether each row can.
    """
    bit = np.uint64(1) << np.uint64(variable % 64)
    readable: np.ndarray = (letters[:, variable // 64] & bit) != 0
    return readable


@dataclass(frozen=True, slots=True)
class Segments:
    """`row[starts[i]:starts[i+1]]` are the rows of segment i, in order of time; a row may be in several segments.

    `letters` says what a row can be read as in that segment. `keys` holds, per bound variable, a row of each segment
    whose key the segment has. `lanes` tells copies of a row apart where trends remember earlier events.
    """

    row: np.ndarray
    starts: np.ndarray
    letters: np.ndarray
    partition: np.ndarray
    keys: dict[str, np.ndarray]
    lanes: Lanes | None = None

    @property
    def count(self) -> int:
        """How many segments there are."""
        return self.starts.size - 1

    def take(self, per_row: np.ndarray) -> np.ndarray:
        """Read values of the table's rows as values of the segments' rows.

        Args:
            per_row: A value per row of the table.

        Returns:
            A value per row of the segments; the same array where all rows are there in order.
        """
        in_order = not self.keys and self.lanes is None and self.row.size == per_row.size
        return per_row if in_order else per_row.take(self.row)

    def of_rows(self) -> np.ndarray:
        """The segment of each row."""
        return np.repeat(np.arange(self.count), np.diff(self.starts))


def bit_of(variable: int, words: int) -> np.ndarray:
    """Write a variable as a bit.

    Args:
        variable: Its number.
        words: How many words of 64 bits there are.

    Returns:
        uint64[words] with the bit of the variable.
    """
    bits = np.zeros(words, np.uint64)
    bits[variable // 64] = np.uint64(1) << np.uint64(variable % 64)
    return bits


def _any_letter(letters: np.ndarray) -> np.ndarray:
    """Whether each row has any letter; most queries have one word of them, which is quicker looked at by itself."""
    return np.not_equal(letters[:, 0], 0) if letters.shape[1] == 1 else np.any(letters, axis=1)


def keep_readable(segments: Segments, allowed: np.ndarray) -> Segments:
    """Keep the rows that can be read as an allowed variable, and only as those.

    Args:
        segments: The segments.
        allowed: The bits of the allowed variables.

    Returns:
        As many segments with fewer rows.
    """
    letters = segments.letters & allowed
    kept = _any_letter(letters)
    if kept.all():
        return replace(segments, letters=letters)
    counts = np.add.reduceat(np.append(kept, False), segments.starts[:-1]) if segments.count else np.empty(0, np.int64)
    counts[np.diff(segments.starts) == 0] = 0
    return replace(
        segments, row=segments.row[kept], letters=letters[kept], starts=np.concatenate([[0], np.cumsum(counts)])
    )


def refine_segments(
    segments: Segments,
    variable: str,
    bit: np.ndarray,
    key: np.ndarray,
    tick: np.ndarray,
    find_reach: Callable[[], tuple[np.ndarray, np.ndarray] | None],
) -> Segments:
    """Cut segments by the key of a variable: its rows of one value, and the rows near them that can be read as others.

    Segments without any row of the variable disappear: a trend that is looked for here contains one.

    Args:
        segments: The segments.
        variable: The name of the variable.
        bit: Its bit.
        key: The number of the key's value per row of the table.
        tick: The tick of each row of the table.
        find_reach: Gives the ticks that may share a window with each tick; None: all do. Asked only if rows are copied.

    Returns:
        One segment per value.

    Raises:
        ExecutionError: Too many rows would be copied.
    """
    segment = segments.of_rows()
    bound = _any_letter(segments.letters & bit)
    bound_at = np.flatnonzero(bound)
    if bound_at.size == bound.size:
        row, of_bound, letters = segments.row, segment, segments.letters
    else:
        row, of_bound = segments.row[bound_at], segment[bound_at]
        letters = np.take(segments.letters, bound_at, axis=0)
    width = np.int64(key.max()) + 1 if key.size else np.int64(1)
    child, values = present_codes(of_bound * width + key[row])
    parent = values // width
    # Rows that can be read as another variable go into every child of their segment that has a row near them, without
    # the bound variable's letter; into their own child they go once, with all letters.
    other_letters = segments.letters & ~bit
    free_at = np.flatnonzero(_any_letter(other_letters))
    target = child
    first_bound = row[first_of_each(child)]
    if free_at.size:
        low, high = _find_near(segments, segment, bound_at, free_at, tick, find_reach())
        copies, copied = _list_ranges(child, low, high, variable, free_at.size)
        copied_at = free_at[copied]
        own_child = np.full(bound.size, -1, np.int64)
        own_child[bound_at] = child
        foreign = copies != own_child[copied_at]
        if foreign.any():
            position = np.concatenate([bound_at, copied_at[foreign]])
            in_time = np.argsort(position, kind="stable")
            letters = np.concatenate([letters, other_letters[copied_at[foreign]]])[in_time]
            target = np.concatenate([child, copies[foreign]])[in_time]
            row = segments.row[position[in_time]]
    order, starts = stable_order(target, values.size)
    return Segments(
        row=row[order],
        starts=starts,
        letters=np.take(letters, order, axis=0),
        partition=segments.partition[parent],
        keys={name: rows[parent] for name, rows in segments.keys.items()} | {variable: first_bound},
    )


def _find_near(
    segments: Segments,
    segment: np.ndarray,
    bound_at: np.ndarray,
    free_at: np.ndarray,
    tick: np.ndarray,
    reach: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Per bound row, the range of free rows of its segment that may share a window with it."""
    if reach is None:
        first_row, end_row = segments.starts[segment[bound_at]], segments.starts[segment[bound_at] + 1]
        return np.searchsorted(free_at, first_row), np.searchsorted(free_at, end_row)
    ticks = np.int64(reach[0].size) + 1
    places = segment[free_at] * ticks + tick[segments.row[free_at]]
    base, own_tick = segment[bound_at] * ticks, tick[segments.row[bound_at]]
    low = np.searchsorted(places, base + reach[0][own_tick])
    return low, np.searchsorted(places, base + reach[1][own_tick])


def _list_ranges(
    child: np.ndarray, low: np.ndarray, high: np.ndarray, variable: str, others: int
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers in the ranges low:high of each child, each number once per child; both ends grow inside a child."""
    order = np.argsort(child, kind="stable")
    child, low, high = child[order], low[order], high[order]
    same = child[1:] == child[:-1]
    low[1:][same] = np.maximum(low[1:][same], high[:-1][same])
    sizes = np.maximum(high - low, 0)
    total = int(sizes.sum())
    if total > MAX_COPIES:
        message = f"{variable} has a key of its own, so {others:,} other events would be copied {total:,} times"
        hint = "use the key for all events, smaller windows, or filter the events that do not have it"
        raise ExecutionError([Problem("TW406", message, hint)])
    return np.repeat(child, sizes), list_ranges(low, sizes)


def take_segments(segments: Segments, first: int, end: int) -> Segments:
    """Take the segments first:end.

    Args:
        segments: The segments.
        first: The first one to take.
        end: The one after the last.

    Returns:
        These segments, with their rows.
    """
    low, high = segments.starts[first], segments.starts[end]
    return Segments(
        row=segments.row[low:high],
        starts=segments.starts[first : end + 1] - low,
        letters=segments.letters[low:high],
        partition=segments.partition[first:end],
        keys={name: rows[first:end] for name, rows in segments.keys.items()},
        lanes=None if segments.lanes is None else segments.lanes.take(low, high),
    )
