"""Which beginnings are undecided at a watermark: an event that may still come could go on from one of their paths.

An event is added at the watermark that can be read as what may come next (`plan_open_beginnings`). A beginning is
undecided where a path leads from it to that event, whatever the strategy and its predicates, NOTs and lanes are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.graph import ALL, NO_END, NO_WINDOW, soonest_ends
from trendweave.planning.matches.certainty import Certainty, plan_open_beginnings
from trendweave.planning.plan import Plan, Selection, VariablePlan
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.lists.counting import WindowEntries, lay_out
from trendweave.programs.trends.lists.graphs import SegmentGraphs
from trendweave.results.shown_trends import ShownTrends
from trendweave.rows.encoded import LETTERS, NUMBER, TIME, EncodedRows
from trendweave.rows.times import as_times, time_type


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
        graphs = SegmentGraphs(lay_out(task).with_entries(task, WindowEntries.join([])), ALL, memory)
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


def find_waiting(
    certainty: Certainty, selection: Selection | None, asked: np.ndarray, undecided: np.ndarray, moments: Moments
) -> np.ndarray:
    """Find the rows whose trends are not looked at before beginnings are decided.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        asked: Rows that trends may begin with.
        undecided: The moments of undecided beginnings.
        moments: The moments.

    Returns:
        Whether each row is such a beginning.
    """
    if certainty.whatever_taken:
        return _are_behind(moments.of_row, undecided, moments)
    # The first trend of a beginning decides it; beginnings of one moment come out together.
    waits: np.ndarray = np.isin(moments.of_row, undecided)
    if selection is not None and selection.shortest:
        waits &= np.bincount(moments.of_row[asked], minlength=moments.first.size)[moments.of_row] > 1
    return waits


def take_until(
    selection: Selection | None, variables: tuple[VariablePlan, ...], trends: ShownTrends, moments: np.ndarray
) -> np.ndarray:
    """Find up to which moment each trend takes beginnings away, its own at least.

    Args:
        selection: Which beginnings a trend takes away; None: none but its own.
        variables: The variables of the plan.
        trends: The trends.
        moments: The moment of each of their events.
    """
    until: np.ndarray = moments[trends.starts[:-1]].copy()
    if selection is None or selection.skip == "next":
        return until
    if selection.skip == "past last":
        return moments[trends.starts[1:] - 1]
    number = [variable.name for variable in variables].index(str(selection.variable))
    at = np.flatnonzero(trends.variables == number)
    of = np.searchsorted(trends.starts, at, side="right") - 1
    if selection.skip == "first":
        at, of = at[::-1], of[::-1]
    named = until + 1
    named[of] = moments[at]  # the last one counts
    return np.maximum(until, named - 1)


def find_certain(
    certainty: Certainty,
    selection: Selection | None,
    first: np.ndarray,
    until: np.ndarray,
    undecided: np.ndarray,
    moments: Moments,
) -> np.ndarray:
    """Find the trends that no undecided beginning can take away.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        first: The moment of each trend's first event; trends are taken one after the other.
        until: Up to which moment each takes beginnings away.
        undecided: The moments of undecided beginnings.
        moments: The moments.

    Returns:
        Which of the trends are certain.
    """
    if not certainty.in_order or certainty.whatever_taken:
        return np.ones(first.size, np.bool_)  # others are not looked at
    if selection is not None and selection.shortest:
        undecided = np.setdiff1d(undecided, first)
    order = np.argsort(first, kind="stable")
    before = np.searchsorted(first[order], undecided) - 1
    reached = np.append(np.maximum.accumulate(until[order]), -1)
    return ~_are_behind(first, undecided[reached[before] < undecided], moments)


def _are_behind(at: np.ndarray, undecided: np.ndarray, moments: Moments) -> np.ndarray:
    """Whether moments are undecided, or an earlier one of their partition is."""
    earlier = np.searchsorted(undecided, at, side="right") - 1
    behind: np.ndarray = np.append(moments.partition[undecided], -1)[earlier] == moments.partition[at]
    return behind
