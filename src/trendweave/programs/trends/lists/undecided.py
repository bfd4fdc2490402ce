"""Which beginnings are undecided at a watermark: an event that may still come could go on from one of their paths.

An event is added at the watermark that can be read as what may come next (`plan_open_beginnings`). A beginning is
undecided where a path leads from it to that event, whatever the strategy and its predicates, NOTs and lanes are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trendweave.kernels.lists.graph import ALL, NO_WINDOW, NOWHERE, latest_behind
from trendweave.planning.matches.certainty import Certainty, plan_open_beginnings
from trendweave.planning.plan import Plan, Selection
from trendweave.planning.preparation import Preparation, PreparedEdge
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.lists.counting import lay_out
from trendweave.programs.trends.lists.graphs import SegmentGraphs
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
        graphs = SegmentGraphs(lay_out(task), ALL, memory)
        number, found = task.rows.table.column(NUMBER).to_numpy(), np.zeros(rows.tick.size, np.bool_)
        for part in graphs.parts():
            graph = part.graph
            begins = graph.start_from != NO_WINDOW
            if graph.is_listed:
                goes_on = np.where(part.variable == later, 0, NOWHERE)
                begins &= latest_behind(graph.edge_starts, graph.edges, goes_on)[0] != NOWHERE
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


def find_waiting(
    certainty: Certainty, selection: Selection | None, asked: np.ndarray, undecided: np.ndarray, rows: EncodedRows
) -> np.ndarray:
    """Find the rows whose trends are not looked at before beginnings are decided.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        asked: Rows that trends may begin with.
        undecided: The ticks of undecided beginnings.
        rows: The rows.

    Returns:
        Whether each row is such a beginning.
    """
    if certainty.whatever_taken:
        return _are_behind(rows.tick, undecided, rows)
    # The first trend of a beginning decides it; beginnings of one tick come out together.
    waits: np.ndarray = np.isin(rows.tick, undecided)
    if selection is not None and selection.shortest:
        waits &= np.bincount(rows.tick[asked], minlength=rows.tick_steps.size)[rows.tick] > 1
    return waits


def find_certain(
    certainty: Certainty,
    selection: Selection | None,
    first: np.ndarray,
    until: np.ndarray,
    undecided: np.ndarray,
    rows: EncodedRows,
) -> np.ndarray:
    """Find the trends that no undecided beginning can take away.

    Args:
        certainty: What trends wait for.
        selection: Which beginnings a trend takes away; None: none.
        first: The tick of each trend's first event; trends are taken one after the other.
        until: Up to which tick each takes beginnings away.
        undecided: The ticks of undecided beginnings.
        rows: The rows.

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
    return ~_are_behind(first, undecided[reached[before] < undecided], rows)


def _are_behind(at: np.ndarray, undecided: np.ndarray, rows: EncodedRows) -> np.ndarray:
    """Whether ticks are undecided, or an earlier one of their partition is."""
    partition = rows.partitions.of_rows()[np.searchsorted(rows.tick, np.arange(rows.tick_steps.size))]
    earlier = np.searchsorted(undecided, at, side="right") - 1
    behind: np.ndarray = np.append(partition[undecided], -1)[earlier] == partition[at]
    return behind
