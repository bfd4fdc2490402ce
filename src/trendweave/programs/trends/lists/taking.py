"""AFTER MATCH SKIP and PER START without looking at other trends: only those that are taken are found.

What must hold for whole trends is judged some beginnings at a time, ahead of taking: first of the trend of each that
ends last, which is folded together with those of all others, and then, only where that fails, of its other trends one
after the other. Where one path alone leads on from a beginning, its trends are beginnings of one another, and a walk
ends as soon as no longer one can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trendweave.kernels.lists.contiguous import Rule
from trendweave.kernels.lists.folds import Folds
from trendweave.kernels.lists.graph import NOWHERE, find_bounds, latest_behind, list_windows
from trendweave.kernels.lists.take import NOTHING_TAKEN, TakeShape, new_ways, write_judging, write_take
from trendweave.kernels.sorting import stable_order
from trendweave.programs.trends.aggregates import of_rows
from trendweave.programs.trends.lists.choosing import NO_LIMIT
from trendweave.programs.trends.lists.counting import CountedTrends, WindowEntries
from trendweave.programs.trends.lists.graphs import SegmentGraph
from trendweave.programs.trends.lists.match_conditions import MatchConditions, Verdict
from trendweave.programs.trends.lists.selection import Selector
from trendweave.programs.trends.lists.walking import FoundTrends, make_buffers
from trendweave.results.shown_trends import FoldedOutput

#: Beginnings that are judged at once, at least, in the beginning, and at most.
_FEWEST_STARTS, _SOME_STARTS, _MOST_STARTS = 64, 1024, 65_536
#: Candidates in a buffer, and those of one beginning that are walked at first; then three times as many as before.
_CANDIDATES, _FIRST_CANDIDATES = 1 << 17, 16


def find_entries(counted: CountedTrends) -> CountedTrends:
    """Find the windows of all segments that hold rows; what they hold is not counted."""
    found, offset, windows = list[WindowEntries](), 0, counted.windows
    for piece, group in zip(counted.pieces, counted.groups, strict=True):
        segments = piece.segments
        tick, owner = segments.take(counted.task.rows.tick), of_rows(group, segments, windows)
        first, last = windows.first(tick, owner), windows.last(tick, owner)
        listed = list_windows(segments.starts, first, last, NO_LIMIT)
        assert listed is not None, "there is no limit"
        segment, window = listed
        found.append(WindowEntries(segment + offset, window, group[segment], np.zeros(segment.size, np.int64)))
        offset += segments.count
    return counted.with_entries(WindowEntries.join(found))


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
    if not inside.size:
        return
    shape = TakeShape(selector.rule, demands is not None, folds.shape)
    given = _describe_graph(part, selector.places)
    segment, window = entries.segment[inside] - part.first, entries.window[inside]
    low, high = find_bounds(part.graph, segment, window)
    given |= {"entry_segment": segment, "entry_window": window, "entry_low": low, "entry_high": high}
    given["limit"] = limit = selector.limit[partition[inside]]
    given["path"], given["cursor"] = np.empty((2, part.largest_segment), np.int64)
    judge = None
    if demands is not None:
        judge = Judge(part, selector.rule, demands, given)
    buffers, loop = make_buffers(part.row.size, part.largest_segment), write_take(shape)
    state = np.array([0, -1, NOTHING_TAKEN, -1, 0, 0])
    cells = folds.cells(buffers.entry.size)
    asked = given | new_ways(part.row.size) | _name_folds(folds, part, cells)
    asked |= {"gone": np.full(part.row.size, -1, np.int64), "state": state}
    asked |= {"found_entry": buffers.entry, "starts": buffers.starts, "vertices": buffers.vertices}
    while state[0] < inside.size:
        if judge is not None and state[0] * (part.row.size + 1) + max(state[1], 0) >= state[5]:
            asked |= judge.decide(state)
        trends = loop.run(asked)
        if trends:
            starts = buffers.starts[: trends + 1].copy()
            found = FoundTrends(buffers.vertices[: starts[-1]], starts, inside[buffers.entry[:trends]])
            yield found, [FoldedOutput(*one) for one in folds.read(cells, trends)]
    if not selector.rule.by_window:
        np.maximum.at(selector.limit, partition[inside], limit)


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


def _name_folds(folds: Folds, part: SegmentGraph, cells: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    """What loops fold: columns, cells of the way from each vertex and of a path, and those of results."""
    named = folds.name_columns() | dict(zip(("whole", "real"), cells, strict=True))
    named |= folds.name_cells("ahead", "ahead_real", part.row.size)
    return named | folds.name_cells("stack", "stack_real", part.largest_segment)


class Judge:
    """Judges the beginnings of a graph, ahead of taking."""

    def __init__(
        self,
        part: SegmentGraph,
        rule: Rule,
        demands: Demands,
        given: dict[str, Any],
    ) -> None:
        self.part, self.shortest, self.demands = part, rule.shortest, demands
        # Where one path alone leads on: from every vertex some way leads to an end.
        forks = np.where(np.diff(given["follow_starts"]) > 1, 0, NOWHERE)
        self.is_single = latest_behind(part.graph.edge_starts, part.graph.edges, forks)[1] == NOWHERE
        # The trend that ends last is looked at first, whatever is taken.
        self.collect, self.walk = write_judging(TakeShape(replace(rule, shortest=False), True, demands.folds.shape))
        self.given = given | new_ways(part.row.size) | _name_folds(demands.folds, part, demands.folds.cells(0))
        self.state = np.array([0, -1, NOTHING_TAKEN, -1, 0, 0])
        self.at_once, self.walked = _SOME_STARTS, 0
        # Beginnings that were judged at once, the candidates that were walked for it, and what had been taken away.
        self.last: tuple[int, int, int] | None = None
        tick = part.graph.tick
        begins = np.flatnonzero(np.append(True, tick[1:] != tick[:-1])) if tick.size else np.zeros(1)
        self.most_of_tick = int(np.diff(begins, append=tick.size).max())

    def decide(self, state: np.ndarray) -> dict[str, np.ndarray]:
        """Judge the next beginnings, from where taking stands, and say there up to where."""
        self._adapt(int(state[4]))
        most = max(self.at_once, self.most_of_tick)
        names = ("start_key", "start_vertex", "start_window", "start_end", "start_how")
        rows, cells = np.empty((5, most), np.int64), self.demands.folds.cells(most)
        self.state[:3] = state[:3]
        asked = self.given | dict(zip(names, rows, strict=True)) | {"state": self.state, "most": most}
        found = self.collect.run(asked | {"whole": cells[0], "real": cells[1]})
        state[5] = self.state[5]
        key, vertex, window, ends, how = rows[:, :found]
        outputs = [FoldedOutput(*one) for one in self.demands.folds.read(cells, found)]
        verdict = self.demands.judge(self.part, outputs, vertex, ends)
        is_single, end = self.is_single[vertex], np.full(found, -1)
        hopeless = ~verdict.may_end_sooner | (is_single & ~verdict.may_be_shorter)
        if self.shortest:
            # The one that ends last tells only where no other can do.
            left = np.flatnonzero(~hopeless)
        else:
            end[verdict.holds] = ends[verdict.holds]
            left = np.flatnonzero(~verdict.holds & ~hopeless)
        walked = self.walked
        end[left], how[left] = self._walk(vertex[left], window[left], is_single[left])
        self.last = found, self.walked - walked, int(state[4])
        some = np.flatnonzero(end >= 0)
        return {"decided": key[some], "decided_end": end[some], "decided_how": how[some]}

    def _adapt(self, skipped: int) -> None:
        """Judge more at once, unless many candidates were walked for beginnings that are taken away."""
        if self.last is None:
            return
        starts, walked, before = self.last
        in_vain = walked > _FIRST_CANDIDATES * starts and 2 * (skipped - before) > starts
        at_once = self.at_once // 2 if in_vain else 2 * self.at_once
        self.at_once = min(max(at_once, _FEWEST_STARTS), _MOST_STARTS)

    def _walk(self, vertex: np.ndarray, window: np.ndarray, is_single: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last vertex and the number of the candidate to take of some beginnings; -1 where none meets what is
        asked."""
        tick, sign = self.part.graph.tick, 1 if self.shortest else -1
        end, number, seen = np.full(vertex.size, -1), np.full(vertex.size, -1), np.zeros(vertex.size, np.int64)
        of, numbers, ends = np.empty((3, _CANDIDATES if vertex.size else 0), np.int64)
        cells, left = self.demands.folds.cells(of.size), np.arange(vertex.size)
        asked = self.given | {"found_start": of, "found_number": numbers, "found_end": ends}
        asked |= {"whole": cells[0], "real": cells[1]}
        while left.size:
            came, is_over = np.zeros(left.size, np.int64), np.zeros(left.size, np.bool_)
            wanted = np.maximum(3 * seen[left], _FIRST_CANDIDATES)
            starts = {"of_vertex": vertex[left], "of_window": window[left], "before": seen[left], "wanted": wanted}
            count = self.walk.run(asked | starts | {"came": came, "is_over": is_over})
            self.walked += count
            self.demands.check(self.walked)
            outputs = [FoldedOutput(*one) for one in self.demands.folds.read(cells, count)]
            verdict = self.demands.judge(self.part, outputs, vertex[left[of[:count]]], ends[:count])
            chosen = np.flatnonzero(verdict.holds)
            # The first of each beginning comes last, and stays.
            order = chosen[np.lexsort((numbers[chosen], sign * tick[ends[chosen]], of[chosen]))][::-1]
            better = np.full(left.size, -1)
            better[of[order]] = order
            some = np.flatnonzero(better >= 0)
            found, own = ends[better[some]], left[some]
            takes = (end[own] < 0) | (sign * tick[found] < sign * tick[end[own]])
            end[own[takes]], number[own[takes]] = found[takes], numbers[better[some[takes]]]
            seen[left] += came
            is_over |= is_single[left] & (end[left] >= 0) & self.shortest
            too_long = np.zeros(left.size, np.bool_)
            too_long[of[:count][~verdict.may_be_longer]] = True
            left = left[~(is_over | (too_long & is_single[left]))]
        return end, number
