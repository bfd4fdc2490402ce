"""Lists under WITHIN alone: each trend once, in a window of its own.

What a walk over one window cannot tell is asked here of the trends that it finds: whether a NOT at the other end of the
window is clean, and whether a longer trend stands in another window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.kernels import NO_MATCH
from trendweave.kernels.lists.covers import find_covered
from trendweave.kernels.lists.graph import CHECKED, COMPLETE, NOWHERE, latest_before, latest_behind
from trendweave.kernels.lists.walk import new_walk
from trendweave.planning.plan import MovingWindow
from trendweave.programs.trends.lists.counting import CountedTrends
from trendweave.programs.trends.lists.graphs import SegmentGraph
from trendweave.programs.trends.lists.walking import FoundTrends
from trendweave.rows.times import ends_of, moving_span, steps_of
from trendweave.rows.trend_windows import TrendNumbers


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
    def of(counted: CountedTrends, mode: int) -> EachOnce | None:
        """None where trends are listed per window."""
        window, kind = counted.task.plan.window, counted.task.rows.time_type
        if not isinstance(window, MovingWindow) or not isinstance(counted.windows, TrendNumbers):
            return None
        waits = any(not end.guard.always_open for end in counted.task.plan.template.ends)
        # The time of a row must be one that the time column can have.
        ahead = steps_of(window.length, kind, "WITHIN") if waits else 0
        names = [variable.name for variable in counted.task.plan.variables]
        ends = tuple(names.index(name) for name in window.ends)
        return EachOnce(window, counted.windows, mode, moving_span(window, kind), ahead, ends)

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
