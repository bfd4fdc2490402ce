"""AFTER MATCH SKIP and PER START without looking at other trends: only those that are taken are found.

Each vertex of a graph knows how the first of its trends goes on, so a beginning costs as much as the trend that is
taken of it, and one that is taken away costs nothing. Where conditions on whole matches decide, a beginning costs as
much as its trends that are judged.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trendweave.kernels.listing.contiguous import RunFolds, find_ranges, new_folding
from trendweave.kernels.listing.graph import TrendGraph
from trendweave.kernels.taking.candidates import Reach, find_reach, make_key, new_path
from trendweave.kernels.taking.paths import (
    BEFORE_TAKING,
    NO_DECISIONS,
    TakenEntries,
    Taking,
    TakingProgress,
    take_paths,
)
from trendweave.kernels.taking.ways import Following, new_ways
from trendweave.programs.trends.aggregates import PartitionTask, of_rows
from trendweave.programs.trends.contiguous.folds import NO_FOLDS, read_folded
from trendweave.programs.trends.counting import Layout, WindowEntries, join_arrays
from trendweave.programs.trends.graphs import SegmentGraph
from trendweave.programs.trends.listed.judging import Demands, Judge
from trendweave.programs.trends.listed.selection import Selector
from trendweave.programs.trends.walking import FoundTrends, make_buffers
from trendweave.results.shown_trends import FoldedOutput


def find_entries(task: PartitionTask, layout: Layout) -> WindowEntries:
    """Find the windows of all segments that hold rows; what they hold is not counted."""
    segments_of: list[np.ndarray] = []
    windows_of: list[np.ndarray] = []
    groups_of: list[np.ndarray] = []
    offset = 0
    for piece, group in zip(layout.pieces, layout.groups, strict=True):
        segments = piece.segments
        tick, owner = segments.take(task.rows.tick), of_rows(group, segments, layout.windows)
        first, last = layout.windows.first(tick, owner), layout.windows.last(tick, owner)
        nothing = np.empty((4, 0), np.int64)
        size = int(find_ranges(segments.starts, first, last, *nothing))
        segment, window, low, high = np.empty((4, size), np.int64)
        find_ranges(segments.starts, first, last, segment, window, low, high)
        segments_of.append(segment + offset)
        windows_of.append(window)
        groups_of.append(group[segment])
        offset += segments.count
    segment = join_arrays(segments_of)
    return WindowEntries(segment, join_arrays(windows_of), join_arrays(groups_of), np.zeros(segment.size, np.int64))


def take_trends(
    part: SegmentGraph,
    entries: WindowEntries,
    partition: np.ndarray,
    selector: Selector,
    from_first: bool,
    folds: RunFolds = NO_FOLDS,
    demands: Demands | None = None,
) -> Iterator[tuple[FoundTrends, list[FoldedOutput]]]:
    """Find the trends of a graph that are taken, a buffer at a time. What comes out holds until the next comes.

    Args:
        part: The graph, whose edges are listed.
        entries: The entries of all graphs; those of this one are looked at.
        partition: The partition of each entry.
        selector: What the query asks for; its limits grow with what is taken where windows are of single trends.
        from_first: Whether windows stand at the first events of trends.
        folds: What is folded over events; these are then not listed.
        demands: What whole trends must meet.

    Yields:
        Trends, at least one at a time, and what was folded over each.
    """
    inside = entries.find_segments(part.first, part.end)
    # Windows of a segment one after the other.
    inside = inside[np.lexsort((entries.window[inside], entries.segment[inside]))]
    limit = selector.limit[partition[inside]]
    local = TakenEntries(entries.segment[inside] - part.first, entries.window[inside], limit, limit.copy())
    rule, graph = selector.rule, part.graph
    taking = Taking(rule.kind, rule.variable, rule.shortest, from_first)
    ways, buffers, progress = new_ways(graph.row.size), make_buffers(part), BEFORE_TAKING
    follows = _turn_round(part, selector.places)
    ahead = new_folding(graph.row.size, folds.kind.size)
    folded = new_folding(folds.kind.size, buffers.entry.size)
    path = new_path(part.largest_segment, folds.kind.size)
    reach: Reach | None = None
    judge, decisions = None, NO_DECISIONS
    if demands is not None:
        reach = _find_reach(graph, follows)
        judge = Judge.of(part, follows, reach, taking, local, demands)
    while progress.entry < inside.size:
        if judge is not None and _position(graph, progress) >= decisions.until:
            decisions = judge.decide(progress)
        trends, progress = take_paths(
            graph, follows, reach, taking, local, ways, decisions, folds, ahead, path, buffers, folded, progress
        )
        if trends == 0:
            continue
        starts = buffers.starts[: trends + 1].copy()
        found = FoundTrends(buffers.vertices[: starts[-1]], starts, inside[buffers.entry[:trends]])
        yield found, read_folded(folds, folded, trends)
    if from_first:
        np.maximum.at(selector.limit, partition[inside], local.reached)


def _position(graph: TrendGraph, progress: TakingProgress) -> int:
    """The key of the next vertex to look at."""
    return int(make_key(graph, progress.entry, max(progress.vertex, 0)))


def _find_reach(graph: TrendGraph, follows: Following) -> Reach:
    reach = Reach(np.empty(graph.row.size, np.int64), np.empty(graph.row.size, np.bool_))
    find_reach(graph, follows, reach)
    return reach


def _turn_round(part: SegmentGraph, places: np.ndarray) -> Following:
    """What follows each vertex, in order, and what orders vertices; graphs have what stands before."""
    graph = part.graph
    later = np.repeat(np.arange(graph.row.size, dtype=np.int32), np.diff(graph.edge_starts))
    place = places[part.row]
    order = np.argsort(graph.edges, kind="stable")
    starts = np.zeros(graph.row.size + 1, np.int64)
    np.cumsum(np.bincount(graph.edges, minlength=graph.row.size), out=starts[1:])
    if starts[-1] and (np.diff(starts) > 1).any():
        order = np.lexsort((place[later], part.variable[later], graph.tick[later], graph.edges))
    return Following(starts, later[order], part.variable, place, part.row)
