"""CET's ways to find all trends of some windows of a segment, and the choice between them.

All of them are one walk (`kernels/lists/walk.py`): M-CET steps from vertex to vertex, the others from piece to piece of
trends that are found beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.lists.graph import TrendGraph
from trendweave.kernels.lists.pieces import (
    BYTES_PER_PIECE,
    BYTES_PER_VERTEX,
    Pieces,
    build_pieces,
    count_pieces,
    find_begins,
)
from trendweave.kernels.lists.walk import Entries
from trendweave.programs.trends.detection import Strategy

#: Into so many graphlets a window is cut at most.
_MOST_GRAPHLETS = 24
#: Some entries, by their numbers, and the pieces that their trends are joined from; None: they are walked.
_Planned = Iterator[tuple[np.ndarray, Pieces | None]]


def plan_walks(graph: TrendGraph, mode: int, memory: int, entries: Entries, strategy: Strategy) -> _Planned:
    """Settle which entries of a graph are walked together, and of which pieces their trends are joined.

    Args:
        graph: The graph.
        mode: ALL, COMPLETE or CHECKED.
        memory: For pieces.
        entries: The entries.
        strategy: One of CET's.

    Yields:
        The entries, and pieces.

    Raises:
        ExecutionError: TW413 where pieces need too much memory.
    """
    if strategy == "m-cet" or (strategy == "h-cet" and not graph.is_listed):
        yield np.arange(entries.segment.size), None
        return
    if not graph.is_listed:
        raise ExecutionError([_describe_too_large(strategy, memory)])
    planner = _PiecePlanner(graph, find_begins(graph, mode), memory, entries)
    order = np.lexsort((entries.window, entries.segment))
    for segment in np.split(order, np.flatnonzero(np.diff(entries.segment[order])) + 1):
        if strategy == "h-cet" and segment.size:
            yield from planner.cut(segment)
            continue
        for entry in segment:
            yield np.array([entry]), planner.build_at_once(entry, strategy)


def _describe_too_large(strategy: str, memory: int) -> Problem:
    message = f"{strategy} would need more than {memory >> 20:,} MB for its pieces of trends"
    return Problem("TW413", message, "leave the choice to the optimiser, raise memory=, or use smaller windows")


@dataclass(frozen=True, slots=True)
class _PiecePlanner:
    """Cuts the segments of a graph into graphlets; trends begin at vertices that `begins` tells."""

    graph: TrendGraph
    begins: np.ndarray
    memory: int
    entries: Entries

    def build_at_once(self, entry: int, strategy: Strategy) -> Pieces:
        """T-CET, or the baseline: one graphlet."""
        low, high = int(self.entries.low[entry]), int(self.entries.high[entry])
        if _bytes(*self._count(low, high)) > self.memory:
            raise ExecutionError([_describe_too_large(strategy, self.memory)])
        return self._build(np.array([low, high]), strategy != "baseline")

    def cut(self, chosen: np.ndarray) -> _Planned:
        """H-CET: windows of a segment share graphlets as long as those fit into memory; a window that does not fit even
        alone, in graphlets as small as they come, is walked."""
        low, high = int(self.entries.low[chosen].min()), int(self.entries.high[chosen].max())
        if chosen.size > 1:
            cuts = self._panes(low, high)
            if sum(_bytes(*self._count(*between)) for between in pairwise(cuts)) <= self.memory:
                yield chosen, self._build(cuts)
                return
            half = chosen.size // 2
            yield from self.cut(chosen[:half])
            yield from self.cut(chosen[half:])
            return
        plan = self._best_cuts(low, high)
        yield chosen, None if plan is None else self._build(plan)

    def _panes(self, low: int, high: int) -> np.ndarray:
        """Cuts wherever a window begins or ends."""
        first, last = self.graph.window_first[low:high], self.graph.window_last[low:high]
        changes = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
        return np.concatenate([[low], low + changes, [high]]).astype(np.int64)

    def _best_cuts(self, low: int, high: int) -> np.ndarray | None:
        """Of cuts into nearly equal graphlets (CET, Section 6.2) those of least work that fit into memory. Work is the
        vertices that are written; joining adds a step per trend and graphlet, of which the number of pieces is a
        measure."""
        ticks = low + np.flatnonzero(np.diff(self.graph.tick[low:high])) + 1
        best: np.ndarray | None = None
        pieces, least = self._count(low, high)[0], float("inf")
        for graphlets in range(1, min(ticks.size + 1, _MOST_GRAPHLETS) + 1):
            if pieces * graphlets >= least:
                break
            wanted = low + (high - low) * np.arange(1, graphlets) // graphlets
            inner = np.unique(ticks[np.minimum(np.searchsorted(ticks, wanted), ticks.size - 1)])
            cuts = np.concatenate([[low], inner, [high]]).astype(np.int64)
            counts = [self._count(*between) for between in pairwise(cuts.tolist())]
            work = sum(vertices for _, vertices in counts) + pieces * graphlets
            if work < least and sum(_bytes(*count) for count in counts) <= self.memory:
                best, least = cuts, work
        return best

    def _count(self, low: int, high: int) -> tuple[float, float]:
        room = np.empty(high - low), np.empty(high - low)
        pieces, vertices = count_pieces(self.graph.edge_starts, self.graph.edges, self.begins, low, high, *room)
        return float(pieces), float(vertices)

    def _build(self, cuts: np.ndarray, in_order: bool = True) -> Pieces:
        counts = [self._count(int(low), int(high)) for low, high in pairwise(cuts)]
        total, size = (int(sum(column)) for column in zip(*counts, strict=True))
        return build_pieces(self.graph, self.begins, cuts, total, size, in_order)


def _bytes(pieces: float, vertices: float) -> float:
    return BYTES_PER_PIECE * pieces + BYTES_PER_VERTEX * vertices
