"""Where ascending times are cut: into blocks of some thousand events, and into the slices of windows."""

from __future__ import annotations

import numpy as np

from trendweave.kernels.columns import read_only
from trendweave.kernels.compiling import outer

_MOST = np.int64(9223372036854775807)


@outer
def _cut_blocks(times: np.ndarray, grain: int, most: int, starts: np.ndarray) -> int:
    count = 0
    last = np.int64(0)
    held = 0
    for row in range(times.size):
        time = times[row]
        if row == 0 or time > last or (held >= most and time != times[row - 1]):
            starts[count] = row
            count += 1
            held = 0
            begin = (time // grain) * grain
            # The last grain of 64 bits need not be whole.
            last = begin + (grain - 1) if begin <= _MOST - (grain - 1) else _MOST
        held += 1
    starts[count] = times.size
    return count


@outer
def _cut_slices(times: np.ndarray, slide: int, rest: int, starts: np.ndarray, numbers: np.ndarray) -> int:
    count = 0
    edge = np.int64(0)
    for row in range(times.size):
        time = times[row]
        if row == 0 or time >= edge:
            window = time // slide
            begin = window * slide
            late = rest > 0 and time - begin >= rest
            starts[count] = row
            numbers[count] = window if rest == 0 else 2 * window + (1 if late else 0)
            count += 1
            if rest > 0 and not late:
                edge = begin + rest
            else:
                edge = begin + slide
    starts[count] = times.size
    return count


def cut_blocks(times: np.ndarray, grain: int, most: int) -> np.ndarray:
    """Where blocks begin, and the end of the last one.

    A block ends where a multiple of the grain is reached, and after `most` events; events of one time are never cut
    apart.

    Args:
        times: Ascending.
        grain: A length of time in steps.
        most: So many events or a few more, where they are of one time.
    """
    starts = np.empty(times.size + 1, np.int64)
    count = _cut_blocks(read_only(times), grain, most, starts)
    return starts[: count + 1].copy()


def cut_slices(times: np.ndarray, slide: int, rest: int) -> tuple[np.ndarray, np.ndarray]:
    """Where slices begin, with the end of the last one, and their numbers.

    Windows begin at multiples of the slide; where their length is no multiple of it, they end `rest` after one. So time
    is cut at both (thesis, 3.3.3): slice 2i begins with window i, slice 2i + 1 is what lies behind the rest. Without a
    rest, slice i begins with window i.

    Args:
        times: Ascending; the edges around them fit 64 bits.
        slide: In steps.
        rest: The length modulo the slide.
    """
    starts, numbers = np.empty(times.size + 1, np.int64), np.empty(times.size, np.int64)
    count = _cut_slices(read_only(times), slide, rest, starts, numbers)
    return starts[: count + 1].copy(), numbers[:count].copy()
