"""Trends with conditions between events: all pairs of vertices of a window are looked at, a block of threads each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trendweave.gpu.card import Card, Extent
from trendweave.gpu.columns import send
from trendweave.gpu.trends.numbers import Numbers
from trendweave.gpu.trends.written import code_columns, write_propagate
from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.loops.plan import Columns, LoopPlan

#: Threads of a block, and the vertices of a window up to which so many do: the first that holds.
BLOCK_SIZES = ((32, 64), (64, 2048), (128, 4096), (512, 2**62))
#: Windows of more vertices are cut into spans, unless there are enough of them to keep a card busy.
LONG_WINDOW, MANY_WINDOWS = 8192, 128
#: Vertices of several windows that keep their numbers at a time.
AT_ONCE = 1 << 27
#: Vertices of a span of a long window; slices of what comes before it, and vertices that each has at least.
SPAN, SLICES, SLICE_VERTICES = 2048, 64, 1024
#: Threads of a block that sums what comes before a span, and that goes over it.
SPAN_THREADS, WITHIN_THREADS = 128, 512
#: Codes below this are int32 on a card.
_MOST_CODE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Launch:
    """A start of the kernel: windows on the card, how many blocks of how many threads; and the span of a long window,
    whether what comes before it is summed, and in how many slices."""

    windows: Any
    blocks: Extent
    threads: int
    first: int = -1
    last: int = -1
    across: bool = False
    slices: int = 0


@dataclass(frozen=True, slots=True)
class WindowPart:
    """Windows that are gone over at a time: where the numbers of each window's vertices begin, on the card; vertices of
    all of them; and what is started."""

    scratch: Any
    length: int
    launches: list[Launch]


class Propagate:
    """The columns of a plan on a card, ready for several passes.

    Args:
        card: The card.
        plan: Its stores are all scanned.
        columns: What it reads.
        part: The rows among those of the columns.
        contiguous: Whether one vertex follows another at the next tick alone.
        blocks: The windows.
        tick: Of each row, on the card.
        packed: As which states each row may be read, on the card.
    """

    def __init__(
        self,
        card: Card,
        plan: LoopPlan,
        columns: Columns,
        part: slice,
        contiguous: bool,
        blocks: Blocks,
        tick: Any,
        packed: Any,
    ) -> None:
        self.card, self.plan, self.contiguous, self.windows = card, plan, contiguous, blocks.window.size
        rows, xp = len(tick), card.xp

        def put(lines: Sequence[np.ndarray]) -> Any:
            found = xp.empty((len(lines), rows), np.int64)
            for place, line in enumerate(lines):
                found[place] = send(card, np.asarray(line, np.int64)[part], np.int64)
            return found

        compared, looked_up = ([np.asarray(columns.codes.arrays[k])[part] for k in of] for of in code_columns(plan))
        guards = [put(of.arrays) for of in (columns.guards, columns.start_guards, columns.final_guards)]
        tables = [np.asarray(table, np.uint8) for table in columns.answers]
        self.starts, self.counts, vertices = find_vertices(card, packed, len(plan.variable), blocks)
        self._windows = (card.put(self.starts), card.put(self.starts + self.counts))
        self._columns = (
            *(card.put(blocks.window), *vertices, tick, np.int64(rows), put_codes(card, compared, looked_up, rows)),
            *guards,
            card.put(np.concatenate([np.empty(0, np.uint8), *(table.reshape(-1) for table in tables)])),
            card.put(np.cumsum([0, *(table.size for table in tables)])),
            card.put(np.array([table.shape[1] for table in tables], np.int64)),
        )

    def run(self, numbers: Numbers, values: Any, value_states: Any, sums: int, chosen: np.ndarray | None) -> np.ndarray:
        """Totals per window; see `Fold.run`. Only the `chosen` windows, if given, are gone over."""
        card, text = self.card, write_propagate(self.plan, numbers.kind, sums, self.contiguous)
        results = card.xp.full((self.windows, 1 + sums), numbers.zero, numbers.dtype)
        room = card.xp.empty((1 + sums) * SLICES * SPAN, numbers.dtype)
        for part in self._all_parts if chosen is None else list(self._cut(chosen)):
            own = card.xp.empty((1 + sums, part.length), numbers.dtype)
            arguments = (
                *(*self._windows, part.scratch, *self._columns, values, value_states, *numbers.modulus),
                *(own, np.int64(part.length), results),
            )
            for launch in part.launches:
                span = (np.int64(launch.first), np.int64(launch.last), np.int32(launch.across), np.int32(launch.slices))
                given = (launch.windows, *arguments, *span, room if launch.slices else None)
                card.launch(text, "propagate", launch.blocks, launch.threads, given)
        return card.get(results)

    @cached_property
    def _all_parts(self) -> list[WindowPart]:
        return list(self._cut(np.arange(self.windows)))

    def _cut(self, windows: np.ndarray) -> Iterator[WindowPart]:
        """Parts of some windows, by their numbers."""
        counts = self.counts[windows]
        is_long = counts > LONG_WINDOW
        if self.contiguous or np.count_nonzero(is_long) > MANY_WINDOWS:
            is_long[:] = False
        short = windows[~is_long]
        cuts = np.flatnonzero(np.diff(np.cumsum(counts[~is_long]) // AT_ONCE)) + 1
        for some in np.split(short, cuts):
            if some.size:
                yield self._part(some, self._blocks(some))
        for window in windows[is_long]:
            yield self._part(window[None], self._spans(window[None]))

    def _part(self, windows: np.ndarray, launches: Iterator[Launch]) -> WindowPart:
        scratch, ends = np.zeros(self.windows, np.int64), np.cumsum(self.counts[windows])
        scratch[windows] = ends - self.counts[windows]
        return WindowPart(self.card.put(scratch), int(ends[-1]), list(launches))

    def _blocks(self, windows: np.ndarray) -> Iterator[Launch]:
        """One block per window, of more threads where there are more vertices."""
        fewest = -1
        for threads, most in BLOCK_SIZES:
            which = windows[(self.counts[windows] > fewest) & (self.counts[windows] <= most)]
            if fewest > 0:  # the longest first: short ones fill the gaps at the end
                which = which[np.argsort(-self.counts[which], kind="stable")]
            if which.size:
                yield Launch(self.card.put(which.astype(np.int32)), which.size, threads)
            fewest = most

    def _spans(self, window: np.ndarray) -> Iterator[Launch]:
        """Span after span of one window: many blocks sum what comes before it, one goes over it."""
        first, count = int(self.starts[window[0]]), int(self.counts[window[0]])
        which = self.card.put(window.astype(np.int32))
        for begin in range(first, first + count, SPAN):
            end = min(begin + SPAN, first + count)
            slices = min(SLICES, -(-(begin - first) // SLICE_VERTICES))
            if slices:
                yield Launch(which, (-(-(end - begin) // SPAN_THREADS), slices), SPAN_THREADS, begin, end, True, slices)
            yield Launch(which, 1, WITHIN_THREADS, begin, end, False, slices)


def find_vertices(card: Card, packed: Any, states: int, blocks: Blocks) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Rows read as states: where those of each window begin and how many there are; and their rows and states on the
    card, in the order of rows."""
    xp, readable = card.xp, packed & ~np.uint32(1 << 31)
    if states == 1 and bool((readable == 1).all()):
        starts, counts = blocks.row_start, blocks.row_end - blocks.row_start
        return starts, counts, [xp.arange(len(packed), dtype=np.int32), xp.zeros(len(packed), np.uint8)]
    row, state = xp.nonzero((readable[:, None] >> xp.arange(states, dtype=np.uint32)[None, :]) & np.uint32(1))
    edges = xp.searchsorted(row, card.put(np.concatenate([blocks.row_start, blocks.row_end])))
    starts, ends = np.split(card.get(edges).astype(np.int64), 2)
    return starts, ends - starts, [row.astype(np.int32), state.astype(np.uint8)]


def put_codes(card: Card, compared: Sequence[np.ndarray], looked_up: Sequence[np.ndarray], rows: int) -> Any:
    """Codes that are compared, and numbers of values, on the card as int32; codes that need more are numbered anew,
    there."""
    xp = card.xp
    out = xp.empty((len(compared) + len(looked_up), rows), np.int32)
    large = any(int(column.max(initial=0)) >= _MOST_CODE for column in compared)
    if large:
        joined = xp.concatenate([send(card, column, np.int64) for column in compared])
        known, numbers = xp.unique(joined, return_inverse=True)
        below = int(xp.searchsorted(known, xp.zeros(1, np.int64))[0])
        out[: len(compared)] = xp.maximum(numbers.reshape(len(compared), rows) - below, -1)
    for place, column in enumerate([*compared, *looked_up]):
        if place >= len(compared) or not large:
            out[place] = send(card, column, np.int32)
    return out
