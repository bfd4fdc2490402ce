"""COUNT(DISTINCT S.x) over all trends: the different values of events that lie in a trend of the window.

An event lies in a trend where a beginning leads to it and it leads to an end, inside the window. So two passes over the
graph of events are enough, and no trend is built.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.kernels.lists.graph import ALL, find_participants
from trendweave.kernels.lists.walk import new_walk
from trendweave.programs.trends.aggregates import PartitionTask
from trendweave.programs.trends.conjunction import SegmentPartials
from trendweave.programs.trends.counting import CountedTrends, WindowEntries
from trendweave.programs.trends.graphs import SegmentGraph, SegmentGraphs
from trendweave.programs.trends.kernel_inputs import Piece
from trendweave.results.partials import Component
from trendweave.results.shown_trends import join_chunks
from trendweave.rows.distinct import NO_VALUE, DistinctCodes, distinct_codes
from trendweave.rows.windows import WindowNumbers


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """Finds distinct values of the pieces of a task. `memory`: bytes that graphs of events may use."""

    memory: int

    def __call__(
        self, task: PartitionTask, piece: Piece, group: np.ndarray, windows: WindowNumbers, found: SegmentPartials
    ) -> dict[int, Component]:
        """Find the values of each entry.

        Args:
            task: The task, whose plan counts distinct values.
            piece: One of its pieces.
            group: The group of each segment.
            windows: How windows are numbered.
            found: The windows of segments that have trends.

        Returns:
            Per number of an aggregate in the plan, its sets of values.
        """
        variables = {variable.name: number for number, variable in enumerate(task.plan.variables)}
        wanted: dict[int, tuple[int, DistinctCodes]] = {}
        for place, (column, name) in enumerate(zip(task.plan.aggregates, task.preparation.values, strict=True)):
            if column.distinct and column.variable is not None and name is not None:
                codes = distinct_codes(join_chunks(task.rows.table.column(name)))
                wanted[place] = (variables[column.variable], codes)
        entries = WindowEntries(
            found.segment, found.partials.window, group[found.segment], found.partials.components[0].values
        )
        sets = {place: np.empty(entries.size, object) for place in wanted}
        counted = CountedTrends(task, [piece], [group], [], windows, entries)
        for part in SegmentGraphs(counted, ALL, self.memory).parts():
            inside = entries.find_segments(part.first, part.end)
            for place, (variable, codes) in wanted.items():
                of_entries = _find_sets(part, entries, inside, variable, codes.codes)
                for entry, values in zip(inside.tolist(), of_entries, strict=True):
                    sets[place][entry] = values
        return {
            place: Component("distinct", values, dictionary=wanted[place][1].dictionary)
            for place, values in sets.items()
        }


def _find_sets(
    part: SegmentGraph, entries: WindowEntries, inside: np.ndarray, variable: int, codes: np.ndarray
) -> list[np.ndarray]:
    """The codes of the values of each entry, each once."""
    if not inside.size:
        return []
    of_vertex = codes[part.row]
    asked = (part.variable == variable) & (of_vertex != NO_VALUE)
    walk = new_walk(part.graph)
    segment, window = entries.segment[inside] - part.first, entries.window[inside]
    counts = np.zeros(inside.size, np.int64)
    arguments = (part.graph, part.steps, segment, window, asked, walk.marks, walk.longest, counts)
    find_participants(*arguments, np.empty(0, np.int64))
    vertices = np.empty(int(counts.sum()), np.int64)
    if vertices.size:
        find_participants(*arguments, vertices)
    owner = np.repeat(np.arange(inside.size), counts)
    pairs = (
        np.unique(np.stack([owner, of_vertex[vertices]], axis=1), axis=0) if vertices.size else np.empty((0, 2), int)
    )
    return np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, inside.size)))
