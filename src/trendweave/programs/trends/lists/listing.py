"""Trends one by one: prepared rows of some partitions in, trends in batches out.

The graph of as many segments as fit into memory is built, and its trends are counted before the first one is shown.
Then it is walked for each window, and dropped.

Under WITHIN alone each trend comes once, in a window of its own. What a walk over one window cannot tell is asked of
the trends that it finds: whether a NOT at the other end of the window is clean, and whether a longer trend stands in
another window.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import NO_MATCH
from trendweave.kernels.lists.covers import find_covered
from trendweave.kernels.lists.folds import Folds
from trendweave.kernels.lists.graph import CHECKED, COMPLETE, NOWHERE, latest_before, latest_behind
from trendweave.kernels.lists.walk import Share, new_walk
from trendweave.planning.plan import Choice, MovingWindow, Plan
from trendweave.planning.preparation import Preparation
from trendweave.planning.ways import takes_by_folding, takes_directly
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.detection import Detection
from trendweave.programs.trends.lists.choosing import (
    Chooser,
    Limits,
    Selector,
    WaitingTrends,
    places_of,
    share_all,
    share_first,
    share_longest,
    share_sample,
)
from trendweave.programs.trends.lists.graphs import (
    UNKNOWN,
    SegmentGraph,
    TrendGraphs,
    choose_mode,
    lay_out,
)
from trendweave.programs.trends.lists.taking import Demands, MatchConditions, find_entries, take_trends
from trendweave.programs.trends.lists.walking import (
    FoundTrends,
    draw_trends,
    find_graphs,
    find_longest,
    name_seeds,
    walk_trends,
)
from trendweave.results.each_columns import EachColumns
from trendweave.results.shown_trends import FoldedTrends, ShownTrends
from trendweave.results.trend_table import TrendWriter
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.times import ends_of, moving_span, steps_of
from trendweave.rows.windows import TrendNumbers


@dataclass(frozen=True, slots=True)
class EachOnce:
    """The rules of one list. `leaves_out`: whether trends that are found may not be shown. `ends`: the variables that a
    trend must end with, as numbers; any, where there are none."""

    window: MovingWindow
    windows: TrendNumbers
    mode: int
    span: int
    ahead: int
    ends: tuple[int, ...]

    @staticmethod
    def of(graphs: TrendGraphs) -> EachOnce | None:
        """None where trends are listed per window."""
        window, kind = graphs.task.plan.window, graphs.task.rows.time_type
        if not isinstance(window, MovingWindow) or not isinstance(graphs.windows, TrendNumbers):
            return None
        waits = any(not end.guard.always_open for end in graphs.task.plan.template.ends)
        # The time of a row must be one that the time column can have.
        ahead = steps_of(window.length, kind, "WITHIN") if waits else 0
        names = [variable.name for variable in graphs.task.plan.variables]
        ends = tuple(names.index(name) for name in window.ends)
        return EachOnce(window, graphs.windows, graphs.mode, moving_span(window, kind), ahead, ends)

    @property
    def leaves_out(self) -> bool:
        return self.window.wide

    @property
    def asks_ends(self) -> bool:
        """Whether it depends on the last event of a trend if a leading NOT is clean."""
        return self.window.wide and self.window.by == "first"

    def keep(self, part: SegmentGraph, trends: FoundTrends, own: np.ndarray) -> FoundTrends:
        """Leave out what is not clean, or not complete. `own` is the window of each trend."""
        if not self.leaves_out or not trends.entry.size:
            return trends
        first, last = trends.vertices[trends.starts[:-1]], trends.vertices[trends.starts[1:] - 1]
        kept = np.ones(first.size, np.bool_)
        if self.asks_ends:
            kept &= self.is_clean(part, first, last)
        if self.ends:
            kept &= np.isin(part.variable[last], self.ends)
        if self.mode == COMPLETE:
            kept &= self._is_not_extended(part, first, last)
        if self.mode == CHECKED:
            trends, own = trends.take(np.flatnonzero(kept)), own[kept]
            return trends.take(np.flatnonzero(~self._is_covered(part, trends, own)))
        return trends.take(np.flatnonzero(kept))

    def times(self, part: SegmentGraph, trends: FoundTrends) -> np.ndarray:
        """The time of each trend's row: that of its last event, or the end of the window where that had to be waited
        for."""
        steps, tick = self.windows.tick_steps, part.graph.tick
        last = trends.vertices[trends.starts[1:] - 1]
        times = steps[tick[last]]
        if not self.ahead:
            return times
        assert part.edges is not None
        waits = ~part.edges.is_open[last]
        begun = steps[tick[trends.vertices[trends.starts[:-1]]]]
        times[waits] = ends_of(begun[waits], self.ahead)
        return times

    def _are_apart(self, earlier: np.ndarray, later: np.ndarray) -> np.ndarray:
        """Whether two ticks do not fit into one window; unsigned, as the difference may need all of 64 bits."""
        steps = self.windows.tick_steps
        return steps[later].view(np.uint64) - steps[earlier].view(np.uint64) >= np.uint64(self.span)

    def is_clean(self, part: SegmentGraph, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Leading NOT: the latest match that ended before the trend began before the window that ends with the
        trend. Once it is clean it stays so while a trend grows."""
        assert part.edges is not None
        match = part.edges.clean_after[first]
        none = match == NO_MATCH
        return none | self._are_apart(np.where(none, 0, match), part.graph.tick[last])

    def _is_not_extended(self, part: SegmentGraph, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Paths of the reduced graph are part of longer trends only if these begin earlier or end later."""
        graph, edges = part.graph, part.edges
        assert edges is not None
        if self.windows.from_first:
            begins = np.where(edges.begins, graph.tick, NOWHERE)
            begin = latest_before(graph.edge_starts, graph.edges, begins)[0][first]
            none = begin == NOWHERE
            return none | self._are_apart(np.where(none, 0, begin), graph.tick[last])
        ends = np.where(edges.ends, -graph.tick, NOWHERE)
        end = latest_behind(graph.edge_starts, graph.edges, ends)[0][last]
        none = end == NOWHERE
        return none | self._are_apart(graph.tick[first], np.where(none, graph.tick[first], -end))

    def _is_covered(self, part: SegmentGraph, trends: FoundTrends, own: np.ndarray) -> np.ndarray:
        graph = part.graph
        first, last = trends.vertices[trends.starts[:-1]], trends.vertices[trends.starts[1:] - 1]
        return find_covered(
            graph,
            part.steps,
            part.covers,
            new_walk(graph),
            trends.vertices,
            trends.starts,
            own,
            graph.window_first[last],
            graph.window_last[first],
        )


_LOG = logging.getLogger("trendweave")
_Trends = TypeVar("_Trends", bound=ShownTrends | FoldedTrends)
#: How many times as many trends as may be shown are looked at to choose among them.
LOOKED_AT = 100


@dataclass(frozen=True, slots=True)
class TrendListing:
    """The trends of some rows: counted and shared out, but not built."""

    detection: Detection
    graphs: TrendGraphs
    once: EachOnce | None
    selector: Selector | None
    share: Share
    seeds: list[str]

    @property
    def plan(self) -> Plan:
        """What is asked for."""
        return self.graphs.task.plan

    @property
    def closes(self) -> bool:
        """May quotas become 0 while trends are found?"""
        limits = self.plan.choice is not None and self.plan.choice.kind == "limit"
        return limits and self.selector is None and not self.is_counted

    @property
    def is_counted(self) -> bool:
        """Is it known how many trends will be shown before the first one is built?"""
        if self.graphs.mode == CHECKED or self.plan.match_conditions or self.selector is not None:
            return False
        return self.once is None or not self.once.leaves_out

    @property
    def trends(self) -> int | None:
        """How many trends will be shown; None where it turns out only while they are."""
        if not self.is_counted:
            return None
        if self.plan.choice is None:
            return self.graphs.entries.total
        return int(self.share.quota.sum() + self.share.drawn.sum())

    def fold_trends(self, columns: EachColumns) -> Iterator[ShownTrends | FoldedTrends]:
        """Find all trends that the query shows; where many of them share events, only what columns ask of each.

        Args:
            columns: What is asked of each trend.

        Returns:
            The trends, some at a time.

        Raises:
            ExecutionError: As of `find_trends`.
        """
        folds = None
        if takes_by_folding(self.plan):
            folds = columns.without_events(self.graphs.task.rows.tick.size)
        if folds is None:
            return self.find_trends()
        return self._check_shown(self._take(folds))

    def find_trends(self) -> Iterator[ShownTrends]:
        """Find all trends that the query shows, some at a time.

        Raises:
            ExecutionError: TW412 after more than `max_trends`, where their number was not known beforehand.
        """
        if self.graphs.entries.size:
            yield from self._check_shown(self._choose())

    def _check_shown(self, found: Iterator[_Trends]) -> Iterator[_Trends]:
        shown, most = 0, self.detection.max_trends
        for trends in found:
            shown += trends.count
            if shown > most:
                raise ExecutionError([describe_too_many(f"more than {most:,}", most, self.plan)])
            yield trends

    def _find_in(self, part: SegmentGraph) -> Iterator[ShownTrends]:
        entries, detection = self.graphs.entries, self.detection
        for found in walk_trends(part, entries, self.share, self.graphs.mode, detection):
            kept = found if self.once is None else self.once.keep(part, found, entries.window[found.entry])
            yield self._show(part, kept)
        for drawn in draw_trends(part, entries, self.share, self.seeds, self.graphs.mode):
            yield self._show(part, drawn)

    def _choose(self) -> Iterator[ShownTrends]:
        """Find trends, leave out those that do not meet the conditions on whole matches, select among the others where
        AFTER MATCH or PER START ask for it, and choose as many of what is left as are wanted."""
        taken: Iterator[ShownTrends]
        if takes_directly(self.plan):
            taken = (trends for trends in self._take(Folds()) if isinstance(trends, ShownTrends))
        else:
            taken = self._select(self._find_some(self.graphs.parts()))
        choice = self.plan.choice
        if choice is None or self.is_counted:  # then all that are found are chosen
            yield from taken
            return
        if choice.kind == "limit":
            limits = Limits.of(self._places(), choice.count)
            for trends in taken:
                yield limits.apply(trends, places_of(trends))
                if self.closes:
                    limits.close(self.share)
                if not limits.left.any():
                    return
            return
        waiting = WaitingTrends(Chooser.of(self.graphs.task).choose)
        for trends in taken:
            waiting.add(trends)
        chosen = waiting.take()
        if chosen is not None:
            yield chosen

    def _places(self) -> np.ndarray:
        """What tells the window and group of each entry, as its trends show them."""
        entries = self.graphs.entries
        ahead = self.once.ahead if self.once is not None and self.once.windows.from_first else 0
        return np.column_stack([self.graphs.windows.keys(entries.window) + ahead, entries.group])

    def _find_some(self, parts: Iterable[SegmentGraph]) -> Iterator[ShownTrends | None]:
        """Trends that meet the conditions on whole matches; None where those of some partitions are complete."""
        conditions = MatchConditions.of(self.graphs.task)
        looked_at = 0
        for part in parts:
            for trends in self._find_in(part):
                yield trends if conditions is None else conditions.choose(trends)
                looked_at += trends.count
                self._check_looked_at(looked_at)
            if not self.plan.bound_keys:
                yield None  # segments are partitions, and a graph has whole segments
        yield None

    def _select(self, found: Iterator[ShownTrends | None]) -> Iterator[ShownTrends]:
        if self.selector is not None:
            return self.selector.select(found)
        return (trends for trends in found if trends is not None)

    def _take(self, folds: Folds) -> Iterator[ShownTrends | FoldedTrends]:
        """Find only the trends that AFTER MATCH or PER START take; all of them where edges are not listed, or where
        sums in conditions may leave 64 bits."""
        selector, graphs = self.selector, self.graphs
        assert selector is not None, "only a selection takes trends"
        entries, demands = graphs.entries, self._demands()
        partition = graphs.partitions[entries.segment]
        for part in self.graphs.parts() if entries.size else ():
            if not part.graph.is_listed or (demands is None and self.plan.match_conditions):
                yield from self._select(self._find_some([part]))
                continue
            for found, outputs in take_trends(part, entries, partition, selector, folds, demands):
                if outputs:
                    keys = graphs.windows.keys(entries.window[found.entry])
                    yield FoldedTrends(outputs, keys, entries.group[found.entry])
                else:
                    yield self._show(part, found)

    def _demands(self) -> Demands | None:
        """What trends that are taken must meet; None where that is nothing, or where sums may leave 64 bits."""
        conditions = MatchConditions.of(self.graphs.task)
        is_clean = self.once.is_clean if self.once is not None and self.once.asks_ends else None
        if conditions is None:
            return None if is_clean is None else Demands(None, Folds(), is_clean, self._check_looked_at)
        folds = conditions.folded.without_events(self.graphs.task.rows.tick.size)
        return None if folds is None else Demands(conditions, folds, is_clean, self._check_looked_at)

    def _check_looked_at(self, number: int) -> None:
        most = LOOKED_AT * self.detection.max_trends
        if number > most:
            raise ExecutionError([describe_too_many_to_look_at(f"more than {most:,}", most, self.plan)])

    def _show(self, part: SegmentGraph, trends: FoundTrends) -> ShownTrends:
        entries = self.graphs.entries
        if self.once is None:
            keys = self.graphs.windows.keys(entries.window[trends.entry])
        else:
            keys = self.once.times(part, trends)
        return ShownTrends(
            part.row[trends.vertices],
            part.variable[trends.vertices],
            trends.starts,
            keys,
            entries.group[trends.entry],
        )


#: Makes the writer of some rows, of whose partitions or groups the grouping attributes are given.
MakeWriter: TypeAlias = Callable[[EncodedRows, list[pa.Array]], TrendWriter]


@dataclass(frozen=True, slots=True)
class WrittenTrends:
    """Trends as record batches, which are built while they are asked for. `trends`: how many there will be, None where
    it turns out only on the way."""

    trends: int | None
    batches: Callable[[], Iterator[pa.RecordBatch]]


def write_trends(listing: TrendListing, make_writer: MakeWriter) -> WrittenTrends:
    """The trends of a listing as record batches."""
    writer = make_writer(listing.graphs.task.rows, listing.graphs.group_columns)

    def batches() -> Iterator[pa.RecordBatch]:
        columns = writer.columns
        found = listing.fold_trends(columns) if isinstance(columns, EachColumns) else listing.find_trends()
        return (writer.write(trends) for trends in found if trends.count)

    return WrittenTrends(listing.trends, batches)


def list_trends(
    plan: Plan,
    preparation: Preparation,
    table: pa.Table,
    options: TaskOptions,
    detection: Detection,
) -> TrendListing:
    """Count the trends of prepared rows, and settle which of them are shown.

    Args:
        plan: A plan that shows trends.
        preparation: What the rows were prepared for.
        table: Prepared rows.
        options: Windows and chunks; how numbers are counted is settled here.
        detection: Limits, and the strategy.

    Returns:
        The trends, ready to be built in batches.

    Raises:
        ExecutionError: TW412 if there are too many, TW413 if they need too much memory.
    """
    # Of complete trends only those windows are of interest that have trends at all: floats tell.
    options = replace(options, exact=not plan.complete, only_counts=True)
    task, choice, counts = PartitionTask(plan, preparation, table, options), plan.choice, not takes_directly(plan)
    graphs = lay_out(task, choose_mode(plan), detection.memory)
    graphs = find_graphs(graphs if counts else find_entries(graphs), counts)
    once, share = EachOnce.of(graphs), share_all(graphs.entries.size)
    listing = TrendListing(detection, graphs, once, Selector.of(task), share, [])
    if choice is not None and listing.is_counted:
        listing = _share_out(listing, choice)
    elif choice is not None and listing.closes and not plan.match_conditions and (once is None or not once.leaves_out):
        share.quota[:] = choice.count
    if listing.is_counted:
        check_number(listing.trends, detection.max_trends, plan)
    else:
        _check_number_to_look_at(listing)
    return listing


def _share_out(listing: TrendListing, choice: Choice) -> TrendListing:
    entries, mode, place = listing.graphs.entries, listing.graphs.mode, listing.graphs.number_places()
    if choice.kind == "limit":
        counts = np.where(entries.counts == UNKNOWN, choice.count, entries.counts)
        return replace(listing, share=share_first(place, counts, choice.count))
    if choice.kind == "longest":
        lengths: list[np.ndarray] = [np.empty(0, np.int64)] * entries.size

        def measure(part: SegmentGraph) -> None:
            for entry in entries.find_segments(part.first, part.end).tolist():
                lengths[entry] = find_longest(part, entries, entry, mode, choice.count)

        graphs = listing.graphs.visit(measure)
        return replace(listing, graphs=graphs, share=share_longest(place, lengths, choice.count))
    if (entries.counts == UNKNOWN).any():
        message = "complete trends beyond 2^62 cannot be sampled"
        raise ExecutionError([Problem("TW413", message, "use smaller windows")])
    seeds = name_seeds(listing.graphs, choice.seed)
    return replace(listing, share=share_sample(place, entries.counts.tolist(), choice.count, seeds), seeds=seeds)


def check_number(number: int | None, most: int, plan: Plan) -> None:
    """Raise where there are more trends to show than may be.

    Args:
        number: How many there are; None where that is more than can be counted.
        most: How many may be shown.
        plan: The plan that shows them.

    Raises:
        ExecutionError: TW412.
    """
    if number is None:
        raise ExecutionError([describe_too_many("more than 2^62", most, plan)])
    _LOG.info("%s trends to show", _write_number(number))
    if number > most:
        raise ExecutionError([describe_too_many(_write_number(number), most, plan)])


def _check_number_to_look_at(listing: TrendListing) -> None:
    """Where trends are looked at one by one, and it is known how many there are, nobody should wait in vain."""
    number, most = listing.graphs.entries.total, LOOKED_AT * listing.detection.max_trends
    if listing.graphs.mode == CHECKED or listing.closes or (number is not None and number <= most):
        return
    text = "more than 2^62" if number is None else _write_number(number)
    raise ExecutionError([describe_too_many_to_look_at(text, most, listing.plan)])


def describe_too_many_to_look_at(number: str, most: int, plan: Plan) -> Problem:
    """Say how many trends would have to be looked at to choose among them, and what helps."""
    what = "complete trends" if plan.complete else "trends"
    ways = "a tighter window or predicate leaves fewer; max_trends= allows a hundred times as many to be looked at"
    return Problem("TW412", f"there are {number} {what} to choose among; at most {most:,} are looked at", ways)


def describe_too_many(number: str, most: int, plan: Plan) -> Problem:
    """Say how many trends there are, how many may be shown, and what helps."""
    what = "complete trends" if plan.complete else "trends"
    ways = (
        "LIMIT 10, SAMPLE 10 or LONGEST 10 shows some of them, a tighter window or predicate leaves fewer, "
        "RETURN COUNT(*) counts them, and max_trends= allows more"
    )
    return Problem("TW412", f"there are {number} {what} to show; max_trends is {most:,}", ways)


def _write_number(number: int) -> str:
    """Beyond 40 digits, which nobody reads, as a power of two."""
    return f"{number:,}" if number < 10**40 else f"about 2^{number.bit_length() - 1}"
