"""Situations: maximal runs of steps that fulfil a condition, all conditions of a query in one pass.

Rows are sorted by (partition, time). Rows of one partition with equal times are one step, which fulfils a condition iff
all of them do. Bit k of a row's word says whether it fulfils condition k (thesis, Algorithm 5.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.growing import grow
from trendweave.kernels.searching import first_not_below

#: The end of a situation that still runs.
RUNNING = np.iinfo(np.int64).max


class Situations(NamedTuple):
    """Sorted by (partition, time of the end). A situation covers rows `first_row` up to, but not including, `end_row`.

    The row `end_row` ends it; a situation that still runs has RUNNING as its end. `carried` ones began before the rows.
    """

    kind: np.ndarray
    partition: np.ndarray
    start: np.ndarray
    end: np.ndarray
    first_row: np.ndarray
    end_row: np.ndarray
    carried: np.ndarray


@inner
def _write(
    found: np.ndarray, kind: int, partition: int, start: int, end: int, first_row: int, end_row: int, carried: int
) -> None:
    """One line of the table, whose columns are those of `Situations`."""
    found[0], found[1] = kind, partition
    found[2], found[3] = start, end
    found[4], found[5] = first_row, end_row
    found[6] = carried


@outer
def _derive(
    bits: np.ndarray,
    time: np.ndarray,
    starts: np.ndarray,
    open_bits: np.ndarray,
    open_since: np.ndarray,
    count: int,
) -> tuple[np.ndarray, int]:
    """`open_bits` and `open_since` are the runs of each partition at its last step, and are moved on to the new one."""
    found = np.empty((1024, 7), np.int64)
    size = 0
    since = np.empty(count, np.int64)
    since_row = np.empty(count, np.int64)
    carried = np.zeros(count, np.int64)
    for partition in range(starts.size - 1):
        low, high = starts[partition], starts[partition + 1]
        previous = open_bits[partition]
        for k in range(count):
            carried[k] = 1
            since[k] = open_since[partition, k]
            since_row[k] = low
        row = low
        while row < high:
            step = np.int64(bits[row])
            moment = time[row]
            after = row + 1
            while after < high and time[after] == moment:
                step &= np.int64(bits[after])
                after += 1
            changed = step ^ previous
            if changed != 0:
                for k in range(count):
                    if not (changed >> k) & 1:
                        continue
                    if (step >> k) & 1:
                        since[k] = moment
                        since_row[k] = row
                        carried[k] = 0
                        continue
                    if size == found.shape[0]:
                        found = grow(found, 2 * size)
                    _write(found[size], k, partition, since[k], moment, since_row[k], row, carried[k])
                    size += 1
                previous = step
            row = after
        for k in range(count):
            if (previous >> k) & 1:
                if size == found.shape[0]:
                    found = grow(found, 2 * size)
                _write(found[size], k, partition, since[k], RUNNING, since_row[k], high, carried[k])
                size += 1
                open_since[partition, k] = since[k]
        open_bits[partition] = previous
    return found, size


@inner
def _find_reaching(
    time: np.ndarray,
    moment: np.ndarray,
    first_row: np.ndarray,
    last_row: np.ndarray,
    row: np.ndarray,
) -> None:
    for i in range(moment.size):
        row[i] = first_not_below(time, first_row[i], last_row[i], moment[i])


def derive_situations(
    bits: np.ndarray,
    time: np.ndarray,
    starts: np.ndarray,
    count: int,
    open_bits: np.ndarray | None = None,
    open_since: np.ndarray | None = None,
) -> Situations:
    """Situations of `count` conditions; rows `starts[p]:starts[p + 1]` are those of partition p."""
    partitions = starts.size - 1
    if open_bits is None or open_since is None:
        open_bits, open_since = np.zeros(partitions, np.int64), np.zeros((partitions, count), np.int64)
    found, size = _derive(bits, time, starts, open_bits, open_since, count)
    columns = [np.ascontiguousarray(found[:size, i]) for i in range(6)]
    return Situations(*columns, found[:size, 6] == 1)


def rows_reaching(time: np.ndarray, moment: np.ndarray, first_row: np.ndarray, last_row: np.ndarray) -> np.ndarray:
    """Per entry the first row of `first_row` .. `last_row` at or after a moment; `last_row` itself where none is."""
    row = np.empty(moment.size, np.int64)
    _find_reaching(time, moment, first_row, last_row, row)
    return row
