"""Trends -> Arrow batches with the columns that the query promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate
from trendweave.kernels.aggregates.entry import extremum_codes
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM, Folds, fold
from trendweave.planning.plan import Plan, ShownAttribute
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.lists import ShownTrends, TrendTask
from trendweave.programs.trends.measured_values import as_numbers
from trendweave.results.numbers import write_aggregate
from trendweave.results.partials import Component
from trendweave.results.types import Numbers, arrow_schema, shown_attributes, trend_columns
from trendweave.rows.windows import window_columns


def trend_schema(plan: Plan, events: pa.Schema, time: str, type_: str | None, numbers: Numbers) -> pa.Schema:
    """Settle the columns of a result that has a row per trend.

    Args:
        plan: The plan of the query.
        events: The columns of the events.
        time: The name of the time column.
        type_: The name of the type column; None where all events are of one type.
        numbers: How whole numbers are written.

    Returns:
        The columns in order.
    """
    return arrow_schema(trend_columns(plan, events, time, type_, numbers))


class TrendWriter:
    """Writes the trends of one task."""

    def __init__(
        self,
        task: TrendTask,
        preparation: Preparation,
        schema: pa.Schema,
        events: pa.Schema,
        time: str,
        type_: str | None,
        numbers: Numbers,
    ) -> None:
        self.task, self.plan, self.schema, self.events, self.numbers = task, task.asked, schema, events, numbers
        table = task.rows.table
        self.names = pa.array([variable.name for variable in self.plan.variables], pa.string())
        self.types = pa.array([variable.type for variable in self.plan.variables], pa.string())
        if self.plan.returns == "each":
            self.each = EachColumns(task, preparation)
            return
        self.moments = _one_chunk(table.column("time"))
        struct = schema.field("events").type.value_type
        self.attributes = [
            (
                _one_chunk(table.column(preparation.shown[index])).cast(struct.field(3 + place).type),
                self._shown_of(shown),
            )
            for place, (index, shown) in enumerate(shown_attributes(self.plan, time, type_))
        ]
        self.struct = struct

    def _shown_of(self, shown: ShownAttribute) -> np.ndarray | None:
        """Which variables have the attribute; None: all."""
        if shown.variables is None:
            return None
        return np.array([variable.name in shown.variables for variable in self.plan.variables])

    def batches(self) -> Iterator[pa.RecordBatch]:
        for trends in self.task.shown():
            if trends.window.size:
                yield self.batch(trends)

    def batch(self, trends: ShownTrends) -> pa.RecordBatch:
        task = self.task
        columns = list(window_columns(self.plan.window, task.rows.time_type, task.windows.keys(trends.window)).values())
        for column in task.group_columns:
            columns.append(pc.take(column, pa.array(trends.group)).cast(self.schema.field(len(columns)).type))
        if self.plan.returns == "each":
            kinds = [self.schema.field(len(columns) + place).type for place in range(len(self.plan.aggregates))]
            places = dict(zip(self.schema.names, columns, strict=False))
            columns += self.each.write(trends, kinds, self.events, self.numbers, places)
        else:
            columns += [pa.array(np.diff(trends.starts)), self._events(trends)]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _events(self, trends: ShownTrends) -> pa.Array:
        rows, variables = pa.array(trends.rows), pa.array(trends.variables)
        children = [pc.take(self.names, variables), pc.take(self.moments, rows), pc.take(self.types, variables)]
        for values, of_variables in self.attributes:
            at = rows
            if of_variables is not None:
                at = pa.array(trends.rows, mask=~of_variables[trends.variables])
            children.append(pc.take(values, at))
        struct = pa.StructArray.from_arrays(children, fields=list(self.struct))
        return pa.ListArray.from_arrays(pa.array(trends.starts.astype(np.int32)), struct)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """Dictionaries as what they hold; taking from one array is quicker than from many."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)


@dataclass(frozen=True, slots=True)
class _Fold:
    """Which column of which folds an output is."""

    floats: bool
    place: int


class EachColumns:
    """RETURN EACH: what to fold over the events of a trend, and how to write it."""

    def __init__(self, task: TrendTask, preparation: Preparation) -> None:
        self.plan = task.asked
        table, rows = task.rows.table, task.rows.table.num_rows
        number = {variable.name: index for index, variable in enumerate(self.plan.variables)}
        self.columns: list[pa.Array | None] = []
        whole: list[tuple[int, int, np.ndarray, np.ndarray | None]] = []
        floats: list[tuple[int, int, np.ndarray, np.ndarray | None]] = []
        self.folds: list[_Fold] = []
        nothing = np.zeros(rows, np.int64)
        for column, name in zip(self.plan.aggregates, preparation.values, strict=True):
            assert column.variable is not None
            kind = {"COUNT": COUNT, "FIRST": FIRST, "LAST": LAST, "MIN": LARGEST, "MAX": LARGEST}.get(
                column.function, SUM
            )
            values, known = nothing, None
            self.columns.append(None if name is None else _one_chunk(table.column(name)))
            if name is not None and kind in (SUM, LARGEST):
                values, known = as_numbers(table.column(name), column)
                if kind == LARGEST:
                    values, _ = extremum_codes(Aggregate(column.function.lower(), 0, values, None))
            listed = floats if values.dtype == np.float64 else whole
            self.folds.append(_Fold(values.dtype == np.float64, len(listed)))
            listed.append((kind, number[column.variable], values, known))
        self.whole, self.floats = _folds(whole, rows, np.int64), _folds(floats, rows, np.float64)

    def write(
        self,
        trends: ShownTrends,
        kinds: list[pa.DataType],
        events: pa.Schema,
        numbers: Numbers,
        places: dict[str, pa.Array],
    ) -> list[pa.Array]:
        results = {floats: _folded(folds, trends) for floats, folds in ((False, self.whole), (True, self.floats))}
        written = []
        for column, values, at, kind in zip(self.plan.aggregates, self.columns, self.folds, kinds, strict=True):
            sums, counts, rows = (part[at.place] for part in results[at.floats])
            if column.function == "COUNT":
                written.append(pa.array(counts))
            elif column.function in ("SUM", "AVG"):
                component = Component("sum", sums, counts > 0, counts)
                written.append(write_aggregate(column, kind, events, numbers, component, places))
            else:
                written.append(pc.take(values, pa.array(rows, mask=rows < 0)).cast(kind))
        return written


def _folds(listed: list[tuple[int, int, np.ndarray, np.ndarray | None]], rows: int, dtype: type) -> Folds:
    values, known = np.zeros((len(listed), rows), dtype), np.ones((len(listed), rows), np.bool_)
    for place, (_, _, numbers, valid) in enumerate(listed):
        values[place] = numbers
        if valid is not None:
            known[place] = valid
    return Folds(
        np.array([kind for kind, *_ in listed], np.int64),
        np.array([variable for _, variable, *_ in listed], np.int64),
        values,
        known,
    )


def _folded(folds: Folds, trends: ShownTrends) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape = folds.kind.size, trends.starts.size - 1
    sums, counts = np.zeros(shape, folds.values.dtype), np.zeros(shape, np.int64)
    places = np.zeros(shape, np.int64)
    fits = fold(trends.starts, trends.rows, trends.variables, folds, sums, counts, places)
    if not fits and folds.values.dtype == np.int64:
        sums = _exact_sums(folds, trends)
    return sums, counts, places


def _exact_sums(folds: Folds, trends: ShownTrends) -> np.ndarray:
    """Sums beyond 64 bits, as Python integers."""
    sums = np.zeros((folds.kind.size, trends.starts.size - 1), object)
    for place in np.flatnonzero(folds.kind == SUM):
        counted = (trends.variables == folds.variable[place]) & folds.known[place, trends.rows]
        values = np.where(counted, folds.values[place, trends.rows], 0).astype(object)
        for trend in range(trends.starts.size - 1):
            sums[place, trend] = sum(values[trends.starts[trend] : trends.starts[trend + 1]])
    return sums
