"""Trends along links in windows of their last events, counted and found from these events back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trendweave.kernels.listing.graph import NO_WINDOW, TrendGraph
from trendweave.programs.operators.kernels.linked_walks import Ends, Linked, count_ends, find_begun, walk_ends

#: Trends that are counted one by one, at most.
MOST_COUNTED = 20_000_000
#: Trends in a batch, and vertices in its buffer, at most; a longer trend has a buffer of its own.
TRENDS_AT_ONCE = 65_536
VERTICES_AT_ONCE = 1 << 18
#: Trends per end that there is room for at most: few ends are walked with small buffers.
TRENDS_PER_VERTEX = 64


@dataclass(frozen=True, slots=True)
class LinkedEnds:
    """The vertices of a graph that trends end with, in order, each with its segment and window.

    `longest`: vertices that a trend has at most.
    """

    graph: Linked
    ends: Ends
    segment: np.ndarray
    longest: int

    @staticmethod
    def of(graph: TrendGraph) -> LinkedEnds:
        """Those of a graph whose windows stand at last events."""
        begun = np.empty(graph.row.size, np.int64)
        find_begun(graph.edge_starts, graph.edges, graph.start_from, graph.window_last, begun)
        linked = Linked(graph.edge_starts, graph.edges, graph.start_from, graph.window_last, begun)
        vertex = np.flatnonzero((graph.end_until != -NO_WINDOW) & (begun >= graph.end_until))
        segment = np.searchsorted(graph.segment_starts, vertex, side="right") - 1
        longest = int(np.diff(graph.segment_starts).max(initial=0))
        return LinkedEnds(linked, Ends(vertex, graph.end_until[vertex]), segment, longest)

    def places(self, segment: np.ndarray, window: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which ends lie in some windows of segments, and in which of them.

        Args:
            segment: A segment of the graph for each of them.
            window: And the window.

        Returns:
            Numbers of ends, ascending, and for each the place of its window.
        """
        width = max(int(window.max(initial=0)), int(self.ends.window.max(initial=0))) + 1
        wanted, own = segment * width + window, self.segment * width + self.ends.window
        order = np.argsort(wanted, kind="stable")
        at = np.minimum(np.searchsorted(wanted[order], own), max(wanted.size - 1, 0))
        chosen = np.flatnonzero(wanted[order][at] == own) if wanted.size else np.empty(0, np.int64)
        return chosen, order[at[chosen]]

    def count(self) -> np.ndarray | None:
        """How many trends end with each; None where they are too many to count them one by one."""
        counts = np.zeros(self.ends.vertex.size, np.int64)
        total = count_ends(self.graph, self.ends, *self._room(), counts, MOST_COUNTED)
        return None if total < 0 else counts

    def find(self, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Find the trends that end with chosen ones.

        Args:
            chosen: Their numbers, ascending.

        Yields:
            Vertices of some trends one after the other, where each begins, and the number of the end of each. They
            hold until the next come.
        """
        ends = Ends(self.ends.vertex[chosen], self.ends.window[chosen])
        path, cursors = self._room()
        place = np.zeros(3, np.int64)
        most = max(1, min(TRENDS_AT_ONCE, TRENDS_PER_VERTEX * self.ends.vertex.size))
        found_end, found_starts = np.empty(most, np.int64), np.empty(most + 1, np.int64)
        found_vertices = np.empty(max(min(VERTICES_AT_ONCE, 4 * most), path.size), np.int32)
        while True:
            trends = walk_ends(self.graph, ends, path, cursors, place, found_end, found_starts, found_vertices)
            if trends == 0:
                return
            starts = found_starts[: trends + 1].copy()
            yield found_vertices[: starts[-1]], starts, chosen[found_end[:trends]]

    def _room(self) -> tuple[np.ndarray, np.ndarray]:
        """For a path, and where it goes on."""
        return np.empty(self.longest + 1, np.int32), np.empty(self.longest + 1, np.int64)
