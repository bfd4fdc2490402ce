"""Trends -> Arrow batches with the columns that the query promises."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.outputs import MATCH_COLUMN, TREND_COLUMNS
from trendweave.planning.plan import Plan, ShownAttribute
from trendweave.planning.preparation import Preparation
from trendweave.results.each_columns import EachColumns, fold_columns
from trendweave.results.shown_trends import FoldedTrends, ShownTrends, find_partitions, join_chunks
from trendweave.results.types import Numbers, shown_attributes
from trendweave.rows.encoded import EncodedRows
from trendweave.rows.windows import window_columns


@dataclass(frozen=True, slots=True)
class EventColumns:
    """RETURN TRENDS: the fields of an event, taken from the rows of a table or told by the variable.

    `types` are those of the variables, `own_types` those of the rows, where a variable reads events of any type.
    `attributes` are columns of the table, with the variables whose events have them; None: all.
    """

    struct: pa.StructType
    names: pa.Array
    types: pa.Array
    moments: pa.Array
    attributes: list[tuple[pa.Array, np.ndarray | None]]
    own_types: pa.Array | None = None

    def write(self, trends: ShownTrends) -> list[pa.Array]:
        """Write the length of each trend, and its events as a list.

        Args:
            trends: Some trends.

        Returns:
            Both columns.
        """
        struct = pa.StructArray.from_arrays(self.fields(trends), fields=list(self.struct))
        events = pa.ListArray.from_arrays(pa.array(trends.starts.astype(np.int32)), struct)
        return [pa.array(np.diff(trends.starts)), events]

    def fields(self, trends: ShownTrends) -> list[pa.Array]:
        """Write the events of all trends one after the other.

        Args:
            trends: Some trends.

        Returns:
            A column per field of an event.
        """
        rows, variables = pa.array(trends.rows), pa.array(trends.variables)
        types = pc.take(self.types, variables) if self.own_types is None else pc.take(self.own_types, rows)
        children = [pc.take(self.names, variables), pc.take(self.moments, rows), types]
        for values, of_variables in self.attributes:
            at = rows
            if of_variables is not None:
                at = pa.array(trends.rows, mask=~of_variables[trends.variables])
            children.append(pc.take(values, at))
        return children


@dataclass(slots=True)
class MatchNumbers:
    """Counts the trends of each window and partition, from 1 on, however many batches they come in."""

    places: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def number(self, window: np.ndarray, partition: np.ndarray) -> np.ndarray:
        """Give each trend the next number of its window and partition.

        Args:
            window: The key of each trend's window.
            partition: The number of its partition.

        Returns:
            Their numbers.
        """
        before = self.counts.size
        own_places = np.column_stack([window, partition])
        places = np.concatenate([self.places, own_places]) if before else own_places
        self.places, place = np.unique(places, axis=0, return_inverse=True)
        place = place.reshape(-1)
        counts = np.zeros(len(self.places), np.int64)
        counts[place[:before]] = self.counts
        own = place[before:]
        order = np.argsort(own, kind="stable")
        rank = np.empty(own.size, np.int64)
        rank[order] = np.arange(own.size) - np.searchsorted(own[order], own[order])
        numbers: np.ndarray = counts[own] + rank + 1
        self.counts = counts + np.bincount(own, minlength=counts.size)
        return numbers


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
    matches: MatchNumbers = field(default_factory=MatchNumbers)

    def write(self, trends: ShownTrends | FoldedTrends) -> pa.RecordBatch:
        """Write a row per trend, or per event of each.

        Args:
            trends: Some trends.

        Returns:
            The rows.

        Raises:
            ExecutionError: A number does not fit its column.
        """
        labels = self.rows.label_windows(self.plan.window, trends.window)
        columns = list(window_columns(self.plan.window, self.rows.time_type, labels).values())
        for column in self.group_columns:
            columns.append(pc.take(column, pa.array(trends.group)).cast(self.schema.field(len(columns)).type))
        if isinstance(self.columns, EachColumns):
            kinds = [self.schema.field(len(columns) + place).type for place in range(len(self.plan.aggregates))]
            apart = {group.name for group in self.plan.groups if group.apart}
            places = {
                name: column for name, column in zip(self.schema.names, columns, strict=False) if name not in apart
            }
            columns += self.columns.write(trends, kinds, self.events, self.numbers, places)
        elif self.plan.returns == "rows":
            assert isinstance(trends, ShownTrends), "events are shown"
            columns.append(pa.array(self.matches.number(trends.window, find_partitions(self.rows, trends))))
            of_event = pa.array(np.repeat(np.arange(trends.count), trends.lengths))
            columns = [pc.take(column, of_event) for column in columns] + self.columns.fields(trends)
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
        columns = fold_columns(plan, plan.aggregates, preparation.values, rows.table)
    else:
        if plan.returns == "rows":
            struct = pa.struct(list(schema)[schema.get_field_index(MATCH_COLUMN) + 1 :])
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
            *(join_chunks(rows.table.column(name)).cast(pa.string()) for name in preparation.shown_types),
        )
    return TrendWriter(plan, schema, events, numbers, rows, group_columns, columns)


def _find_variables(plan: Plan, shown: ShownAttribute) -> np.ndarray | None:
    """Which variables have the attribute; None: all."""
    if shown.variables is None:
        return None
    return np.array([variable.name in shown.variables for variable in plan.variables])
