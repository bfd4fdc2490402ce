"""The work of one task that shows trends: prepared rows of some partitions in, trends in batches out.

The number of trends is known before the first one is built: the aggregation kernels count them. Then the graph of as
many segments as fit into memory is built, walked for each window, and dropped.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels.listing.graph import VERTEX_IN_EDGES, TrendGraph, build_graph, reduced_edges
from trendweave.kernels.listing.sample import WindowSampler
from trendweave.kernels.listing.steps import Steps, steps_of
from trendweave.kernels.listing.walk import (
    ALL,
    CHECKED,
    COMPLETE,
    LEFT_OUT,
    Covers,
    Entries,
    Found,
    count_trends,
    make_covers,
    new_walk,
    no_covers,
    walk_back,
)
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.aggregates import SELECTION, PartitionTask, TaskOptions, of_rows
from trendweave.programs.trends.choice import NO_LIMIT, Share, everything, limited, longest, sampled
from trendweave.programs.trends.detection import Detection, Strategy
from trendweave.programs.trends.kernel_inputs import Piece
from trendweave.programs.trends.strategies import Finder
from trendweave.results.partials import merge
from trendweave.rows.windows import MovingNumbers

_LOG = logging.getLogger("trendweave")

#: Trends in a batch, and vertices in its buffer, at most; a longer trend has a buffer of its own.
TRENDS_AT_ONCE = 65_536
VERTICES_AT_ONCE = 1 << 18
#: What an edge costs in memory: it is listed, copied while the list grows, and once more when the graph is reduced.
_BYTES_PER_EDGE = 24
#: Trends per vertex from which on planning graphlets pays.
_MANY_TRENDS = 64


@dataclass(frozen=True, slots=True)
class ShownTrends:
    """Trends one after the other: rows of the task's table, variables by number, and where each trend begins; and of
    each trend the window's number and the group's."""

    rows: np.ndarray
    variables: np.ndarray
    starts: np.ndarray
    window: np.ndarray
    group: np.ndarray


@dataclass(frozen=True, slots=True)
class _Entries:
    """Windows with trends in the segments of all pieces, numbered one after the other."""

    segment: np.ndarray
    window: np.ndarray
    group: np.ndarray
    counts: np.ndarray
    graph_window: np.ndarray  # the window's number in the graphs

    def take(self, kept: np.ndarray) -> _Entries:
        return _Entries(*(getattr(self, name)[kept] for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class _Graph:
    """The graph of the segments from `first` on, and of its vertices the rows of the table and the variables."""

    first: int
    graph: TrendGraph
    steps: Steps
    row: np.ndarray
    variable: np.ndarray
    covers: Covers

    @property
    def end(self) -> int:
        return self.first + self.graph.segment_starts.size - 1


class TrendTask(PartitionTask):
    """`asked` is the plan; counting uses it without what it returns."""

    def __init__(
        self, plan: Plan, preparation: Preparation, table: pa.Table, options: TaskOptions, detection: Detection
    ) -> None:
        # Of complete trends only those windows are of interest that have trends at all: floats tell.
        options = replace(options, exact=not plan.is_complete)
        super().__init__(replace(plan, aggregates=()), replace(preparation, values=()), table, options)
        self.asked, self.detection = plan, detection
        self.kind = ALL
        if plan.is_complete:
            self.kind = COMPLETE if plan.reduced_graph_is_exact else CHECKED
        self.pieces = self.inputs.pieces(plan.template)
        self.groups, self.group_columns = self._groups([piece.segments for piece in self.pieces])
        self.windows = self._windows(self.pieces, self.groups)
        self.graph_windows, self.owners = self.windows, self.groups
        self.offsets = np.concatenate([[0], np.cumsum([piece.segments.count for piece in self.pieces])]).astype(int)
        self._kept: list[_Graph] | None = None
        self.entries = self._count()
        self.share = self._share()
        self._check_number()

    # Numbers

    @property
    def trends(self) -> int | None:
        """How many trends will be shown; None where it turns out only while they are."""
        if self.kind == CHECKED:
            return None
        if self.asked.choice is not None:
            return int(self.share.quota.sum() + self.share.drawn.sum())
        counts = self.entries.counts
        return None if (counts == -1).any() else sum(counts.tolist())

    def _count(self) -> _Entries:
        """Windows with trends, and how many they have, by the aggregation kernels."""
        parts = [
            self._aggregated(piece, group, self.windows) for piece, group in zip(self.pieces, self.groups, strict=True)
        ]
        entries = _Entries(
            _joined([part.segment + offset for part, offset in zip(parts, self.offsets, strict=False)]),
            _joined([part.partials.window for part in parts]),
            _joined([group[part.segment] for part, group in zip(parts, self.groups, strict=True)]),
            _joined([part.partials.components[0].values for part in parts]),
            _joined([part.partials.window for part in parts]),
        )
        if isinstance(self.windows, MovingNumbers):
            merged = merge([part.of_groups(group) for part, group in zip(parts, self.groups, strict=True)])
            rows = self._where_trends_end(merged, self.pieces, self.groups, self.windows)
            entries = entries.take(np.isin(entries.window, rows.window))
        entries = self._with_graph_windows(entries)
        if self.kind == COMPLETE:
            entries = replace(entries, counts=self._count_complete(entries))
        return entries

    def _with_graph_windows(self, entries: _Entries) -> _Entries:
        """Moving windows are numbered by group. A trend of one group may be part of a longer one of another group, so
        where that is checked, the graphs number them by partition."""
        windows = self.windows
        if self.kind != CHECKED or not isinstance(windows, MovingNumbers):
            return entries
        self.owners = [piece.segments.partition for piece in self.pieces]
        partition = _joined(self.owners)[entries.segment]
        places = partition * windows.width + windows.starts[entries.window] % windows.width
        starts, numbers = np.unique(places, return_inverse=True)
        self.graph_windows = replace(windows, starts=starts)
        return replace(entries, graph_window=numbers.reshape(-1))

    def _count_complete(self, entries: _Entries) -> np.ndarray:
        """Paths of the reduced graph; -1 where 64 bits cannot tell."""
        counts = np.zeros(entries.segment.size, np.int64)
        for part in self._graphs():
            inside = np.flatnonzero((entries.segment >= part.first) & (entries.segment < part.end))
            walk = new_walk(part.graph)
            found = np.empty(inside.size, np.int64)
            local = _local(entries, inside, part.first, everything(inside.size))
            count_trends(part.graph, part.steps, local, COMPLETE, walk, found, np.empty(walk.marks.size, np.int64))
            counts[inside] = found
        return counts

    def _check_number(self) -> None:
        most = self.detection.max_trends
        number = self.trends
        if number is not None:
            _LOG.info("%s trends to show", _shown(number))
        if self.kind == CHECKED or most is None:
            return
        if number is None:
            self._refuse("more than 2^62")
        if number > most:
            self._refuse(_shown(number))

    def _refuse(self, number: str) -> None:
        raise ExecutionError([too_many_trends(number, self.detection.max_trends, self.asked)])

    # Choice

    def _share(self) -> Share:
        choice, entries = self.asked.choice, self.entries
        if choice is None:
            return everything(entries.segment.size)
        _, place = np.unique(np.stack([entries.window, entries.group], axis=1), axis=0, return_inverse=True)
        place = place.reshape(-1)
        if choice.kind == "limit":
            return limited(place, None if self.kind == CHECKED else entries.counts, choice.count)
        if choice.kind == "longest":
            return longest(place, self._longest_lengths(choice.count), choice.count)
        counts = entries.counts
        if (counts == -1).any():
            raise ExecutionError(
                [Problem("TW413", "complete trends beyond 2^62 cannot be sampled", "use smaller windows")]
            )
        return sampled(place, counts.tolist(), choice.count, self._seeds())

    def _seeds(self) -> list[str]:
        """A text per entry that depends on the seed, the window and the group, and on nothing else."""
        assert self.asked.choice is not None
        keys = self.windows.keys(self.entries.window).tolist()
        columns = [column.to_pylist() for column in self.group_columns]
        return [
            f"{self.asked.choice.seed}|{key}|{[repr(column[group]) for column in columns]}"
            for key, group in zip(keys, self.entries.group.tolist(), strict=True)
        ]

    def _longest_lengths(self, wanted: int) -> list[np.ndarray]:
        """The lengths of each entry's longest trends, without building shorter ones."""
        lengths: list[np.ndarray] = [np.empty(0, np.int64)] * self.entries.segment.size
        for part in self._graphs():
            for entry in np.flatnonzero((self.entries.segment >= part.first) & (self.entries.segment < part.end)):
                lengths[entry] = self._lengths_of(part, entry, wanted)
        return lengths

    def _lengths_of(self, part: _Graph, entry: int, wanted: int) -> np.ndarray:
        """Walks only ways that become long enough, with a bound that falls to the next length that there is."""
        complete = np.empty(0, np.int64)
        least = NO_LIMIT
        buffers = _buffers(part)
        while True:
            share = everything(1)
            share.min_length[:] = least
            share.quota[:] = wanted + 1
            walk = new_walk(part.graph, lengths=True)
            local = _local(self.entries, np.array([entry]), part.first, share)
            found: list[np.ndarray] = []
            while trends := walk_back(part.graph, part.steps, local, walk, buffers, self.kind, part.covers):
                found.append(np.diff(buffers.starts[: trends + 1]))
            left_out = int(walk.place[LEFT_OUT])
            together = _joined(found)
            if together.size >= wanted:
                missing = wanted - complete.size
                return np.sort(np.concatenate([complete, np.full(missing, least)]))[::-1]
            if left_out == 0:
                return np.sort(together)[::-1]
            complete, least = together, left_out

    # Graphs

    def _graphs(self) -> Iterator[_Graph]:
        """Graphs of all segments with as many as fit into memory at a time; kept if all of them do."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[_Graph] | None = []
        room = self._room()
        if self.kind == CHECKED:
            self._kept = [self._joined_graph(room)]
            yield self._kept[0]
            return
        for number, piece in enumerate(self.pieces):
            for part in self._graphs_of(number, piece, room):
                if kept is not None:
                    kept.append(part)
                    used = sum(one.graph.edges.size + VERTEX_IN_EDGES * one.graph.row.size for one in kept)
                    kept = kept if used <= room else None
                yield part
        self._kept = kept

    def _room(self) -> int:
        return max(1024, self.detection.memory // _BYTES_PER_EDGE // 2)

    def _graphs_of(self, number: int, piece: Piece, room: int) -> Iterator[_Graph]:
        segments, windows = piece.segments, self.graph_windows
        tick, of_row = segments.take(self.rows.tick), of_rows(self.owners[number], segments, windows)
        rows = self.inputs.kernel_rows(segments, windows.first(tick, of_row), windows.last(tick, of_row))
        template = self.inputs.kernel_template(piece.template)
        steps = steps_of(
            template, self.inputs.conditions(piece.template, segments), SELECTION[self.plan.strategy], tick.size
        )
        guards = (
            self._start_guards(piece, windows, tick, of_row),
            self._end_guards(piece, windows, tick, of_row, None),
        )
        variable = np.asarray(template.state_variable, np.int32)
        first = 0
        while first < segments.count:
            graph = build_graph(rows, template, steps, *guards, first, room)
            if self.kind == COMPLETE:
                graph = self._reduced(graph)
            offset = int(self.offsets[number])
            yield _Graph(offset + first, graph, steps, segments.row[graph.row], variable[graph.state], no_covers())
            first += graph.segment_starts.size - 1

    def _reduced(self, graph: TrendGraph) -> TrendGraph:
        if not graph.is_listed:
            raise ExecutionError([self._graph_too_large()])
        starts, edges = reduced_edges(graph.edge_starts, graph.edges)
        return graph._replace(edge_starts=starts, edges=edges)

    def _joined_graph(self, room: int) -> _Graph:
        """One graph of all pieces, whose vertices are told by rows of the table and variables: a trend of one piece may
        be part of a longer one of another."""
        parts = [part for number, piece in enumerate(self.pieces) for part in self._graphs_of(number, piece, room)]
        if any(not part.graph.is_listed for part in parts) or sum(part.graph.edges.size for part in parts) > room:
            raise ExecutionError([self._graph_too_large()])
        graphs = [part.graph for part in parts]
        vertices = np.concatenate([[0], np.cumsum([graph.row.size for graph in graphs])])
        edges = np.concatenate([[0], np.cumsum([graph.edges.size for graph in graphs])])
        row = _joined([part.row for part in parts])
        variable = _joined([part.variable for part in parts])
        joined = TrendGraph(
            row,
            variable.astype(np.int32),
            *(_joined([getattr(graph, name) for graph in graphs]) for name in TrendGraph._fields[2:8]),
            _stacked([graph.edge_starts for graph in graphs], edges),
            _joined([graph.edges + at for graph, at in zip(graphs, vertices, strict=False)]).astype(np.int32),
            _stacked([graph.segment_starts for graph in graphs], vertices),
        )
        bits = int((np.diff(joined.segment_starts).astype(float) ** 2 / 16).sum())
        if bits > self.detection.memory // 2:
            raise ExecutionError([self._graph_too_large()])
        _, pair = np.unique(row * len(self.plan.variables) + variable, return_inverse=True)
        sizes = np.diff(joined.segment_starts)
        partition = _joined([piece.segments.partition for piece in self.pieces])
        covers = make_covers(joined, pair.astype(np.int64), partition, int(sizes.max()) + 1 if sizes.size else 1)
        return _Graph(0, joined, parts[0].steps, row, variable, covers)

    def _graph_too_large(self) -> Problem:
        allowed = f"{self.detection.memory // 2**20:,} MB"
        message = f"the graph of complete trends does not fit into {allowed}"
        return Problem("TW413", message, "raise memory=, use smaller windows, or add an equivalence")

    # Trends

    def shown(self) -> Iterator[ShownTrends]:
        """All trends that the query shows, some at a time."""
        if not self.entries.segment.size:
            return
        total = 0
        left = self._left_of_places()
        for part in self._graphs():
            inside = np.flatnonzero((self.entries.segment >= part.first) & (self.entries.segment < part.end))
            for trends, entry in self._walked(part, inside):
                if left is not None:
                    trends, entry = _within_limits(trends, entry, left)
                total += entry.size
                most = self.detection.max_trends
                if self.kind == CHECKED and most is not None and total > most:
                    self._refuse(f"more than {most:,}")
                yield trends
            yield from self._drawn(part, inside)

    def _left_of_places(self) -> dict | None:
        """How many trends each window and group may still show, where they could not be shared out beforehand."""
        if self.kind != CHECKED or self.asked.choice is None:
            return None
        keys = zip(self.entries.window.tolist(), self.entries.group.tolist(), strict=True)
        return dict.fromkeys(keys, self.asked.choice.count)

    def _walked(self, part: _Graph, inside: np.ndarray) -> Iterator[tuple[ShownTrends, np.ndarray]]:
        strategy = self._strategy(part, inside)
        if strategy != "m-cet":
            buffers = _buffers(part)
            finder = Finder(part.graph, part.steps, self.kind, self.detection.memory // 4, buffers)
            local = _local(self.entries, inside, part.first, self.share)
            for numbers, trends in finder.find(local, strategy):
                starts = buffers.starts[: trends + 1].copy()
                entry = inside[numbers]
                yield self._told(part, starts, buffers.vertices[: starts[-1]], entry), entry
            return
        lengths = bool(self.share.min_length.any())
        walk = new_walk(part.graph, lengths, self.kind == CHECKED)
        local = _local(self.entries, inside, part.first, self.share)
        found = _buffers(part)
        while True:
            trends = walk_back(part.graph, part.steps, local, walk, found, self.kind, part.covers)
            if trends == 0:
                return
            starts = found.starts[: trends + 1].copy()
            entry = inside[found.entry[:trends]]
            yield self._told(part, starts, found.vertices[: starts[-1]], entry), entry

    def _strategy(self, part: _Graph, inside: np.ndarray) -> Strategy:
        """Walking keeps nothing and needs no plan; pieces of trends pay where each of them is used many times."""
        if self.detection.strategy is not None:
            return self.detection.strategy
        if self.kind == CHECKED or self.asked.choice is not None or not part.graph.is_listed:
            return "m-cet"
        counts = self.entries.counts[inside]
        many = bool((counts == -1).any()) or sum(counts.tolist()) >= _MANY_TRENDS * part.row.size
        return "h-cet" if many else "m-cet"

    def _drawn(self, part: _Graph, inside: np.ndarray) -> Iterator[ShownTrends]:
        """Trends drawn at random. One that was drawn before is drawn anew, so all sets are equally likely."""
        seeds = None
        for entry in inside[self.share.drawn[inside] > 0]:
            seeds = seeds or self._seeds()
            text = f"{seeds[entry]}|{int(self.entries.segment[entry])}"
            source = np.random.Generator(
                np.random.PCG64(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little"))
            )
            sampler = WindowSampler(
                part.graph,
                part.steps,
                int(self.entries.segment[entry]) - part.first,
                int(self.entries.graph_window[entry]),
                self.kind,
                new_walk(part.graph),
            )
            missing = int(self.share.drawn[entry])
            seen: set[bytes] = set()
            while missing:
                keys = source.integers(0, 2**64, missing, np.uint64)
                for starts, vertices in sampler.draws(keys, VERTICES_AT_ONCE):
                    new = []
                    for k in range(starts.size - 1):
                        digest = hashlib.blake2b(vertices[starts[k] : starts[k + 1]], digest_size=16).digest()
                        if digest not in seen:
                            seen.add(digest)
                            new.append(k)
                    missing -= len(new)
                    entries = np.full(len(new), entry)
                    yield self._told(part, *_chosen(starts, vertices, np.array(new, np.int64)), entries)

    def _told(self, part: _Graph, starts: np.ndarray, vertices: np.ndarray, entry: np.ndarray) -> ShownTrends:
        return ShownTrends(
            part.row[vertices], part.variable[vertices], starts, self.entries.window[entry], self.entries.group[entry]
        )


def too_many_trends(number: str, most: int | None, plan: Plan) -> Problem:
    what = "complete trends" if plan.is_complete else "trends"
    ways = (
        "LIMIT 10, SAMPLE 10 or LONGEST 10 shows some of them, a tighter window or predicate leaves fewer, "
        "RETURN COUNT(*) counts them, and max_trends= allows more"
    )
    return Problem("TW412", f"there are {number} {what} to show; max_trends is {most or 0:,}", ways)


def _shown(number: int) -> str:
    return f"{number:,}" if number < 10**40 else f"about 2^{number.bit_length() - 1}"


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _stacked(starts: list[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Offsets of parts as offsets of the whole."""
    moved = [part[1:] + offset for part, offset in zip(starts, offsets, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *moved]).astype(np.int64)


def _buffers(part: _Graph) -> Found:
    sizes = np.diff(part.graph.segment_starts)
    room = max(VERTICES_AT_ONCE, int(sizes.max()) if sizes.size else 0)
    return Found(np.empty(TRENDS_AT_ONCE, np.int64), np.empty(TRENDS_AT_ONCE + 1, np.int64), np.empty(room, np.int32))


def _local(entries: _Entries, inside: np.ndarray, first: int, share: Share) -> Entries:
    """Entries of one graph; `share` is of all entries, or of these."""
    at = inside if share.quota.size == entries.segment.size else np.arange(inside.size)
    pick_starts, picks = np.empty(0, np.int64), np.empty(0, np.int64)
    if share.picks is not None:
        chosen = [share.picks[entry] for entry in at]
        pick_starts = np.concatenate([[0], np.cumsum([part.size for part in chosen])]).astype(np.int64)
        picks = _joined(chosen)
    return Entries(
        entries.segment[inside] - first,
        entries.graph_window[inside],
        share.quota[at],
        share.min_length[at],
        share.shortest[at],
        pick_starts,
        picks,
    )


def _chosen(starts: np.ndarray, vertices: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some of the trends of a buffer."""
    if kept.size == starts.size - 1:
        return starts.copy(), vertices
    lengths = np.diff(starts)[kept]
    ends = np.cumsum(lengths)
    places = np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts[kept] - (ends - lengths), lengths)
    return np.concatenate([[0], ends]).astype(np.int64), vertices[places]


def _within_limits(trends: ShownTrends, entry: np.ndarray, left: dict) -> tuple[ShownTrends, np.ndarray]:
    """Only as many trends of each window and group as are left."""
    kept = []
    for number, place in enumerate(zip(trends.window.tolist(), trends.group.tolist(), strict=True)):
        if left[place] > 0:
            left[place] -= 1
            kept.append(number)
    chosen = np.array(kept, np.int64)
    starts, rows = _chosen(trends.starts, trends.rows, chosen)
    _, variables = _chosen(trends.starts, trends.variables, chosen)
    return ShownTrends(rows, variables, starts, trends.window[chosen], trends.group[chosen]), entry[chosen]
