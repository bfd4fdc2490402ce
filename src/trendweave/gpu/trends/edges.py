"""Trends with conditions between events: all pairs of vertices of a window are looked at, a block of threads each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from trendweave.gpu.card import Card, Extent
from trendweave.gpu.sending import send
from trendweave.gpu.trends.card_rows import NEW_TICK, CardRows
from trendweave.gpu.trends.edge_columns import EdgeColumns, number_columns
from trendweave.gpu.trends.edge_windows import WindowPart, plan_parts
from trendweave.gpu.trends.numbers import Numbers, kernel_text
from trendweave.kernels import Condition, Rows, Selection, Template
from trendweave.kernels.aggregates.blocks import Blocks
from trendweave.kernels.loops.plan import NOT_THERE, UNGUARDED

#: Vertices of a span of a long window; slices of what comes before it, and vertices that each has at least.
SPAN, SLICES, SLICE_VERTICES = 2048, 64, 1024
#: Threads of a block that sums what comes before a span, and that goes over it.
SPAN_THREADS, WITHIN_THREADS = 128, 512


class Edges:
    """Rows, template and conditions on a card, ready for several passes."""

    def __init__(
        self,
        card: Card,
        rows: Rows,
        template: Template,
        conditions: Sequence[Condition],
        selection: Selection,
        start_guards: Mapping[int, np.ndarray],
        final_guards: Mapping[int, np.ndarray],
        blocks: Blocks,
        on_card: CardRows,
    ) -> None:
        self.card, self.rows, self.windows = card, rows.tick.size, blocks.window.size
        self._contiguous = np.int32(selection is Selection.CONTIGUOUS)
        self._tick, self._window = on_card.tick, card.put(blocks.window)
        self._states = states = len(template.state_variable)
        self._find_vertices(on_card.packed, states, blocks)
        columns = number_columns(template, conditions)
        self._columns = columns
        self._codes = put_codes(card, columns, self.rows)
        self._guards = put_columns(card, columns.guards, self.rows)
        self._small = tuple(
            card.put(np.asarray(part, np.int32))
            for part in (
                *(columns.incoming, columns.source, columns.guard, columns.first_test, columns.pair),
                *(columns.tests, columns.pairs),
            )
        )
        self._answers = card.put(columns.answers)
        starts, self._start_guards = self._edge_guards(template.is_start, start_guards)
        finals, self._final_guards = self._edge_guards(template.is_final, final_guards)
        self._ends = (card.put(starts), card.put(finals))
        self._way = np.int32(0 if self._contiguous else columns.simple_tests(states))

    def _find_vertices(self, packed: Any, states: int, blocks: Blocks) -> None:
        """Rows read as states, in the order of rows, and those of each window."""
        xp = self.card.xp
        readable = packed & ~NEW_TICK
        if states == 1 and bool((readable == 1).all()):
            self._vertex_row = xp.arange(self.rows, dtype=np.int32)
            self._vertex_state = xp.zeros(self.rows, np.uint8)
            starts, ends = blocks.row_start, blocks.row_end
        else:
            bits = (readable[:, None] >> xp.arange(states, dtype=np.uint32)[None, :]) & np.uint32(1)
            row, state = xp.nonzero(bits)
            self._vertex_row, self._vertex_state = row.astype(np.int32), state.astype(np.uint8)
            first = xp.searchsorted(row, self.card.put(np.concatenate([blocks.row_start, blocks.row_end])))
            starts, ends = np.split(self.card.get(first).astype(np.int64), 2)
        self.vertices = int(self._vertex_row.shape[0])
        self.starts, self.counts = starts, ends - starts
        self._vertex_start, self._vertex_end = self.card.put(starts), self.card.put(ends)

    def _edge_guards(self, there: np.ndarray, guards: Mapping[int, np.ndarray]) -> tuple[np.ndarray, Any]:
        """Per state the line of its guard, and the lines, on the card."""
        lines: list[np.ndarray] = []
        numbers = np.full(len(there), NOT_THERE, np.int32)
        for state in np.flatnonzero(there):
            numbers[state] = UNGUARDED
            if (guard := guards.get(int(state))) is not None:
                numbers[state] = len(lines)
                lines.append(guard)
        return numbers, put_columns(self.card, lines, self.rows)

    def run(self, numbers: Numbers, values: Any, value_states: Any, sums: int, chosen: np.ndarray | None) -> np.ndarray:
        """Totals per window; see `Totals.run`. Only the `chosen` windows, if given, are gone over."""
        results = self.card.xp.full((self.windows, 1 + sums), numbers.zero, numbers.dtype)
        parts = self._all_parts if chosen is None else self._plan_parts(chosen)
        for part in parts:
            room = self.card.xp.empty((1 + sums, part.length), numbers.dtype)
            launch = Launch(
                self.card,
                kernel_text("trends_edges", numbers.kind, sums),
                (
                    *(self._vertex_start, self._vertex_end, part.scratch, self._window),
                    *(self._vertex_row, self._vertex_state, self._tick, np.int64(self.rows), self._codes),
                    *(self._guards, self._start_guards, self._final_guards, *self._small, self._answers, *self._ends),
                    *(np.int32(self._states), np.int32(self._columns.staged), self._contiguous, self._way),
                    *(values, value_states, *numbers.modulus, room, np.int64(part.length), results),
                ),
            )
            for which, count, threads in part.launches:
                launch.start(which, count, threads)
            if part.long is not None:
                self._run_in_spans(launch, *part.long, numbers, sums)
        return self.card.get(results)

    @cached_property
    def _all_parts(self) -> list[WindowPart]:
        return self._plan_parts(np.arange(self.windows))

    def _plan_parts(self, windows: np.ndarray) -> list[WindowPart]:
        return plan_parts(self.card, self.counts, windows, spans=not self._contiguous)

    def _run_in_spans(self, launch: Launch, which: Any, window: int, numbers: Numbers, sums: int) -> None:
        """Span after span of one window: many blocks sum what comes before it, one goes over it."""
        first, count = int(self.starts[window]), int(self.counts[window])
        room = self.card.xp.empty((1 + sums) * SLICES * SPAN, numbers.dtype)
        for begin in range(first, first + count, SPAN):
            span = (begin, min(begin + SPAN, first + count))
            slices = min(SLICES, -(-(begin - first) // SLICE_VERTICES))
            partial = room if slices else None
            if slices:
                blocks = -(-(span[1] - span[0]) // SPAN_THREADS)
                launch.start(which, (blocks, slices), SPAN_THREADS, Span(*span, True, slices, partial))
            launch.start(which, 1, WITHIN_THREADS, Span(*span, False, slices, partial))


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a window that is gone over, whether what comes before it is summed, in how many slices, and where to;
    by default the whole window."""

    first: int = -1
    last: int = -1
    across: bool = False
    slices: int = 0
    partial: Any = None


WHOLE = Span()


@dataclass(frozen=True, slots=True)
class Launch:
    """The kernel with all that stays the same from one start to the next."""

    card: Card
    text: str
    arguments: tuple[Any, ...]

    def start(self, which: Any, blocks: Extent, threads: int, span: Span = WHOLE) -> None:
        """Go over some windows, whose numbers are on the card."""
        ends = (np.int64(span.first), np.int64(span.last), np.int32(span.across), np.int32(span.slices), span.partial)
        arguments = (which, *self.arguments, *ends)
        self.card.launch(self.text, "sum_over_edges", blocks, threads, arguments)


def put_columns(card: Card, lines: Sequence[np.ndarray], rows: int) -> Any:
    """Columns of int64 on the card, one after the other."""
    columns = card.xp.empty((len(lines), rows), np.int64)
    for place, line in enumerate(lines):
        columns[place] = send(card, np.asarray(line, np.int64), np.int64)
    return columns


def put_codes(card: Card, columns: EdgeColumns, rows: int) -> Any:
    """Codes and numbers of values on the card as int32; codes that need more are numbered anew, there."""
    xp = card.xp
    out = xp.empty((len(columns.codes) + len(columns.values), rows), np.int32)
    compared = len(columns.codes)
    if any(int(column.max(initial=0)) >= 2**31 - 1 for column in columns.codes):
        joined = xp.concatenate([send(card, column, np.int64) for column in columns.codes])
        known, numbers = xp.unique(joined, return_inverse=True)
        below = int(xp.searchsorted(known, xp.zeros(1, np.int64))[0])
        out[:compared] = xp.maximum(numbers.reshape(compared, rows) - below, -1)
    else:
        for place, column in enumerate(columns.codes):
            out[place] = send(card, column, np.int32)
    for place, column in enumerate(columns.values):
        out[compared + place] = send(card, column, np.int32)
    return out
