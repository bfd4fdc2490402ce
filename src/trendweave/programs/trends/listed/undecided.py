"""Which beginnings are undecided at a watermark: an event that may still come could go on from one of their paths.

An event is added at the watermark that can be read as what may come next (`plan_open_beginnings`). A beginning is
undecided where a path leads from it to that event, whatever the strategy and its predicates, NOTs and lanes are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.listing.extensions import NO_END, soonest_ends
from trendweave.kernels.listing.graph import NO_WINDOW
from trendweave.kernels.listing.marks import ALL
from trendweave.planning.matches.certainty import Certainty, plan_open_beginnings
from trendweave.planning.plan import Plan, Selection
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.counting import WindowEntries, lay_out
from trendweave.programs.trends.graphs import SegmentGraphs
from trendweave.results.shown_trends import ShownTrends
from trendweave.rows.encoded import LETTERS, NUMBER, TIME, EncodedRows
from trendweave.rows.times import as_times, time_type

_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class OpenBeginnings:
    """The plan of what may still go on, and what its rows are prepared for."""

    plan: Plan
    preparation: Preparation

    @staticmethod
    def of(plan: Plan, preparation: Preparation) -> OpenBeginnings:
        opened = plan_open_beginnings(plan)
        more = (PreparedEdge((), ()),) * (len(opened.edges) - len(plan.edges))
        prepared = replace(
            preparation,
            readable=(*preparation.readable, None),
            edges=(*preparation.edges, *more),
            values=(),
            shown=(),
            matched=(),
        )
        return OpenBeginnings(opened, prepared)

    def find(self, rows: EncodedRows, watermark: int, memory: int) -> np.ndarray:
        """Find the rows with which a trend may have begun that goes on at the watermark or later.

        Args:
            rows: Rows before the watermark.
            watermark: In steps.
            memory: For the graph of their paths.

        Returns:
            Whether each row is such a beginning.
        """
        later = len(self.plan.variables) - 1
        task = PartitionTask(
            self.plan, self.preparation, _add_later(rows, watermark, later), TaskOptions(only_counts=True)
        )
        nothing = WindowEntries(_NOTHING, _NOTHING, _NOTHING, _NOTHING)
        graphs = SegmentGraphs(lay_out(task).with_entries(task, nothing), ALL, memory)
        number, found = task.rows.table.column(NUMBER).to_numpy(), np.zeros(rows.tick.size, np.bool_)
        for part in graphs.parts():
            graph = part.graph
            begins = graph.start_from != NO_WINDOW
            if graph.is_listed:
                begins &= soonest_ends(graph.edge_starts, graph.edges, graph.tick, part.variable == later) != NO_END
            found[number[part.row[begins]]] = True
        return found


def _add_later(rows: EncodedRows, watermark: int, variable: int) -> pa.Table:
    """The rows, and one more of each partition, at the watermark, that can be read as one variable alone."""
    table, words = rows.table, rows.partitions.letters.shape[1]
    for word in range(words, variable // 64 + 1):
        table = table.append_column(f"{LETTERS}{word}", pa.array(np.zeros(table.num_rows, np.int64)))
    if rows.time_type.is_float:
        # These count microseconds, of which floats may not have all.
        steps = pa.array(rows.tick_steps[rows.tick], pa.timestamp("us"))
        table = table.set_column(table.schema.get_field_index(TIME), TIME, steps)
    last = table.take(pa.array(rows.partitions.starts[:-1]))
    kind = table.schema.field(TIME).type
    columns = {TIME: as_times(np.full(last.num_rows, watermark, np.int64), time_type(kind)).cast(kind)}
    for word in range(variable // 64 + 1):
        bits = np.uint64(1 << variable % 64 if word == variable // 64 else 0)
        columns[f"{LETTERS}{word}"] = pa.array(np.full(last.num_rows, bits).view(np.int64))
    for name, values in columns.items():
        last = last.set_column(last.schema.get_field_index(name), table.schema.field(name), values)
    table = table.append_column(NUMBER, pa.array(np.arange(table.num_rows)))
    last = last.append_column(NUMBER, pa.array(np.full(last.num_rows, -1, np.int64)))
    return pa.concat_tables([table, last])


@dataclass(frozen=True, slots=True)
class Moments:
    """The times of rows, numbered from partition to partition, finer where columns order events of one time: `of_row`,
    and of each its first row and its partition."""

    of_row: np.ndarray
    first: np.ndarray
    partition: np.ndarray

    @staticmethod
    def of(rows: EncodedRows) -> Moments:
        new = np.ones(rows.tick.size, np.bool_)
        new[1:] = rows.tick[1:] != rows.tick[:-1]
        return Moments(np.cumsum(new) - 1, np.flatnonzero(new), rows.partitions.of_rows()[new])


def take_until(selection: Selection, variable: int, trends: ShownTrends, moments: np.ndarray) -> np.ndarray:
    """Find up to which moment each trend takes beginnings away.

    Args:
        selection: Which beginnings a trend takes away.
        variable: The number of the variable that it names.
        trends: The trends.
        moments: The moment of each of their events.
    """
    until: np.ndarray = moments[trends.starts[:-1]].copy()
    if selection.skip == "past last":
        return moments[trends.starts[1:] - 1]
    if selection.skip == "next":
        return until
    at = np.flatnonzero(trends.variables == variable)
    of = np.searchsorted(trends.starts, at, side="right") - 1
    if selection.skip == "first":
        at, of = at[::-1], of[::-1]
    named = until + 1
    named[of] = moments[at]  # the last one counts
    return np.maximum(until, named - 1)


def find_certain(
    certainty: Certainty, shortest: bool, first: np.ndarray, until: np.ndarray, undecided: np.ndarray, moments: Moments
) -> np.ndarray:
    """Find the trends that no undecided beginning can take away, or make incomplete.

    Args:
        certainty: What trends wait for.
        shortest: Whether a beginning is decided by its first trend.
        first: The moment of each trend's first event; trends are taken one after the other.
        until: Up to which moment each takes beginnings away.
        undecided: The moments of undecided beginnings.
        moments: The moments.

    Returns:
        Which of the trends are certain.
    """
    if not certainty.in_order:
        return np.ones(first.size, np.bool_)
    if not certainty.whatever_taken:
        if shortest:
            undecided = np.setdiff1d(undecided, first)
        order = np.argsort(first, kind="stable")
        before = np.searchsorted(first[order], undecided) - 1
        reached = np.append(np.maximum.accumulate(until[order]), -1)
        undecided = undecided[reached[before] < undecided]
    earlier = np.searchsorted(undecided, first, side="right") - 1
    own = np.append(moments.partition[undecided], -1)[earlier]
    return own != moments.partition[first]
