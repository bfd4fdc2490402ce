"""Trends that are counted over their graph, whose edges are found on a GPU where that is asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from trendweave.gpu.card import find_card, memory_told, refuse_work
from trendweave.gpu.matching.links import CardLinks
from trendweave.kernels.lists.graph import ALL, CHECKED, NO_WINDOW, list_windows
from trendweave.kernels.lists.walk import Entries, count_paths, new_walk
from trendweave.programs.trends.lists.choosing import share_all
from trendweave.programs.trends.lists.counting import (
    UNKNOWN,
    CountedTrends,
    WindowEntries,
    count_trends,
    join_arrays,
)
from trendweave.programs.trends.lists.edges import NotLinkedError, link_on_card, why_not_linked
from trendweave.programs.trends.lists.graphs import SegmentGraph, SegmentGraphs
from trendweave.programs.trends.lists.walking import take_entries, walk_entries

#: Windows in which trends may end, of all events together, that are looked at.
MOST_WINDOWS = 1 << 26
#: Trends that are counted one by one, at most.
MOST_COUNTED = 20_000_000


class NotCountedError(Exception):
    """A graph has too many edges or windows, or too many trends for 64 bits: others count them."""


def find_graphs(counted: CountedTrends, mode: int, memory: int, counts: bool) -> SegmentGraphs:
    """Build the graphs of a task, and count the trends over them.

    Args:
        counted: The rows of the task; the windows to look into, where trends are not counted.
        mode: ALL, COMPLETE or CHECKED.
        memory: For the graphs.
        counts: Whether to count.

    Returns:
        The graphs, with the windows that have trends.

    Raises:
        ExecutionError: TW422 where a card is asked for and does not serve this, TW423 where its memory is too small.
    """
    graphs = SegmentGraphs(counted, mode, memory)
    if counted.task.options.device == "gpu":
        graphs = _link_on_card(graphs)
    return _count(graphs) if counts else graphs


def _link_on_card(graphs: SegmentGraphs) -> SegmentGraphs:
    reason = why_not_linked(graphs.counted.task.plan)
    if reason is not None:
        refuse_work(f"{reason} is not served on a GPU")
    card = find_card()
    try:
        with memory_told(card):
            graphs = replace(graphs, linker=partial(link_on_card, CardLinks(card))).visit(lambda part: None)
    except NotLinkedError as error:
        refuse_work(f"{error} is not served on a GPU")
    if graphs.kept is None:
        refuse_work(f"a graph of links that does not fit into {graphs.memory // 2**20:,} MB is not served on a GPU")
    return graphs


def _count(graphs: SegmentGraphs) -> SegmentGraphs:
    counted, mode = graphs.counted, ALL if graphs.mode == CHECKED else graphs.mode
    group, found = join_arrays(counted.groups), list[WindowEntries]()
    try:
        graphs = graphs.visit(lambda part: found.append(_count_entries(part, group, mode)))
    except NotCountedError:
        return replace(graphs, counted=count_trends(counted))
    return replace(graphs, counted=counted.with_entries(WindowEntries.join(found)))


def _count_entries(part: SegmentGraph, group: np.ndarray, mode: int) -> WindowEntries:
    """The windows of a graph that have trends."""
    if part.steps is not None:
        raise NotCountedError
    entries = _find_entries(part, group)
    looked_at = take_entries(part, entries, np.arange(entries.size), share_all(entries.size))
    if not (part.at_ends and _count_by_walking(part, looked_at, entries.counts)):
        walk, numbers = None if mode == ALL else new_walk(part.graph), np.empty(part.row.size, np.int64)
        count_paths(part.graph, None, looked_at, mode, walk, entries.counts, numbers)
        if mode == ALL and (entries.counts == UNKNOWN).any():
            raise NotCountedError
    return entries.take(np.flatnonzero(entries.counts))


def _count_by_walking(part: SegmentGraph, entries: Entries, counts: np.ndarray) -> bool:
    """Count trends of windows that overlap much, unless they are too many."""
    total = 0
    for found, trends, _ in walk_entries(part, entries, ALL):
        np.add.at(counts, found.entry[:trends], 1)
        total += trends
        if total > MOST_COUNTED:
            return False
    return True


def _find_entries(part: SegmentGraph, group: np.ndarray) -> WindowEntries:
    """The windows of a graph in which trends may end."""
    graph = part.graph
    ends = np.flatnonzero(graph.end_until != -NO_WINDOW)
    first, last = graph.window_first[ends], graph.end_until[ends]
    listed = list_windows(np.searchsorted(ends, graph.segment_starts), first, last, MOST_WINDOWS)
    if listed is None:
        raise NotCountedError
    segment, window = listed[0] + part.first, listed[1]
    return WindowEntries(segment, window, group[segment], np.zeros(segment.size, np.int64))
