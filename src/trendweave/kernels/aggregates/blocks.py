"""Window blocks: independent sub-problems of a few consecutive windows of one segment.

A block is the windows [window, window + lanes) of one segment together with the rows that lie in any of them. Blocks
share no state (a vertex has one aggregate per window that holds it, as in GRETA, Section 6), so memory is bounded by
the largest block, and blocks may run anywhere."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.inputs import Rows
from trendweave.kernels.sorting import list_ranges

FEW_ROWS = 32  # of a segment whose windows are all in one block


class Blocks(NamedTuple):
    """One entry per block: rows [row_start, row_end), windows [window, window + lanes); lane i of block b is result
    number offset[b] + i."""

    segment: np.ndarray
    row_start: np.ndarray
    row_end: np.ndarray
    window: np.ndarray
    lanes: np.ndarray
    offset: np.ndarray


def find_longest_overlap(first: np.ndarray, last: np.ndarray) -> int:
    """The largest number of windows that hold one row."""
    return int((last - first).max(initial=0)) + 1


def find_span(rows: Rows) -> int:
    """The largest number of windows of one segment where all segments have few rows; else 1."""
    counts = np.diff(rows.segment_starts)
    if counts.max(initial=0) > FEW_ROWS:
        return 1
    start, end = rows.segment_starts[:-1][counts > 0], rows.segment_starts[1:][counts > 0]
    return int((rows.window_last.take(end - 1) - rows.window_first.take(start)).max(initial=0)) + 1


def cut_blocks(rows: Rows, most_lanes: int) -> Blocks:
    """All blocks of at most `most_lanes` windows, counted from the first window of each segment."""
    # Runs of rows of one segment that lie in the same windows, or in windows of one block, without those in none.
    first, last = rows.window_first, rows.window_last
    segment = np.flatnonzero(np.diff(rows.segment_starts))
    start, end = rows.segment_starts.take(segment), rows.segment_starts.take(segment + 1)
    divided = last.take(end - 1) - first.take(start) >= most_lanes
    if divided.any():
        begins = np.repeat(divided, end - start)
        begins[1:] &= (first[1:] != first[:-1]) | (last[1:] != last[:-1])
        begins[start] = True
        segment = np.repeat(segment, np.add.reduceat(begins, start, dtype=np.int64))
        start = np.flatnonzero(begins)
        end = np.append(start[1:], first.size)
    first, last = first.take(start), last.take(end - 1)
    inside = first <= last
    if not inside.all():
        segment, start, end, first, last = (column[inside] for column in (segment, start, end, first, last))
    if not divided.any():
        return Blocks(segment, start, end, first, last - first + 1, number_results(last - first + 1))
    if most_lanes == 1 and (first == last).all():  # windows that only rows in none come between
        joins = np.zeros(start.size, bool)
        joins[1:] = (segment[1:] == segment[:-1]) & (first[1:] == first[:-1])
        if joins.any():
            at = np.flatnonzero(~joins)
            segment, start, first, end = segment[at], start[at], first[at], end[np.append(at[1:], start.size) - 1]
        return Blocks(segment, start, end, first, np.ones(start.size, np.int64), np.arange(start.size + 1))
    # The part of its segment, so many windows each, in which a run begins and ends.
    alone = np.ones(start.size, bool)
    alone[1:] = segment[1:] != segment[:-1]
    base = first[alone][np.cumsum(alone) - 1]
    low, high = (first - base) // most_lanes, (last - base) // most_lanes
    before = np.where(alone, -1, np.concatenate([[-1], high])[:-1])
    after = np.where(np.append(alone, True)[1:], high + 1, np.append(low, 0)[1:])
    opening, part = _count_up(np.maximum(low, before + 1), high)
    closing, _ = _count_up(low, np.minimum(high, after - 1))
    window = base[opening] + part * most_lanes
    lanes = np.minimum(window + most_lanes - 1, last[closing]) - np.maximum(window, first[opening]) + 1
    window = np.maximum(window, first[opening])
    return Blocks(segment[opening], start[opening], end[closing], window, lanes, number_results(lanes))


def _count_up(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers from low to high of each entry, and the entries that they are of."""
    counts = np.maximum(high - low + 1, 0)
    if counts.max(initial=0) <= 1:
        entry = np.flatnonzero(counts)
        return entry, low[entry]
    return np.repeat(np.arange(low.size), counts), list_ranges(low, counts)


def narrow_blocks(blocks: Blocks, rows: Rows, most_lanes: int) -> Blocks:
    """The same windows in blocks of at most `most_lanes`; results keep their order."""
    if blocks.lanes.size == 0 or blocks.lanes.max() <= most_lanes:
        return blocks
    parent, part = _count_up(np.zeros_like(blocks.lanes), (blocks.lanes - 1) // most_lanes)
    window = blocks.window[parent] + part * most_lanes
    lanes = np.minimum(most_lanes, blocks.window[parent] + blocks.lanes[parent] - window)
    rows_of = (blocks.row_start[parent], blocks.row_end[parent])
    start = find_first(rows.window_last, *rows_of, window)
    end = np.maximum(start, find_first(rows.window_first, *rows_of, window + lanes))
    return Blocks(blocks.segment[parent], start, end, window, lanes, number_results(lanes))


def find_first(column: np.ndarray, low: np.ndarray, high: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first row of each range whose number is not below the wanted one, by bisection; the range's end if none."""
    last, step = low - 1, 1 << int((high - low).max(initial=0)).bit_length()  # the last row that is known to be below
    while step := step >> 1:
        further = last + step
        below = column.take(further, mode="clip") < wanted
        below &= further < high
        last = np.where(below, further, last)
    return last + 1


def select_blocks(blocks: Blocks, chosen: np.ndarray) -> Blocks:
    """Some of the blocks, with new offsets."""
    parts = [column[chosen] for column in blocks[:5]]
    return Blocks(*parts, number_results(parts[4]))


def number_results(lanes: np.ndarray) -> np.ndarray:
    """Where each block's results begin; one longer than lanes."""
    offset = np.zeros(lanes.size + 1, np.int64)
    np.cumsum(lanes, out=offset[1:])
    return offset


def find_windows(blocks: Blocks, total: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(result number, segment, window) of every window with at least one trend."""
    found = np.flatnonzero(total != 0)
    block = np.repeat(np.arange(blocks.lanes.size), blocks.lanes).take(found)
    window = (blocks.window - blocks.offset[:-1]).take(block)
    window += found
    return found, blocks.segment.take(block), window
