"""CET's ways to find all trends of some windows of a segment, and the choice between them.

All of them fill the same buffers. M-CET is the walk of `kernels/lists/walk.py`; the others keep pieces of trends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.lists.graph import Steps, TrendGraph
from trendweave.kernels.lists.pieces import (
    BYTES_PER_PIECE,
    BYTES_PER_VERTEX,
    build_pieces,
    count_pieces,
    extend_all,
    find_begins,
    join_pieces,
    new_levels,
)
from trendweave.kernels.lists.walk import START, Entries, Found, new_walk, walk_back
from trendweave.programs.trends.detection import Strategy
from trendweave.programs.trends.lists.graphlet_plan import MAX_ATOMS, Costs, branch_and_bound, greedy

#: Vertices and edges of a stretch for which all plans are compared; a larger one is cut greedily.
_MAX_COMPARED = 2_000_000


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds trends of one graph; `memory` is for pieces of trends."""

    graph: TrendGraph
    steps: Steps | None
    mode: int
    memory: int
    buffers: Found

    def find(self, entries: Entries, strategy: Strategy) -> Iterator[tuple[np.ndarray, int]]:
        """(numbers of entries, number of trends) each time the buffers are full."""
        if strategy == "m-cet" or not self.graph.is_listed:
            if strategy in ("t-cet", "baseline"):
                raise ExecutionError([self._too_large(strategy)])
            yield from self._walk(entries, np.arange(entries.segment.size))
            return
        begins = find_begins(self.graph, self.mode)
        order = np.lexsort((entries.window, entries.segment))
        for segment in np.split(order, np.flatnonzero(np.diff(entries.segment[order])) + 1):
            if not segment.size:
                continue
            if strategy == "h-cet":
                yield from self._hybrid(entries, segment, begins)
                continue
            for entry in segment:
                yield from self._all_at_once(entries, np.array([entry]), begins, strategy)

    # M-CET

    def _walk(self, entries: Entries, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        walk, local = new_walk(self.graph), _take_entries(entries, chosen)
        progress = START
        while True:
            trends, progress = walk_back(self.graph, self.steps, local, walk, self.buffers, self.mode, None, progress)
            if trends == 0:
                return
            yield chosen[self.buffers.entry[:trends]], trends

    # T-CET

    def _all_at_once(
        self, entries: Entries, chosen: np.ndarray, begins: np.ndarray, strategy: Strategy
    ) -> Iterator[tuple[np.ndarray, int]]:
        low, high = self._range(entries, chosen)
        if self._memory(begins, low, high) > self.memory:
            raise ExecutionError([self._too_large(strategy)])
        yield from self._join(entries, chosen, begins, np.array([low, high]), strategy == "baseline")

    def _too_large(self, strategy: str) -> Problem:
        message = f"{strategy} would need more than {self.memory >> 20:,} MB for its pieces of trends"
        return Problem("TW413", message, "leave the choice to the optimiser, raise memory=, or use smaller windows")

    # H-CET

    def _hybrid(self, entries: Entries, chosen: np.ndarray, begins: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """Windows of a segment share graphlets as long as those fit into memory; a window that does not fit even alone,
        in graphlets as small as they come, is walked."""
        low, high = self._range(entries, chosen)
        if chosen.size > 1:
            cuts = self._panes(low, high)
            if self._memory_of(begins, cuts) <= self.memory:
                yield from self._join(entries, chosen, begins, cuts)
                return
            half = chosen.size // 2
            yield from self._hybrid(entries, chosen[:half], begins)
            yield from self._hybrid(entries, chosen[half:], begins)
            return
        plan = self._best_cuts(begins, low, high)
        if plan is None:
            yield from self._walk(entries, chosen)
        else:
            yield from self._join(entries, chosen, begins, plan)

    def _panes(self, low: int, high: int) -> np.ndarray:
        """Cuts wherever a window begins or ends."""
        first, last = self.graph.window_first[low:high], self.graph.window_last[low:high]
        changes = np.flatnonzero((np.diff(first) != 0) | (np.diff(last) != 0)) + 1
        return np.concatenate([[low], low + changes, [high]]).astype(np.int64)

    def _best_cuts(self, begins: np.ndarray, low: int, high: int) -> np.ndarray | None:
        atoms = self._atoms(low, high)
        costs = self._costs(begins, atoms)
        compared = costs.atoms <= MAX_ATOMS and (high - low) * costs.atoms <= _MAX_COMPARED
        plan = (branch_and_bound if compared else greedy)(costs, self.memory)
        return None if plan is None else atoms[list(plan)]

    def _atoms(self, low: int, high: int) -> np.ndarray:
        """Ticks, or as many stretches of ticks as are compared, of about the same size."""
        ticks = low + np.flatnonzero(np.diff(self.graph.tick[low:high])) + 1
        if ticks.size >= MAX_ATOMS:
            wanted = low + (high - low) * np.arange(1, MAX_ATOMS) // MAX_ATOMS
            ticks = np.unique(ticks[np.minimum(np.searchsorted(ticks, wanted), ticks.size - 1)])
        return np.concatenate([[low], ticks, [high]]).astype(np.int64)

    def _costs(self, begins: np.ndarray, atoms: np.ndarray) -> Costs:
        """Bytes that pieces take, and vertices that are written; joining adds a step per trend and graphlet, of which
        the number of pieces is a measure."""
        count = atoms.size - 1
        memory = [[float("inf")] * (count + 1) for _ in range(count)]
        work = [[float("inf")] * (count + 1) for _ in range(count)]
        for i in range(count):
            for j in range(i + 1, count + 1):
                pieces, vertices = self._count(begins, int(atoms[i]), int(atoms[j]))
                memory[i][j] = _bytes(pieces, vertices)
                work[i][j] = vertices
                if memory[i][j] > self.memory:
                    break
        total, _ = self._count(begins, int(atoms[0]), int(atoms[-1]))
        return Costs(tuple(np.diff(atoms).tolist()), memory, work, total)

    # Pieces

    def _range(self, entries: Entries, chosen: np.ndarray) -> tuple[int, int]:
        return int(entries.low[chosen].min()), int(entries.high[chosen].max())

    def _count(self, begins: np.ndarray, low: int, high: int) -> tuple[float, float]:
        room = np.empty(high - low), np.empty(high - low)
        pieces, vertices = count_pieces(self.graph.edge_starts, self.graph.edges, begins, low, high, *room)
        return float(pieces), float(vertices)

    def _memory(self, begins: np.ndarray, low: int, high: int) -> float:
        return _bytes(*self._count(begins, low, high))

    def _memory_of(self, begins: np.ndarray, cuts: np.ndarray) -> float:
        return sum(self._memory(begins, low, high) for low, high in pairwise(cuts))

    def _join(
        self, entries: Entries, chosen: np.ndarray, begins: np.ndarray, cuts: np.ndarray, baseline: bool = False
    ) -> Iterator[tuple[np.ndarray, int]]:
        counts = [self._count(begins, int(low), int(high)) for low, high in pairwise(cuts)]
        total, size = int(sum(count for count, _ in counts)), int(sum(size for _, size in counts))
        origin = int(cuts[0])
        if baseline:
            pieces = extend_all(self.graph, begins, origin, int(cuts[1]), total, size)
        else:
            pieces = build_pieces(self.graph.edge_starts, self.graph.edges, begins, origin, cuts, total, size)
        walk, levels, progress = new_walk(self.graph), new_levels(cuts.size), START
        local = _take_entries(entries, chosen)
        while True:
            trends, progress = join_pieces(
                self.graph, self.steps, local, walk, self.buffers, self.mode, pieces, origin, levels, progress
            )
            if trends == 0:
                return
            yield chosen[self.buffers.entry[:trends]], trends


def _bytes(pieces: float, vertices: float) -> float:
    return BYTES_PER_PIECE * pieces + BYTES_PER_VERTEX * vertices


def _take_entries(entries: Entries, chosen: np.ndarray) -> Entries:
    """Take the entries with these numbers, without picks: strategies that keep pieces show all trends."""
    names = ("segment", "window", "low", "high", "quota", "min_length", "shortest")
    return entries._replace(**{name: getattr(entries, name)[chosen] for name in names})
