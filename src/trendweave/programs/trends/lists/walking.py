"""Walks over a graph: its trends are counted, found in batches, drawn, and the longest ones measured.

CET's ways to find all trends are one walk (`kernels/lists/walk.py`): M-CET steps from vertex to vertex, the others from
piece to piece of trends that are found beforehand.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from trendweave.errors import ExecutionError, Problem
from trendweave.gpu.card import find_card, memory_told, refuse_work
from trendweave.gpu.links import CardLinks
from trendweave.kernels.lists.graph import ALL, CHECKED, NO_WINDOW, TrendGraph, find_bounds, list_windows
from trendweave.kernels.lists.sample import WindowSampler
from trendweave.kernels.lists.walk import (
    BYTES_PER_PIECE,
    BYTES_PER_VERTEX,
    START,
    Entries,
    Found,
    Pieces,
    Progress,
    Share,
    build_pieces,
    count_paths,
    count_pieces,
    find_begins,
    new_walk,
    walk_back,
)
from trendweave.programs.trends.detection import Detection, Strategy
from trendweave.programs.trends.lists.choosing import NO_LIMIT, share_all
from trendweave.programs.trends.lists.edges import NotLinkedError, link_on_card, why_not_linked
from trendweave.programs.trends.lists.graphs import (
    UNKNOWN,
    SegmentGraph,
    TrendGraphs,
    WindowEntries,
    count_trends,
    join_arrays,
)
from trendweave.results.shown_trends import take_lists

#: Trends in a batch, and vertices in its buffer, at most; a longer trend has a buffer of its own.
TRENDS_AT_ONCE = 65_536
VERTICES_AT_ONCE = 1 << 18
#: Trends per vertex that there is room for at most: a small graph is walked with small buffers.
TRENDS_PER_VERTEX = 64


@dataclass(frozen=True, slots=True)
class FoundTrends:
    """Trends of one graph: vertex numbers one after the other, where each trend begins, and the entry of each."""

    vertices: np.ndarray
    starts: np.ndarray
    entry: np.ndarray

    def take(self, chosen: np.ndarray) -> FoundTrends:
        """Take some of the trends, by their numbers."""
        if chosen.size == self.entry.size:
            return self
        places, starts = take_lists(self.starts, chosen)
        return FoundTrends(self.vertices[places], starts, self.entry[chosen])


def walk_trends(
    part: SegmentGraph, entries: WindowEntries, share: Share, mode: int, detection: Detection
) -> Iterator[FoundTrends]:
    """Find the trends of a graph, a buffer at a time. The vertices of what comes out hold until the next comes.

    Args:
        part: The graph.
        entries: The entries of all graphs; those of this one are looked at.
        share: What to show of each entry.
        mode: ALL, COMPLETE or CHECKED.
        detection: The strategy, and memory for pieces of trends.

    Yields:
        Trends, at least one at a time.
    """
    local = take_entries(part, entries, entries.find_segments(part.first, part.end), share)
    # A quarter of the memory for pieces: the graph has half of it, and buffers and batches need some.
    for chosen, pieces in plan_walks(part.graph, mode, detection.memory // 4, local, detection.strategy):
        some = local.take(chosen)
        for found, trends, _ in walk_entries(part, some, mode, pieces):
            if trends:
                starts = found.starts[: trends + 1].copy()
                yield FoundTrends(found.vertices[: starts[-1]], starts, some.place[found.entry[:trends]])


def walk_entries(
    part: SegmentGraph, entries: Entries, mode: int, pieces: Pieces | None = None
) -> Iterator[tuple[Found, int, Progress]]:
    """Find the trends of some entries.

    Args:
        part: The graph.
        entries: The entries.
        mode: ALL, COMPLETE or CHECKED.
        pieces: Of which trends are joined; None: they are walked from vertex to vertex.

    Yields:
        The same buffers again and again, how many trends they hold, and where the walk stands: none at the end.
    """
    lengths = bool(entries.share.min_length.any())
    begun = None if lengths or pieces is not None else part.begun
    walk = new_walk(part.graph, lengths, begun is None, pieces is not None)
    buffers = make_buffers(part.row.size, part.largest_segment)
    given, progress, trends = (begun, part.at_ends and pieces is None, pieces), START, 1
    while trends:
        trends, reached = walk_back(part.graph, part.steps, entries, walk, buffers, mode, part.covers, progress, *given)
        progress = Progress(*reached)
        yield buffers, trends, progress


def find_longest(part: SegmentGraph, entries: WindowEntries, entry: int, mode: int, wanted: int) -> np.ndarray:
    """Find the lengths of an entry's longest trends, longest first, without building shorter ones.

    Walks only ways that become long enough, with a bound that falls to the next length that there is.
    """
    share, complete = share_all(1), np.empty(0, np.int64)
    share.quota[:], share.min_length[:] = wanted + 1, NO_LIMIT
    local = take_entries(part, entries, np.array([entry]), share)._replace(place=np.zeros(1, np.int64))
    while True:
        lengths, left_out = list[np.ndarray](), 0
        for found, trends, progress in walk_entries(part, local, mode):
            lengths.append(np.diff(found.starts[: trends + 1]))
            left_out = int(progress.left_out)
        together = join_arrays(lengths)
        if together.size >= wanted:
            missing = wanted - complete.size
            return np.sort(np.concatenate([complete, np.full(missing, share.min_length[0])]))[::-1]
        if left_out == 0:
            return np.sort(together)[::-1]
        complete, share.min_length[:] = together, left_out


def make_buffers(vertices: int, longest: int) -> Found:
    """Make buffers for the trends of so many vertices, the longest of which fits."""
    trends = max(1, min(TRENDS_AT_ONCE, TRENDS_PER_VERTEX * vertices))
    room = max(min(VERTICES_AT_ONCE, 4 * trends), longest)
    return Found(np.empty(trends, np.int64), np.empty(trends + 1, np.int64), np.empty(room, np.int32))


def take_entries(part: SegmentGraph, entries: WindowEntries, chosen: np.ndarray, share: Share) -> Entries:
    """Take some entries, which are those of a graph, and the same places of `share`."""
    segment, window = entries.segment[chosen] - part.first, entries.window[chosen]
    return Entries(segment, window, *find_bounds(part.graph, segment, window), chosen, share)


def name_seeds(graphs: TrendGraphs, seed: int) -> list[str]:
    """Write a text per entry that depends on the seed, the window and the group, and on nothing else."""
    keys = graphs.windows.keys(graphs.entries.window).tolist()
    columns = [column.to_pylist() for column in graphs.group_columns]
    return [
        f"{seed}|{key}|{[repr(column[group]) for column in columns]}"
        for key, group in zip(keys, graphs.entries.group.tolist(), strict=True)
    ]


def draw_trends(
    part: SegmentGraph, entries: WindowEntries, share: Share, seeds: Sequence[str], mode: int
) -> Iterator[FoundTrends]:
    """Draw as many trends of each entry of a graph as its share says.

    Args:
        part: The graph.
        entries: The entries of all graphs.
        share: How many are drawn of each entry.
        seeds: A text per entry, from which its random numbers come.
        mode: ALL or COMPLETE.

    Yields:
        Different trends of one entry at a time.
    """
    inside = entries.find_segments(part.first, part.end)
    for entry in inside[share.drawn[inside] > 0]:
        segment, window = int(entries.segment[entry]), int(entries.window[entry])
        sampler = WindowSampler(part.graph, part.steps, segment - part.first, window, mode)
        seed = hashlib.sha256(f"{seeds[entry]}|{segment}".encode()).digest()[:16]
        source = np.random.Generator(np.random.PCG64(int.from_bytes(seed, "little")))
        for trends in _draw_different(sampler, source, int(share.drawn[entry])):
            yield FoundTrends(trends.vertices, trends.starts, np.full(trends.entry.size, entry))


def _draw_different(sampler: WindowSampler, source: np.random.Generator, missing: int) -> Iterator[FoundTrends]:
    """One that was drawn before is drawn anew, so all sets are equally likely."""
    seen: set[bytes] = set()
    while missing:
        keys = source.integers(0, 2**64, missing, np.uint64)
        for starts, vertices in sampler.draws(keys, VERTICES_AT_ONCE):
            new = []
            for trend in range(starts.size - 1):
                digest = hashlib.blake2b(vertices[starts[trend] : starts[trend + 1]].data, digest_size=16).digest()
                if digest not in seen:
                    seen.add(digest)
                    new.append(trend)
            missing -= len(new)
            trends = FoundTrends(vertices, starts.copy(), np.zeros(starts.size - 1, np.int64))
            yield trends.take(np.array(new, np.int64))


def plan_walks(
    graph: TrendGraph, mode: int, memory: int, entries: Entries, strategy: Strategy | None
) -> Iterator[tuple[np.ndarray, Pieces | None]]:
    """Settle which entries of a graph are walked together, and of which pieces their trends are joined.

    T-CET and the baseline build the trends of each window as pieces of one graphlet. With H-CET windows of a segment
    share graphlets; where no pieces fit into memory, the segment is walked.

    Args:
        graph: The graph.
        mode: ALL, COMPLETE or CHECKED.
        memory: For pieces.
        entries: The entries.
        strategy: One of CET's; None: M-CET.

    Yields:
        Some entries, by their numbers, and the pieces; None: they are walked from vertex to vertex.

    Raises:
        ExecutionError: TW413 where pieces need too much memory.
    """
    every = np.arange(entries.segment.size)
    if strategy in (None, "m-cet") or (strategy == "h-cet" and not graph.is_listed):
        yield every, None
        return
    begins = find_begins(graph, mode) if graph.is_listed else None
    together = entries.segment if strategy == "h-cet" else every
    order = np.lexsort((entries.window, together))
    for chosen in np.split(order, np.flatnonzero(np.diff(together[order])) + 1) if order.size else ():
        low, high = int(entries.low[chosen].min()), int(entries.high[chosen].max())
        most = high - low if strategy == "h-cet" else 1
        pieces = None if begins is None else _build_least(graph, begins, low, high, most, memory, strategy)
        if pieces is None and strategy != "h-cet":
            message = f"{strategy} would need more than {memory >> 20:,} MB for its pieces of trends"
            way = "leave strategy= out, raise memory=, or use smaller windows"
            raise ExecutionError([Problem("TW413", message, way)])
        yield chosen, pieces


def _build_least(
    graph: TrendGraph, begins: np.ndarray, low: int, high: int, most: int, memory: int, strategy: Strategy
) -> Pieces | None:
    """Of cuts into 1, 2, 4 or more nearly equal graphlets (CET, Section 6.2), build those of least work that fit into
    memory. Work is the vertices that are written; joining adds a step per trend and graphlet, of which the number of
    pieces is a measure."""
    ticks = low + np.flatnonzero(np.diff(graph.tick[low:high])) + 1
    best, least, all_pieces, graphlets = None, float("inf"), 0.0, 1
    while graphlets <= min(most, ticks.size + 1) and all_pieces * graphlets < least:
        wanted = low + (high - low) * np.arange(1, graphlets) // graphlets
        inner = np.unique(ticks[np.minimum(np.searchsorted(ticks, wanted), ticks.size - 1)])
        cuts = np.concatenate([[low], inner, [high]]).astype(np.int64)
        room = np.empty((2, high - low))
        counts = [
            count_pieces(graph.edge_starts, graph.edges, begins, *pair, *room) for pair in pairwise(cuts.tolist())
        ]
        pieces, vertices = (sum(column) for column in zip(*counts, strict=True))
        all_pieces = all_pieces or pieces
        work = vertices + all_pieces * graphlets
        if work < least and BYTES_PER_PIECE * pieces + BYTES_PER_VERTEX * vertices <= memory:
            best, least = (cuts, int(pieces), int(vertices)), work
        graphlets *= 2
    return None if best is None else build_pieces(graph, begins, *best, strategy != "baseline")


#: Windows in which trends may end, of all events together, that are looked at.
MOST_WINDOWS = 1 << 26
#: Trends that are counted one by one, at most.
MOST_COUNTED = 20_000_000


class NotCountedError(Exception):
    """A graph has too many edges or windows, or too many trends for 64 bits: others count them."""


def find_graphs(graphs: TrendGraphs, counts: bool) -> TrendGraphs:
    """Build the graphs of a task where a card does that, and count the trends over them.

    Args:
        graphs: The graphs; with the windows to look into, where trends are not counted.
        counts: Whether to count.

    Returns:
        The graphs, with the windows that have trends.

    Raises:
        ExecutionError: TW422 where a card is asked for and does not serve this, TW423 where its memory is too small.
    """
    if graphs.task.options.device == "gpu":
        graphs = _link_on_card(graphs)
    return _count(graphs) if counts else graphs


def _link_on_card(graphs: TrendGraphs) -> TrendGraphs:
    reason = why_not_linked(graphs.task.plan)
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


def _count(graphs: TrendGraphs) -> TrendGraphs:
    mode = ALL if graphs.mode == CHECKED else graphs.mode
    group, found = join_arrays(graphs.groups), list[WindowEntries]()
    try:
        graphs = graphs.visit(lambda part: found.append(_count_entries(part, group, mode)))
    except NotCountedError:
        return count_trends(graphs)
    return graphs.with_entries(WindowEntries.join(found))


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
