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
from trendweave.kernels.lists.pieces import (
    BYTES_PER_PIECE,
    BYTES_PER_VERTEX,
    Pieces,
    build_pieces,
    count_pieces,
    find_begins,
)
from trendweave.kernels.lists.sample import WindowSampler
from trendweave.kernels.lists.walk import START, Entries, Found, Progress, Share, count_paths, new_walk, walk_back
from trendweave.programs.trends.detection import Detection, Strategy
from trendweave.programs.trends.lists.choosing import NO_LIMIT, share_all
from trendweave.programs.trends.lists.counting import UNKNOWN, CountedTrends, WindowEntries, count_trends, join_arrays
from trendweave.programs.trends.lists.edges import NotLinkedError, link_on_card, why_not_linked
from trendweave.programs.trends.lists.graphs import SegmentGraph, SegmentGraphs
from trendweave.results.shown_trends import take_lists

#: Trends in a batch, and vertices in its buffer, at most; a longer trend has a buffer of its own.
TRENDS_AT_ONCE = 65_536
VERTICES_AT_ONCE = 1 << 18
#: Trends per vertex that there is room for at most: a small graph is walked with small buffers.
TRENDS_PER_VERTEX = 64
#: Trends per vertex from which on planning graphlets pays.
_MANY_TRENDS = 64


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
    part: SegmentGraph, entries: WindowEntries, share: Share, mode: int, detection: Detection, strategy: Strategy
) -> Iterator[FoundTrends]:
    """Find the trends of a graph, a buffer at a time. The vertices of what comes out hold until the next comes.

    Args:
        part: The graph.
        entries: The entries of all graphs; those of this one are looked at.
        share: What to show of each entry.
        mode: ALL, COMPLETE or CHECKED.
        detection: Its memory is for pieces of trends.
        strategy: One of CET's.

    Yields:
        Trends, at least one at a time.
    """
    local = take_entries(part, entries, entries.find_segments(part.first, part.end), share)
    # A quarter of the memory for pieces: the graph has half of it, and buffers and batches need some.
    for chosen, pieces in plan_walks(part.graph, mode, detection.memory // 4, local, strategy):
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


def choose_strategy(
    part: SegmentGraph, entries: WindowEntries, mode: int, chooses: bool, detection: Detection
) -> Strategy:
    """Settle how to find the trends of a graph: walking keeps nothing and needs no plan; pieces of trends pay where
    each of them is used many times. `chooses`: whether only some of the trends are shown."""
    if detection.strategy is not None:
        return detection.strategy
    if mode == CHECKED or chooses or not part.graph.is_listed:
        return "m-cet"
    counts = entries.counts[entries.find_segments(part.first, part.end)]
    many = bool((counts == UNKNOWN).any()) or sum(counts.tolist()) >= _MANY_TRENDS * part.row.size
    return "h-cet" if many else "m-cet"


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


def name_seeds(counted: CountedTrends, seed: int) -> list[str]:
    """Write a text per entry that depends on the seed, the window and the group, and on nothing else."""
    keys = counted.windows.keys(counted.entries.window).tolist()
    columns = [column.to_pylist() for column in counted.group_columns]
    return [
        f"{seed}|{key}|{[repr(column[group]) for column in columns]}"
        for key, group in zip(keys, counted.entries.group.tolist(), strict=True)
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
