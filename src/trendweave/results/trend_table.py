"""Trends -> Arrow batches with the columns that the query promises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.outputs import TREND_COLUMNS
from trendweave.planning.plan import Plan, ShownAttribute
from trendweave.planning.preparation import Preparation
from trendweave.results.each_columns import EachColumns, fold_columns
from trendweave.results.shown_trends import FoldedTrends, ShownTrends, join_chunks
from trendweave.results.types import Numbers, shown_attributes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.windows import window_columns


@dataclass(frozen=True, slots=True)
class EventColumns:
    """RETURN TRENDS: the fields of an event, taken from the rows of a table or told by the variable.

    `attributes` are columns of the table, with the variables whose events have them; None: all.
    """

    struct: pa.StructType
    names: pa.Array
    types: pa.Array
    moments: pa.Array
    attributes: list[tuple[pa.Array, np.ndarray | None]]

    def write(self, trends: ShownTrends) -> list[pa.Array]:
        """Write the length of each trend, and its events as a list.

        Args:
            trends: Some trends.

        Returns:
            Both columns.
        """
        rows, variables = pa.array(trends.rows), pa.array(trends.variables)
        children = [pc.take(self.names, variables), pc.take(self.moments, rows), pc.take(self.types, variables)]
        for values, of_variables in self.attributes:
            at = rows
            if of_variables is not None:
                at = pa.array(trends.rows, mask=~of_variables[trends.variables])
            children.append(pc.take(values, at))
        struct = pa.StructArray.from_arrays(children, fields=list(self.struct))
        events = pa.ListArray.from_arrays(pa.array(trends.starts.astype(np.int32)), struct)
        return [pa.array(np.diff(trends.starts)), events]


@dataclass(frozen=True, slots=True)
class TrendWriter:
    """Writes trends of the rows of one task; `group_columns` are the values of each group."""

    plan: Plan
    schema: pa.Schema
    events: pa.Schema
    numbers: Numbers
    rows: EncodedRows
    group_columns: list[pa.Array]
    columns: EventColumns | EachColumns

    def write(self, trends: ShownTrends | FoldedTrends) -> pa.RecordBatch:
        """Write a row per trend.

        Args:
            trends: Some trends.

        Returns:
            The rows.

        Raises:
            ExecutionError: A number does not fit its column.
        """
        columns = list(window_columns(self.plan.window, self.rows.time_type, trends.window).values())
        for column in self.group_columns:
            columns.append(pc.take(column, pa.array(trends.group)).cast(self.schema.field(len(columns)).type))
        if isinstance(self.columns, EachColumns):
            kinds = [self.schema.field(len(columns) + place).type for place in range(len(self.plan.aggregates))]
            places = dict(zip(self.schema.names, columns, strict=False))
            columns += self.columns.write(trends, kinds, self.events, self.numbers, places)
        else:
            assert isinstance(trends, ShownTrends), "events are shown"
            columns += self.columns.write(trends)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)


def make_writer(
    plan: Plan,
    preparation: Preparation,
    schema: pa.Schema,
    events: pa.Schema,
    time: str,
    type_: str | None,
    numbers: Numbers,
    rows: EncodedRows,
    group_columns: list[pa.Array],
) -> TrendWriter:
    """Make a writer of the trends of one task.

    Args:
        plan: A plan that shows trends.
        preparation: The names of what the rows were prepared with.
        schema: The columns of the result.
        events: The columns of the events.
        time: The name of the time column.
        type_: The name of the type column; None where all events are of one type.
        numbers: How whole numbers are written.
        rows: The rows that trends are made of.
        group_columns: Per grouping attribute the values of all groups.

    Returns:
        The writer.
    """
    columns: EventColumns | EachColumns
    if plan.returns == "each":
        columns = fold_columns(plan, preparation, rows.table)
    else:
        struct = schema.field(TREND_COLUMNS[1]).type.value_type
        shown = shown_attributes(plan, time, type_)
        columns = EventColumns(
            struct,
            pa.array([variable.name for variable in plan.variables], pa.string()),
            pa.array([variable.type for variable in plan.variables], pa.string()),
            join_chunks(rows.table.column("time")),
            [
                (
                    # Three fields come first: variable, time and type.
                    join_chunks(rows.table.column(preparation.shown[index])).cast(struct.field(3 + place).type),
                    _find_variables(plan, attribute),
                )
                for place, (index, attribute) in enumerate(shown)
            ],
        )
    return TrendWriter(plan, schema, events, numbers, rows, group_columns, columns)


def _find_variables(plan: Plan, shown: ShownAttribute) -> np.ndarray | None:
    """Which variables have the attribute; None: all."""
    if shown.variables is None:
        return None
    return np.array([variable.name in shown.variables for variable in plan.variables])
