"""Trends that are counted along links: what `counting.py` of all lists counts by sums over predecessors."""

from __future__ import annotations

import numpy as np

from trendweave.expressions.compiled.condition import NotCompiled
from trendweave.kernels.listing.count import count_paths
from trendweave.kernels.listing.covers import no_covers
from trendweave.kernels.listing.graph import NO_WINDOW, VERTEX_IN_EDGES, TrendGraph
from trendweave.kernels.listing.marks import ALL
from trendweave.kernels.listing.steps import Steps, flatten_steps
from trendweave.kernels.listing.walk import new_walk
from trendweave.programs.trends.aggregates import PartitionTask, of_rows
from trendweave.programs.trends.choice import share_all
from trendweave.programs.trends.counting import Layout, WindowEntries, join_arrays
from trendweave.programs.trends.graphs import SegmentGraph, SegmentGraphs, edge_room
from trendweave.programs.trends.kernel_inputs import SELECTION, Piece
from trendweave.programs.trends.linked.conditions import LinkConditions, over_rows
from trendweave.programs.trends.linked.ends import LinkedEnds
from trendweave.programs.trends.linked.graph import LinkTask, link_graph
from trendweave.programs.trends.linked.linkers import Linker
from trendweave.programs.trends.walking import take_entries
from trendweave.programs.trends.window_guards import guard_ends, guard_starts
from trendweave.rows.trend_windows import TrendNumbers
from trendweave.rows.windows import WindowNumbers

#: Windows in which trends may end, of all events together, that are looked at.
MOST_WINDOWS = 1 << 26


class NotLinkedError(Exception):
    """These rows or conditions are not linked; it says why, as a part of a sentence."""


def count_linked(
    task: PartitionTask, layout: Layout, memory: int, linker: Linker, known: WindowEntries | None = None
) -> SegmentGraphs:
    """Link the rows of a task, and count the trends along the links.

    Args:
        task: Its plan must be one that is served.
        layout: Of its rows.
        memory: For the graph.
        linker: What finds links.
        known: The windows to look into, where nothing is counted.

    Returns:
        The graphs of all segments, with what was counted.

    Raises:
        NotLinkedError: A condition is not compiled, or there are too many links.
    """
    windows = layout.windows
    conditions = LinkConditions(task.rows)
    parts: list[SegmentGraph] = []
    entries: list[WindowEntries] = []
    room, offset = edge_room(memory), 0
    for piece, group in zip(layout.pieces, layout.groups, strict=True):
        owner = of_rows(group, piece.segments, windows)
        graph, steps, variable = _link_piece(task, piece, windows, owner, conditions, linker, room)
        at_ends = isinstance(windows, TrendNumbers) and not windows.from_first
        own_ends = LinkedEnds.of(graph) if at_ends else None
        row = piece.segments.row[graph.row]
        part = SegmentGraph(offset, graph, steps, row, variable[graph.state], no_covers(), None, own_ends)
        room -= graph.edges.size + VERTEX_IN_EDGES * graph.row.size
        parts.append(part)
        if known is None:
            entries.append(_count_entries(part, group))
        offset += piece.segments.count
    if room < 0:
        raise NotLinkedError(f"a graph of links that does not fit into {memory // 2**20:,} MB")
    counted = layout.with_entries(task, _join_entries(entries) if known is None else known)
    return SegmentGraphs(counted, ALL, memory, tuple(parts))


def _link_piece(
    task: PartitionTask,
    piece: Piece,
    windows: WindowNumbers,
    owner: np.ndarray,
    conditions: LinkConditions,
    linker: Linker,
    room: int,
) -> tuple[TrendGraph, Steps, np.ndarray]:
    """The graph of a piece, what walks over it ask of its transitions, and the variables of its states."""
    segments, inputs = piece.segments, task.inputs
    tick = segments.take(task.rows.tick)
    rows = inputs.kernel_rows(segments, windows.first(tick, owner), windows.last(tick, owner))
    template = inputs.kernel_template(piece.template)
    compiled = []
    for edge in inputs.edges_of(piece.template):
        condition = conditions.of(edge)
        if isinstance(condition, NotCompiled):
            raise NotLinkedError(f"a condition on two events that is not compiled ({condition.reason})")
        compiled.append(over_rows(condition, segments.take))
    selection = SELECTION[task.plan.strategy]
    guards = (guard(inputs, piece, windows, tick, owner) for guard in (guard_starts, guard_ends))
    graph = link_graph(LinkTask(rows, template, compiled, selection, *guards), linker, room)
    if graph is None:
        raise NotLinkedError(f"more than {room:,} links between events")
    # All edges are listed, so that no walk asks for conditions.
    steps = flatten_steps(template, None, selection, tick.size)
    return graph, steps, np.asarray(template.state_variable, np.int32)


def _count_entries(part: SegmentGraph, group: np.ndarray) -> WindowEntries:
    """The windows of a graph that have trends."""
    counts = None if part.own_ends is None else part.own_ends.count()
    if counts is not None:
        assert part.own_ends is not None
        segment, window = part.own_ends.segment, part.own_ends.ends.window
        begins = np.ones(counts.size, np.bool_)
        begins[1:] = (segment[1:] != segment[:-1]) | (window[1:] != window[:-1])
        first = np.flatnonzero(begins)
        total = np.add.reduceat(counts, first) if first.size else counts
        return WindowEntries(segment[first] + part.first, window[first], group[segment[first]], total)
    graph = part.graph
    ends = np.flatnonzero(graph.end_until != -NO_WINDOW)
    segment = np.searchsorted(graph.segment_starts, ends, side="right") - 1
    first, sizes = graph.window_first[ends], graph.end_until[ends] - graph.window_first[ends] + 1
    if int(sizes.sum()) > MOST_WINDOWS:
        raise NotLinkedError(f"more than {MOST_WINDOWS:,} windows in which events may end trends")
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pairs = np.column_stack([np.repeat(segment, sizes), np.repeat(first, sizes) + inside])
    pairs = np.unique(pairs, axis=0)
    local = WindowEntries(pairs[:, 0] + part.first, pairs[:, 1], group[pairs[:, 0]], np.zeros(len(pairs), np.int64))
    everything = np.arange(local.size)
    walk = new_walk(graph)
    looked_at = take_entries(local, everything, part.first, share_all(local.size), everything)
    count_paths(graph, part.steps, looked_at, ALL, walk, local.counts, np.empty(walk.marks.size, np.int64))
    return local.take(np.flatnonzero(local.counts))


def _join_entries(entries: list[WindowEntries]) -> WindowEntries:
    def join(name: str) -> np.ndarray:
        return join_arrays([getattr(part, name) for part in entries])

    return WindowEntries(join("segment"), join("window"), join("group"), join("counts"))
