"""AFTER MATCH SKIP and PER START without looking at other trends: only those that are taken are built.

Beginnings are looked at some at a time, by the end of the first trend of each and what is folded over it. What must
hold for whole trends is judged first of the one that ends last, and then, only where that fails, of the other trends of
a beginning one after the other. Where one path alone leads on from a beginning, its trends are beginnings of one
another, and a walk ends as soon as no longer one can do.
Conditions on whole matches are also asked of trends that are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.kernels.lists.contiguous import TO_FIRST, TO_LAST, TO_NEXT
from trendweave.kernels.lists.folds import FIRST, LAST, Folds, make_folds
from trendweave.kernels.lists.graph import NOWHERE, find_bounds, latest_behind, list_windows
from trendweave.kernels.lists.take import (
    NOTHING_TAKEN,
    TakeShape,
    new_ways,
    take_in_order,
    write_candidates,
    write_collect,
    write_trends,
)
from trendweave.kernels.sorting import stable_order
from trendweave.language import syntax_tree as st
from trendweave.language.syntax_tree import Expression
from trendweave.planning.matches.conditions import Bounds, match_columns, with_columns
from trendweave.planning.matches.conditions import find_bounds as bound_conditions
from trendweave.planning.plan import AggregateColumn
from trendweave.programs.trends.aggregates import PartitionTask, of_rows
from trendweave.programs.trends.lists.choosing import NO_LIMIT, Selector
from trendweave.programs.trends.lists.graphs import SegmentGraph, TrendGraphs, WindowEntries
from trendweave.programs.trends.lists.walking import FoundTrends, make_buffers
from trendweave.results.each_columns import EachColumns, fold_columns
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends
from trendweave.results.types import column_type, single_aggregate_type


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """Row expressions over a table with a row per trend; its columns are folded over the events of each."""

    conditions: tuple[Expression, ...]
    folded: EachColumns
    types: tuple[pa.DataType, ...]
    prepared: pa.Schema
    bounds: Bounds

    @staticmethod
    def of(task: PartitionTask) -> MatchConditions | None:
        """None where a plan asks nothing of whole matches."""
        plan, matched, rows = task.plan, task.preparation.matched, task.rows
        if not plan.match_conditions:
            return None
        columns = match_columns(plan.match_conditions)
        names = {aggregate: column.name for aggregate, column in columns.items()}
        # Of prepared rows: a column has the name that it was prepared under.
        aggregates = tuple(
            replace(column, path=None if name is None else (name,))
            for column, name in zip(columns.values(), matched, strict=True)
        )
        prepared = rows.table.schema
        kinds = [None if column.path is None else column_type(prepared, column.path) for column in aggregates]
        # Sums of whole numbers as decimals, which are compared exactly and hold those that 64 bits cannot.
        types = [
            single_aggregate_type(column.function, kind, "decimal")
            for column, kind in zip(aggregates, kinds, strict=True)
        ]
        folded = fold_columns(plan, aggregates, matched, rows.table)
        directions = {
            name: _direction(column, fold.values, fold.known)
            for name, column, fold in zip(names.values(), aggregates, folded.folds, strict=True)
        }
        conditions = tuple(with_columns(condition, names) for condition in plan.match_conditions)
        return MatchConditions(conditions, folded, tuple(types), prepared, bound_conditions(conditions, directions))

    def choose(self, trends: ShownTrends) -> ShownTrends:
        """Keep the trends for which all conditions are true."""
        if not trends.count:
            return trends
        holds = self._are_true(self.conditions, self._tabulate(trends))
        return trends if holds.all() else trends.take(np.flatnonzero(holds))

    def judge(self, outputs: list[FoldedOutput], count: int) -> Verdict:
        """Judge trends by what was folded of each.

        Args:
            outputs: What was folded, per column.
            count: The number of trends.
        """
        nothing = np.empty(count, np.int64)
        table = self._tabulate(FoldedTrends(outputs, nothing, nothing))
        may_be_longer = np.ones(count, np.bool_)
        for bound in self.bounds.upper:
            # Of NULL nothing is known as yet.
            may_be_longer &= ~is_true(st.Inverse(bound), table)
        holds, may_be_shorter = (self._are_true(asked, table) for asked in (self.conditions, self.bounds.lower))
        return Verdict(holds, may_be_shorter, may_be_longer, np.ones(count, np.bool_))

    def _tabulate(self, trends: ShownTrends | FoldedTrends) -> pa.Table:
        names = [column.name for column in self.folded.aggregates]
        return pa.table(self.folded.write(trends, list(self.types), self.prepared, "decimal", {}), names=names)

    @staticmethod
    def _are_true(conditions: Iterable[Expression], table: pa.Table) -> np.ndarray:
        holds = np.ones(table.num_rows, np.bool_)
        for condition in conditions:
            holds &= is_true(condition, table)
        return holds


@dataclass(frozen=True, slots=True)
class Verdict:
    """Per trend: whether it meets all that is asked; whether it could were it shorter, and were it longer, and whether
    any trend of its beginning could that ends sooner."""

    holds: np.ndarray
    may_be_shorter: np.ndarray
    may_be_longer: np.ndarray
    may_end_sooner: np.ndarray


def _direction(column: AggregateColumn, values: np.ndarray | None, known: np.ndarray | None) -> int | None:
    """How a number changes while a trend grows: 1 never falls, -1 never rises, 0 stays as soon as it is known; None:
    anything."""
    if column.needs_all_values:
        return None
    if column.function == "SUM":
        assert values is not None, "a sum is one of numbers"
        added = values if known is None else values[known]
        # NaN is neither.
        return 1 if (added >= 0).all() else -1 if (added <= 0).all() else None
    return {"COUNT": 1, "MAX": 1, "MIN": -1, "FIRST": 0}.get(column.function)


#: Beginnings that are looked at together, at least, in the beginning, and at most.
_FEWEST_STARTS, _SOME_STARTS, _MOST_STARTS = 64, 1024, 65_536
#: Candidates in a buffer, and those of one beginning that are walked at first; then three times as many as before.
_CANDIDATES, _FIRST_CANDIDATES = 1 << 17, 16


def find_entries(graphs: TrendGraphs) -> TrendGraphs:
    """Find the windows of all segments that hold rows; what they hold is not counted."""
    found, offset, windows = list[WindowEntries](), 0, graphs.windows
    for piece, group in zip(graphs.pieces, graphs.groups, strict=True):
        segments = piece.segments
        tick, owner = segments.take(graphs.task.rows.tick), of_rows(group, segments, windows)
        first, last = windows.first(tick, owner), windows.last(tick, owner)
        listed = list_windows(segments.starts, first, last, NO_LIMIT)
        assert listed is not None, "there is no limit"
        segment, window = listed
        found.append(WindowEntries(segment + offset, window, group[segment], np.zeros(segment.size, np.int64)))
        offset += segments.count
    return graphs.with_entries(WindowEntries.join(found))


@dataclass(frozen=True, slots=True)
class Demands:
    """What whole trends must meet: conditions, with what they fold over trends, and that a leading NOT is clean, which
    is asked of first and last vertices. `check` is told how many candidates were walked."""

    conditions: MatchConditions | None
    folds: Folds
    is_clean: Callable[[SegmentGraph, np.ndarray, np.ndarray], np.ndarray] | None
    check: Callable[[int], None]

    def judge(self, part: SegmentGraph, outputs: list[FoldedOutput], first: np.ndarray, last: np.ndarray) -> Verdict:
        """Judge trends by what was folded of each, and by their ends."""
        every = np.ones(first.size, np.bool_)
        verdict = Verdict(every, every, every, every)
        if self.conditions is not None:
            verdict = self.conditions.judge(outputs, first.size)
        if self.is_clean is None or not first.size:
            return verdict
        clean = self.is_clean(part, first, last)
        return replace(verdict, holds=verdict.holds & clean, may_end_sooner=clean)


def take_trends(
    part: SegmentGraph,
    entries: WindowEntries,
    partition: np.ndarray,
    selector: Selector,
    folds: Folds,
    demands: Demands | None = None,
) -> Iterator[tuple[FoundTrends, list[FoldedOutput]]]:
    """Find the trends of a graph that are taken, a buffer at a time. What comes out holds until the next comes.

    Args:
        part: The graph, whose edges are listed.
        entries: The entries of all graphs; those of this one are looked at.
        partition: The partition of each entry.
        selector: What the query asks for; its limits grow with what is taken where windows are of single trends.
        folds: What is folded over events; these are then not listed.
        demands: What whole trends must meet.

    Yields:
        Trends, at least one at a time, and what was folded over each.
    """
    inside = entries.find_segments(part.first, part.end)
    # Windows of a segment one after the other.
    inside = inside[np.lexsort((entries.window[inside], entries.segment[inside]))]
    if inside.size:
        yield from _Taking(part, entries.take(inside), inside, partition[inside], selector, folds, demands).take()


@dataclass(frozen=True, slots=True)
class _Beginnings:
    """Beginnings in order of their entries and times; of the trend of each that comes first its last vertex (-1: there
    is none), how it is found again, and what is folded over it."""

    entry: np.ndarray
    vertex: np.ndarray
    end: np.ndarray
    how: np.ndarray
    outputs: list[FoldedOutput]

    def take(self, chosen: np.ndarray) -> _Beginnings:
        outputs = [one.take(chosen) for one in self.outputs]
        return _Beginnings(self.entry[chosen], self.vertex[chosen], self.end[chosen], self.how[chosen], outputs)


class _Taking:
    """Takes the trends of a graph."""

    def __init__(
        self,
        part: SegmentGraph,
        entries: WindowEntries,
        numbers: np.ndarray,
        partition: np.ndarray,
        selector: Selector,
        folds: Folds,
        demands: Demands | None,
    ) -> None:
        self.part, self.numbers, self.selector, self.demands = part, numbers, selector, demands
        self.rule = rule = selector.rule
        # What is shown comes first, then what is demanded, and then the event that the clause names.
        named = [(FIRST if rule.kind == TO_FIRST else LAST, rule.variable, None, None)]
        asked = make_folds(named if rule.kind in (TO_FIRST, TO_LAST) else [])
        self.shown, self.judged = len(folds.shape), len(folds.shape) + (len(demands.folds.shape) if demands else 0)
        self.folds = Folds.join([folds, *([demands.folds] if demands else []), asked])
        # Of trends that are judged the one that ends last is looked at first, whatever is taken.
        self.shape = TakeShape(rule.shortest and demands is None, not rule.by_window, self.folds.shape)
        segment = entries.segment - part.first
        low, high = find_bounds(part.graph, segment, entries.window)
        # Under WITHIN alone, limits are those of partitions, of which there may be several graphs.
        self.limit = np.full(numbers.size, NOTHING_TAKEN, np.int64) if rule.by_window else selector.limit
        self.place = np.arange(numbers.size) if rule.by_window else partition
        self.given = _describe_graph(part, selector.places) | {
            "entry_segment": segment,
            "entry_window": entries.window,
            "entry_low": low,
            "entry_high": high,
            "entry_place": self.place,
            "limit": self.limit,
        }
        self.given["path"], self.given["cursor"] = np.empty((2, part.largest_segment), np.int64)
        self.given |= self.folds.name_columns() | self.folds.name_cells("ahead", "ahead_real", part.row.size)
        self.given |= self.folds.name_cells("stack", "stack_real", part.largest_segment)
        # Where one path alone leads on: from every vertex some way leads to an end.
        forks = np.where(np.diff(self.given["follow_starts"]) > 1, 0, NOWHERE)
        self.is_single = latest_behind(part.graph.edge_starts, part.graph.edges, forks)[1] == NOWHERE
        tick = part.graph.tick
        begins = np.flatnonzero(np.append(True, tick[1:] != tick[:-1])) if tick.size else np.zeros(1)
        self.most_of_tick = int(np.diff(begins, append=tick.size).max())
        self.at_once, self.walked = _SOME_STARTS, 0

    def take(self) -> Iterator[tuple[FoundTrends, list[FoldedOutput]]]:
        """Take the trends that begin first, then those of the beginnings that are left."""
        collect, ways, state = write_collect(self.shape), new_ways(self.part.row.size), np.array([0, -1, -1, 0])
        writing = self.given | new_ways(self.part.row.size) | {"state": np.array([-1])}
        while state[0] < self.numbers.size:
            most, state[3], walked = max(self.at_once, self.most_of_tick), 0, self.walked
            rows, cells = np.empty((4, most), np.int64), self.folds.cells(most)
            names = ("start_entry", "start_vertex", "start_end", "start_how")
            given = self.given | ways | dict(zip(names, rows, strict=True)) | {"state": state, "most": most}
            count = collect.run(given | {"whole": cells[0], "real": cells[1]})
            entry, vertex, end, how = rows[:, :count]
            starts = _Beginnings(entry, vertex, end, how, self._read(cells, count))
            if self.demands is not None:
                self._judge(self.demands, starts)
            taken = self._take_in_order(starts)
            # More at once, unless much was searched for beginnings that are taken away.
            in_vain = state[3] + self.walked - walked > _FIRST_CANDIDATES * count and 2 * taken.vertex.size < count
            self.at_once = min(max(self.at_once // 2 if in_vain else 2 * self.at_once, _FEWEST_STARTS), _MOST_STARTS)
            if self.shown and taken.vertex.size:
                nothing = np.empty(0, np.int64)
                yield FoundTrends(nothing, nothing, self.numbers[taken.entry]), taken.outputs[: self.shown]
            elif taken.vertex.size:
                yield from ((found, []) for found in self._write(taken, writing))

    def _read(self, cells: tuple[np.ndarray, np.ndarray], count: int) -> list[FoldedOutput]:
        return [FoldedOutput(*one) for one in self.folds.read(cells, count)]

    def _take_in_order(self, starts: _Beginnings) -> _Beginnings:
        """Take the trends that no earlier one has taken away, of each event at most one."""
        order, ticks = self._order(starts, np.flatnonzero(starts.end >= 0)), self.part.graph.tick
        tick, until = ticks[starts.vertex[order]], ticks[starts.end[order]]
        if self.rule.kind in (TO_FIRST, TO_LAST):
            named = starts.outputs[-1].rows[order]
            until = np.where(named < 0, NOTHING_TAKEN, self.selector.rows.tick[named] - 1)
            until[until < tick] = NOTHING_TAKEN
        elif self.rule.kind == TO_NEXT:
            until[:] = NOTHING_TAKEN
        taken = np.zeros(tick.size, np.bool_)
        take_in_order(self.place[starts.entry[order]], tick, until, self.limit, taken)
        return starts.take(order[taken])

    def _order(self, starts: _Beginnings, chosen: np.ndarray) -> np.ndarray:
        """The chosen beginnings in the order in which they are taken, one of each event."""
        own, tick = starts.vertex[chosen], self.part.graph.tick
        fresh = np.append(True, (np.diff(starts.entry[chosen]) != 0) | (np.diff(tick[own]) != 0))[: own.size]
        if fresh.all():
            return chosen
        moment, variable, place = np.cumsum(fresh), self.part.variable[own], self.given["place"][own]
        ends = tick[starts.end[chosen]] * (1 if self.rule.shortest else -1)
        order = np.lexsort((variable, ends, place, moment))
        order = order[np.append(True, (np.diff(moment[order]) != 0) | (np.diff(place[order]) != 0))]
        return chosen[order[np.lexsort((place[order], ends[order], variable[order], moment[order]))]]

    def _write(self, taken: _Beginnings, given: dict[str, Any]) -> Iterator[FoundTrends]:
        """List the events of trends that are taken."""
        loop = write_trends(TakeShape(self.shape.shortest, self.shape.from_first))
        buffers, first = make_buffers(self.part.row.size, self.part.largest_segment), 0
        given |= {"starts": buffers.starts, "vertices": buffers.vertices}
        while first < taken.vertex.size:
            columns = {"start_entry": taken.entry, "start_vertex": taken.vertex, "start_how": taken.how}
            trends = loop.run(given | {name: column[first:] for name, column in columns.items()})
            starts = buffers.starts[: trends + 1].copy()
            numbers = self.numbers[taken.entry[first : first + trends]]
            yield FoundTrends(buffers.vertices[: starts[-1]], starts, numbers)
            first += trends

    def _judge(self, demands: Demands, starts: _Beginnings) -> None:
        """Settle which trend of each beginning comes first among those that meet what is demanded."""
        outputs = starts.outputs[self.shown : self.judged]
        verdict = demands.judge(self.part, outputs, starts.vertex, starts.end)
        is_single = self.is_single[starts.vertex]
        hopeless = ~verdict.may_end_sooner | (is_single & ~verdict.may_be_shorter)
        # Of the shortest ones, the one that ends last tells only where no other can do.
        fails = np.ones(hopeless.size, np.bool_) if self.rule.shortest else ~verdict.holds
        starts.end[fails] = -1
        left = np.flatnonzero(fails & ~hopeless)
        if left.size:
            self._walk(demands, starts, left)

    def _walk(self, demands: Demands, starts: _Beginnings, own: np.ndarray) -> None:
        """Look for the trends of some beginnings that meet what is demanded, among all of their trends."""
        tick, sign, walk = self.part.graph.tick, 1 if self.rule.shortest else -1, write_candidates(self.shape)
        window, is_single = self.given["entry_window"][starts.entry], self.is_single[starts.vertex]
        seen = np.zeros(starts.vertex.size, np.int64)
        of, numbers, ends = np.empty((3, _CANDIDATES), np.int64)
        cells, left = self.folds.cells(of.size), own
        given = self.given | {"found_start": of, "found_number": numbers, "found_end": ends}
        given |= {"whole": cells[0], "real": cells[1]}
        while left.size:
            came, is_over = np.zeros(left.size, np.int64), np.zeros(left.size, np.bool_)
            wanted = np.maximum(3 * seen[left], _FIRST_CANDIDATES)
            given |= {"of_vertex": starts.vertex[left], "of_window": window[left], "before": seen[left]}
            count = walk.run(given | {"wanted": wanted, "came": came, "is_over": is_over})
            self.walked += count
            demands.check(self.walked)
            outputs = self._read(cells, count)
            begin, end = left[of[:count]], ends[:count]
            verdict = demands.judge(self.part, outputs[self.shown : self.judged], starts.vertex[begin], end)
            chosen = np.flatnonzero(verdict.holds)
            # The first of each beginning comes last, and stays.
            chosen = chosen[np.lexsort((numbers[chosen], sign * tick[end[chosen]], begin[chosen]))][::-1]
            better = np.full(starts.vertex.size, -1)
            better[begin[chosen]] = chosen
            some = np.flatnonzero(better >= 0)
            known = starts.end[some]
            some = some[(known < 0) | (sign * tick[end[better[some]]] < sign * tick[known])]
            starts.end[some], starts.how[some] = end[better[some]], numbers[better[some]]
            for one, other in zip(starts.outputs, outputs, strict=True):
                one.put(some, other.take(better[some]))
            seen[left] += came
            is_over |= is_single[left] & (starts.end[left] >= 0) & self.rule.shortest
            too_long = np.zeros(starts.vertex.size, np.bool_)
            too_long[begin[~verdict.may_be_longer]] = True
            left = left[~(is_over | (too_long & is_single)[left])]


def _describe_graph(part: SegmentGraph, places: np.ndarray) -> dict[str, Any]:
    """What loops know of vertices: also what follows each, in order; graphs have what stands before."""
    graph = part.graph
    later = np.repeat(np.arange(graph.row.size, dtype=np.int32), np.diff(graph.edge_starts))
    place = places[part.row]
    order, starts = stable_order(graph.edges, graph.row.size)
    if starts[-1] and (np.diff(starts) > 1).any():
        order = np.lexsort((place[later], part.variable[later], graph.tick[later], graph.edges))
    names = ("tick", "window_first", "start_from", "end_until", "segment_starts")
    # The first window in which a trend from each vertex can end.
    ends = np.where(graph.end_until == NOWHERE, NOWHERE, -graph.window_first)
    return {name: getattr(graph, name) for name in names} | {
        "reach": -latest_behind(graph.edge_starts, graph.edges, ends)[1],
        "follow_starts": starts,
        "follow": later[order],
        "row": part.row,
        "variable": part.variable,
        "place": place,
    }
