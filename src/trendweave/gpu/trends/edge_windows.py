"""Which windows with conditions between events are gone over at a time, and by how many threads each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trendweave.gpu.card import Card

#: Threads of a block, and the vertices of a window up to which so many do: the first that holds.
BLOCK_SIZES = ((32, 64), (64, 2048), (128, 4096), (512, 2**62))
#: Windows of more vertices are cut into spans, unless there are enough of them to keep a card busy.
LONG_WINDOW, MANY_WINDOWS = 8192, 128
#: Vertices of several windows that keep their numbers at a time.
AT_ONCE = 1 << 27


@dataclass(frozen=True, slots=True)
class WindowPart:
    """Windows that are gone over at a time.

    Args:
        scratch: On the card, where the numbers of each window's vertices begin.
        length: Vertices of all of them.
        launches: Windows, on the card, their number, and the threads of a block for each.
        long: A window that is cut into spans, on the card and as a number.
    """

    scratch: Any
    length: int
    launches: tuple[tuple[Any, int, int], ...]
    long: tuple[Any, int] | None = None


def plan_parts(card: Card, counts: np.ndarray, windows: np.ndarray, spans: bool) -> list[WindowPart]:
    """Parts of some windows.

    Args:
        card: Where they are gone over.
        counts: The vertices of all windows.
        windows: The numbers of those that are asked for.
        spans: Whether long windows may be cut.
    """
    is_long = counts[windows] > LONG_WINDOW
    if not spans or np.count_nonzero(is_long) > MANY_WINDOWS:
        is_long[:] = False
    short = windows[~is_long]
    cuts = np.flatnonzero(np.diff(np.cumsum(counts[short]) // AT_ONCE)) + 1
    parts = [_plan_blocks(card, counts, part) for part in np.split(short, cuts) if part.size]
    for window in windows[is_long].tolist():
        length = int(counts[window])
        scratch = card.put(np.zeros(counts.size, np.int64))
        parts.append(WindowPart(scratch, length, (), (card.put(np.array([window], np.int32)), window)))
    return parts


def _plan_blocks(card: Card, counts: np.ndarray, windows: np.ndarray) -> WindowPart:
    """One block per window, of more threads where there are more vertices."""
    scratch = np.zeros(counts.size, np.int64)
    ends = np.cumsum(counts[windows])
    scratch[windows] = ends - counts[windows]
    launches, fewest = [], -1
    for threads, most in BLOCK_SIZES:
        which = windows[(counts[windows] > fewest) & (counts[windows] <= most)]
        if fewest > 0:  # the longest first: short ones fill the gaps at the end
            which = which[np.argsort(-counts[which], kind="stable")]
        if which.size:
            launches.append((card.put(which.astype(np.int32)), which.size, threads))
        fewest = most
    return WindowPart(card.put(scratch), int(ends[-1]), tuple(launches))
