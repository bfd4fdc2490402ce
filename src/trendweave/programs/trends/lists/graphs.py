"""The graphs of a task's segments, as many at a time as fit into memory; and how many trends each window of each
segment has, before the first one is built. Windows and groups are numbered here, and lists of trends use the same
numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import NO_MATCH
from trendweave.kernels.lists.covers import Covers, make_covers
from trendweave.kernels.lists.graph import (
    ALL,
    CHECKED,
    COMPLETE,
    NO_WINDOW,
    NOWHERE,
    VERTEX_IN_EDGES,
    Steps,
    TrendGraph,
    flatten_steps,
    latest_before,
    reduce_edges,
)
from trendweave.planning.plan import MovingWindow, Plan
from trendweave.programs.trends.aggregates import PartitionTask, of_rows
from trendweave.programs.trends.kernel_inputs import SELECTION, Piece
from trendweave.programs.trends.lists.edges import Linker, link_conditions, link_rows
from trendweave.programs.trends.lists.successors import GraphBuilder
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.rows.windows import TrendNumbers, WindowNumbers

#: The count of an entry whose complete trends 64 bits cannot count.
UNKNOWN = -1


def choose_mode(plan: Plan) -> int:
    """Settle which paths of the graph are trends to show: all of them, those of the reduced graph, or checked ones."""
    if not plan.complete:
        return ALL
    alike = not isinstance(plan.window, MovingWindow) or plan.has_alike_edges
    return COMPLETE if plan.reduced_graph_is_exact and alike else CHECKED


@dataclass(frozen=True, slots=True)
class WindowEntries:
    """Windows with trends in the segments of all pieces, which are numbered one after the other.

    `counts` are the trends of each entry, UNKNOWN where 64 bits cannot tell; of checked complete trends, those of all
    trends.
    """

    segment: np.ndarray
    window: np.ndarray
    group: np.ndarray
    counts: np.ndarray

    @property
    def size(self) -> int:
        return int(self.segment.size)

    @property
    def total(self) -> int | None:
        """All trends; None where that is not known."""
        return None if (self.counts == UNKNOWN).any() else sum(self.counts.tolist())

    @staticmethod
    def join(parts: Sequence[WindowEntries]) -> WindowEntries:
        """Put entries one after the other."""
        names = WindowEntries.__slots__
        return WindowEntries(*(join_arrays([getattr(part, name) for part in parts]) for name in names))

    def take(self, chosen: np.ndarray) -> WindowEntries:
        return WindowEntries(*(getattr(self, name)[chosen] for name in WindowEntries.__slots__))

    def find_segments(self, first: int, end: int) -> np.ndarray:
        """Find the entries of the segments `first:end`."""
        return np.flatnonzero((self.segment >= first) & (self.segment < end))


def join_arrays(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Put arrays one after the other; no arrays are no numbers."""
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


#: What an edge costs in memory: it is listed, copied while the list grows, and once more when the graph is reduced.
_BYTES_PER_EDGE = 24
#: Edges for which there is always room: a graph of a few events is no danger.
_LEAST_EDGES = 1024


class TrendEdges(NamedTuple):
    """What must be known of a vertex that is the first or last of a trend with a window of its own.

    `begins` and `ends`: whether trends may begin or end with it, `is_open`: whether they may whatever follows. Trends
    that begin with it are clean of a leading NOT if they end so soon that tick `clean_after` is outside of the window.
    """

    begins: np.ndarray
    ends: np.ndarray
    is_open: np.ndarray
    clean_after: np.ndarray


@dataclass(frozen=True, slots=True)
class SegmentGraph:
    """The graph of the segments from `first` on, and of its vertices the rows of the table and the variables.

    `steps` are there where edges are not listed, and `covers` where trends are checked. `begun` are the
    windows up to which a way from a beginning leads to vertices, where that is all that there is to know of them;
    `at_ends`: each trend lies in the window of its last event.
    """

    first: int
    graph: TrendGraph
    steps: Steps | None
    row: np.ndarray
    variable: np.ndarray
    covers: Covers | None = None
    edges: TrendEdges | None = None
    begun: np.ndarray | None = None
    at_ends: bool = False

    @property
    def end(self) -> int:
        return self.first + self.graph.segment_starts.size - 1

    @property
    def largest_segment(self) -> int:
        sizes = np.diff(self.graph.segment_starts)
        return int(sizes.max()) if sizes.size else 0


@dataclass(frozen=True, slots=True)
class TrendGraphs:
    """The rows of a task in pieces, their groups and windows, and the entries that have trends: none as long as nothing
    is counted. Builds their graphs, anew for each pass over them unless they were `kept`.

    `groups` holds per piece the group of each segment; `mode` is ALL, COMPLETE or CHECKED.
    """

    task: PartitionTask
    pieces: list[Piece]
    groups: list[np.ndarray]
    group_columns: list[pa.Array]
    windows: WindowNumbers
    entries: WindowEntries
    mode: int
    memory: int
    linker: Linker = link_rows
    kept: tuple[SegmentGraph, ...] | None = None

    @property
    def first_segments(self) -> np.ndarray:
        """The number of each piece's first segment, and of the one after the last."""
        return np.concatenate([[0], np.cumsum([piece.segments.count for piece in self.pieces])]).astype(np.int64)

    @property
    def partitions(self) -> np.ndarray:
        """The partition of each segment."""
        return join_arrays([piece.segments.partition for piece in self.pieces])

    def with_entries(self, entries: WindowEntries) -> TrendGraphs:
        """The same once something is counted; windows that are not asked for are left out."""
        if isinstance(self.windows, TrendNumbers) and not self.windows.asked.all():
            entries = entries.take(self.windows.asked[entries.window])
        return replace(self, entries=entries)

    def number_places(self) -> np.ndarray:
        """Number the windows and groups that the entries belong to, as results tell them apart; one may have several
        entries."""
        places = np.stack([self.windows.keys(self.entries.window), self.entries.group], axis=1)
        return np.unique(places, axis=0, return_inverse=True)[1].reshape(-1)

    def parts(self) -> Iterator[SegmentGraph]:
        """Graphs of all segments, of as many of them as fit into memory at a time."""
        room = edge_room(self.memory)
        if self.kept is not None:
            yield from self.kept
        elif self.mode == CHECKED:
            yield self._join(room)
        else:
            yield from self._build(room)

    def visit(self, work: Callable[[SegmentGraph], None]) -> TrendGraphs:
        """Do some work with each graph.

        Returns:
            The graphs for the next pass: these very ones, if all of them fit into memory.
        """
        room, used = edge_room(self.memory), 0
        kept: list[SegmentGraph] = []
        for part in self.parts():
            work(part)
            used += part.graph.edges.size + VERTEX_IN_EDGES * part.graph.row.size
            if used <= room:
                kept.append(part)
            else:
                kept.clear()
        return replace(self, kept=tuple(kept) if used <= room else None)

    def _build(self, room: int) -> Iterator[SegmentGraph]:
        for number in range(len(self.pieces)):
            yield from self._build_piece(number, room)

    def _build_piece(self, number: int, room: int) -> Iterator[SegmentGraph]:
        task, piece, windows = self.task, self.pieces[number], self.windows
        segments, template = piece.segments, task.inputs.kernel_template(piece.template)
        tick, owner = segments.take(task.rows.tick), of_rows(self.groups[number], segments, windows)
        builder = GraphBuilder(
            task.inputs.kernel_rows(segments, windows.first(tick, owner), windows.last(tick, owner)),
            template,
            link_conditions(task.inputs, piece),
            SELECTION[task.plan.strategy],
            guard_starts(task.inputs, piece, windows, tick, owner),
            guard_ends(task.inputs, piece, windows, tick, owner),
            self.mode != ALL,
        )
        variable = np.asarray(template.state_variable, np.int32)
        moves = isinstance(windows, TrendNumbers)
        offset, first, size = int(self.first_segments[number]), 0, max(segments.count, 1)
        while first < segments.count:
            end = min(first + size, segments.count)
            graph, steps = builder.link(first, end, self.linker, room), None
            if graph is None and end - first > 1:
                size = (end - first) // 2
                continue
            if graph is None:
                graph = builder.keep_unlinked(first, self.linker)
                steps = flatten_steps(template, task.inputs.conditions(piece), builder.selection, tick.size)
            if self.mode == COMPLETE:
                graph = self._reduce(graph)
            edges = self._find_edges(piece, graph) if moves else None
            row, begun = segments.row[graph.row], self._find_begun(graph)
            at_ends = begun is not None and isinstance(windows, TrendNumbers) and not windows.from_first
            yield SegmentGraph(offset + first, graph, steps, row, variable[graph.state], None, edges, begun, at_ends)
            first = end

    def _find_begun(self, graph: TrendGraph) -> np.ndarray | None:
        """None where some trend begins only in later windows than its first event: NOT at the beginning, or windows
        that stand at first events."""
        if self.mode != ALL or not graph.is_listed:
            return None
        if not ((graph.start_from == NO_WINDOW) | (graph.start_from == graph.window_first)).all():
            return None
        own = np.where(graph.start_from <= graph.window_last, graph.window_last, NOWHERE)
        return latest_before(graph.edge_starts, graph.edges, own)[1]

    def _find_edges(self, piece: Piece, graph: TrendGraph) -> TrendEdges:
        begins, ends, is_open = (np.zeros(len(piece.template.states), np.bool_) for _ in range(3))
        clean_after = np.full(graph.tick.size, NO_MATCH)
        for start in piece.template.starts:
            begins[start.state] = True
            threshold = self.task.inputs.latest_start(start.guard)
            if threshold is not None:
                here = graph.state == start.state
                clean_after[here] = threshold[graph.tick[here]]
        for end in piece.template.ends:
            ends[end.state], is_open[end.state] = True, end.guard.always_open
        return TrendEdges(begins[graph.state], ends[graph.state], is_open[graph.state], clean_after)

    def _reduce(self, graph: TrendGraph) -> TrendGraph:
        if not graph.is_listed:
            raise ExecutionError([self._too_large()])
        starts, edges = reduce_edges(graph.edge_starts, graph.edges)
        return graph._replace(edge_starts=starts, edges=edges)

    def _join(self, room: int) -> SegmentGraph:
        """One graph of all pieces, whose vertices are told by rows of the table and variables: a trend of one piece may
        be part of a longer one of another."""
        parts = list(self._build(room))
        if any(not part.graph.is_listed for part in parts) or sum(part.graph.edges.size for part in parts) > room:
            raise ExecutionError([self._too_large()])
        row = join_arrays([part.row for part in parts])
        variable = join_arrays([part.variable for part in parts])
        graph = _join_graphs([part.graph for part in parts], row, variable)
        sizes = np.diff(graph.segment_starts)
        # A bit per pair of vertices of a segment of which one comes after the other: half of a square, in bytes.
        if (sizes.astype(float) ** 2 / 2 / 8).sum() > self.memory // 2:
            raise ExecutionError([self._too_large()])
        _, pair = np.unique(row * len(self.task.plan.variables) + variable, return_inverse=True)
        covers = make_covers(graph, pair.astype(np.int64), self.partitions, int(sizes.max()) + 1 if sizes.size else 1)
        known = [part.edges for part in parts if part.edges is not None]
        edges = TrendEdges(*map(np.concatenate, zip(*known, strict=True))) if known else None
        return SegmentGraph(0, graph, None, row, variable, covers, edges)

    def _too_large(self) -> Problem:
        message = f"the graph of complete trends does not fit into {self.memory // 2**20:,} MB"
        return Problem("TW413", message, "raise memory=, use smaller windows, or add an equivalence")


def lay_out(task: PartitionTask, mode: int, memory: int) -> TrendGraphs:
    """Find the pieces of a task's rows, and number groups and windows."""
    pieces = task.inputs.pieces(task.plan.template)
    groups, columns = task.number_groups([piece.segments for piece in pieces])
    windows, nothing = task.number_windows(pieces, groups), WindowEntries.join([])
    return TrendGraphs(task, pieces, groups, columns, windows, nothing, mode, memory)


def count_trends(graphs: TrendGraphs) -> TrendGraphs:
    """Count the trends of a task's rows as aggregates are counted; also where only complete ones are wanted, as only
    windows that have any are of interest."""
    entries = []
    for piece, group, offset in zip(graphs.pieces, graphs.groups, graphs.first_segments[:-1], strict=True):
        found = graphs.task.aggregate_piece(piece, group, graphs.windows)
        counts = found.components[0].values
        entries.append(WindowEntries(found.group + offset, found.window, group[found.group], counts))
    return graphs.with_entries(WindowEntries.join(entries))


def edge_room(memory: int) -> int:
    """Settle how many edges half of the memory holds; the other half is for walking and writing."""
    return max(_LEAST_EDGES, memory // _BYTES_PER_EDGE // 2)


def _join_graphs(graphs: list[TrendGraph], row: np.ndarray, variable: np.ndarray) -> TrendGraph:
    vertices = np.concatenate([[0], np.cumsum([graph.row.size for graph in graphs])])
    edges = np.concatenate([[0], np.cumsum([graph.edges.size for graph in graphs])])

    names = ("tick", "window_first", "window_last", "start_from", "end_until", "follow")
    return TrendGraph(
        row=row,
        state=variable.astype(np.int32),
        **{name: join_arrays([getattr(graph, name) for graph in graphs]) for name in names},
        edge_starts=_join_starts([graph.edge_starts for graph in graphs], edges),
        edges=join_arrays(
            [graph.edges + first for graph, first in zip(graphs, vertices[:-1], strict=True)],
        ).astype(np.int32),
        segment_starts=_join_starts([graph.segment_starts for graph in graphs], vertices),
    )


def _join_starts(starts: list[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Where the parts of parts begin, counted from the beginning of the whole."""
    moved = [part[1:] + offset for part, offset in zip(starts, offsets[:-1], strict=True)]
    return np.concatenate([np.zeros(1, np.int64), *moved]).astype(np.int64)
