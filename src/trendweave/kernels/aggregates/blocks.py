"""Window blocks: independent sub-problems of a few consecutive windows of one segment.

A block is the windows [window, window + lanes) of one segment together with the rows that lie in any of them. Blocks
share no state (a vertex has one aggregate per window that holds it, as in GRETA, Section 6), so memory is bounded by
the largest block, and blocks may run anywhere."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner


class Blocks(NamedTuple):
    """One entry per block: rows [row_start, row_end), windows [window, window + lanes); lane i of block b is result
    number offset[b] + i."""

    segment: np.ndarray
    row_start: np.ndarray
    row_end: np.ndarray
    window: np.ndarray
    lanes: np.ndarray
    offset: np.ndarray


class FewerBlocks(NamedTuple):
    """Those parts of blocks that loops for common programs read."""

    row_start: np.ndarray
    row_end: np.ndarray
    window: np.ndarray
    lanes: np.ndarray
    offset: np.ndarray


@inner
def cut_segments(segment_starts, first, last, most_lanes, segment, row_start, row_end, window, lanes):
    """Write the blocks of all segments; with empty arrays only count them."""
    count = 0
    writing = segment.size > 0
    for s in range(segment_starts.size - 1):
        row = segment_starts[s]
        end = segment_starts[s + 1]
        stop = row
        reached = np.int64(-(2**62))  # windows before this one are done
        while True:
            while row < end and (last[row] < reached or first[row] > last[row]):
                row += 1
            if row >= end:
                break
            low = max(first[row], reached)
            high = low + most_lanes - 1
            if stop < row:
                stop = row
            while stop < end and first[stop] <= high:
                stop += 1
            high = min(high, last[stop - 1]) if last[stop - 1] >= low else low
            if writing:
                segment[count] = s
                row_start[count] = row
                row_end[count] = stop
                window[count] = low
                lanes[count] = high - low + 1
            count += 1
            reached = high + 1
    return count


@inner
def find_longest_overlap(first, last):
    """The largest number of windows that hold one row."""
    most = np.int64(1)
    for row in range(first.size):
        most = max(most, last[row] - first[row] + 1)
    return most


@inner
def split_blocks(row_start, row_end, window, lanes, first, last, most_lanes, parent, starts, ends, low, width):
    """Cut each block into blocks of at most most_lanes windows; with empty arrays only count them."""
    count = 0
    for b in range(window.size):
        row = row_start[b]
        stop = row
        w = window[b]
        while w < window[b] + lanes[b]:
            wide = min(most_lanes, window[b] + lanes[b] - w)
            while row < row_end[b] and last[row] < w:
                row += 1
            stop = max(stop, row)
            while stop < row_end[b] and first[stop] < w + wide:
                stop += 1
            if parent.size > 0:
                parent[count] = b
                starts[count] = row
                ends[count] = stop
                low[count] = w
                width[count] = wide
            count += 1
            w += wide
    return count


def cut_blocks(rows, most_lanes: int) -> Blocks:
    """All blocks of at most `most_lanes` windows."""
    none = np.empty(0, np.int64)
    arguments = (rows.segment_starts, rows.window_first, rows.window_last, most_lanes)
    count = cut_segments(*arguments, none, none, none, none, none)
    columns = [np.empty(count, np.int64) for _ in range(5)]
    if count:
        cut_segments(*arguments, *columns)
    return Blocks(*columns, number_results(columns[4]))


def narrow_blocks(blocks: Blocks, rows, most_lanes: int) -> Blocks:
    """The same windows in blocks of at most `most_lanes`; results keep their order."""
    if blocks.lanes.size == 0 or blocks.lanes.max() <= most_lanes:
        return blocks
    none = np.empty(0, np.int64)
    old = (
        blocks.row_start,
        blocks.row_end,
        blocks.window,
        blocks.lanes,
        rows.window_first,
        rows.window_last,
        most_lanes,
    )
    count = split_blocks(*old, none, none, none, none, none)
    columns = [np.empty(count, np.int64) for _ in range(5)]
    split_blocks(*old, *columns)
    return Blocks(blocks.segment[columns[0]], *columns[1:], number_results(columns[4]))


def select_blocks(blocks: Blocks, chosen: np.ndarray) -> Blocks:
    """Some of the blocks, with new offsets."""
    parts = [column[chosen] for column in blocks[:5]]
    return Blocks(*parts, number_results(parts[4]))


def number_results(lanes: np.ndarray) -> np.ndarray:
    """Where each block's results begin; one longer than lanes."""
    offset = np.zeros(lanes.size + 1, np.int64)
    np.cumsum(lanes, out=offset[1:])
    return offset


@inner
def write_found(blocks_segment, blocks_window, lanes, total, found, segment, window):
    """The results that are not 0, with their segment and window."""
    number = 0
    count = 0
    for b in range(lanes.size):
        for lane in range(lanes[b]):
            if total[number] != 0:
                found[count] = number
                segment[count] = blocks_segment[b]
                window[count] = blocks_window[b] + lane
                count += 1
            number += 1


def find_windows(blocks: Blocks, total: np.ndarray) -> tuple:
    """(result number, segment, window) of every window with at least one trend."""
    some = np.ascontiguousarray(total != 0)
    count = int(np.count_nonzero(some))
    found, segment, window = (np.empty(count, np.int64) for _ in range(3))
    write_found(blocks.segment, blocks.window, blocks.lanes, some, found, segment, window)
    return found, segment, window
