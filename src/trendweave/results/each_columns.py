"""RETURN EACH: what to fold over the events of a trend, and how to write it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate
from trendweave.kernels.aggregates.entry import extremum_codes
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM, Folds, fold
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.results.numbers import write_aggregate
from trendweave.results.partials import Component
from trendweave.results.shown_trends import ShownTrends, join_chunks
from trendweave.results.types import Numbers
from trendweave.rows.numbers import as_numbers

_FOLDS = {"COUNT": COUNT, "FIRST": FIRST, "LAST": LAST, "MIN": LARGEST, "MAX": LARGEST, "SUM": SUM, "AVG": SUM}


@dataclass(frozen=True, slots=True)
class FoldedColumn:
    """One output: the column of the table that it is about, and its place among the folds of whole numbers or
    floats."""

    values: pa.Array | None
    floats: bool
    place: int


@dataclass(frozen=True, slots=True)
class EachColumns:
    """The outputs of RETURN EACH, in order, and what is folded for them."""

    plan: Plan
    columns: list[FoldedColumn]
    whole: Folds
    floats: Folds

    def write(
        self,
        trends: ShownTrends,
        types: list[pa.DataType],
        events: pa.Schema,
        numbers: Numbers,
        places: dict[str, pa.Array],
    ) -> list[pa.Array]:
        """Write a column per output.

        Args:
            trends: The trends.
            types: The type of each output.
            events: The columns of the events.
            numbers: How whole numbers are written.
            places: Columns that tell where a number does not fit.

        Returns:
            The columns in order.
        """
        results = {False: _fold_trends(self.whole, trends), True: _fold_trends(self.floats, trends)}
        written = []
        for output, column, type_ in zip(self.plan.aggregates, self.columns, types, strict=True):
            sums, counts, rows = (part[column.place] for part in results[column.floats])
            if output.function == "COUNT":
                written.append(pa.array(counts))
            elif output.function in ("SUM", "AVG"):
                component = Component("sum", sums, counts > 0, counts)
                written.append(write_aggregate(output, type_, events, numbers, component, places))
            else:
                written.append(pc.take(column.values, pa.array(rows, mask=rows < 0)).cast(type_))
        return written


@dataclass(frozen=True, slots=True)
class _Fold:
    kind: int
    variable: int
    values: np.ndarray
    known: np.ndarray | None


def fold_columns(plan: Plan, preparation: Preparation, table: pa.Table) -> EachColumns:
    """Settle what is folded over the events of each trend.

    Args:
        plan: The plan of the query.
        preparation: The names of prepared columns.
        table: Prepared rows, sorted.

    Returns:
        What writes the columns.
    """
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    columns: list[FoldedColumn] = []
    whole: list[_Fold] = []
    floats: list[_Fold] = []
    nothing = np.zeros(table.num_rows, np.int64)
    for output, name in zip(plan.aggregates, preparation.values, strict=True):
        assert output.variable is not None
        kind = _FOLDS[output.function]
        values: np.ndarray = nothing
        known: np.ndarray | None = None
        if name is not None and kind in (SUM, LARGEST):
            values, known = as_numbers(table.column(name), output)
            if kind == LARGEST:
                values, _ = extremum_codes(Aggregate(output.function.lower(), 0, values, None))
        is_float = values.dtype == np.float64
        listed = floats if is_float else whole
        columns.append(FoldedColumn(None if name is None else join_chunks(table.column(name)), is_float, len(listed)))
        listed.append(_Fold(kind, number[output.variable], values, known))
    return EachColumns(
        plan, columns, _tabulate(whole, table.num_rows, np.int64), _tabulate(floats, table.num_rows, np.float64)
    )


def _tabulate(folds: list[_Fold], rows: int, dtype: type) -> Folds:
    values: np.ndarray = np.zeros((len(folds), rows), dtype)
    known = np.ones((len(folds), rows), np.bool_)
    for place, one in enumerate(folds):
        values[place] = one.values
        if one.known is not None:
            known[place] = one.known
    kinds = np.array([one.kind for one in folds], np.int64)
    return Folds(kinds, np.array([one.variable for one in folds], np.int64), values, known)


def _fold_trends(folds: Folds, trends: ShownTrends) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    shape = folds.kind.size, trends.count
    sums, counts = np.zeros(shape, folds.values.dtype), np.zeros(shape, np.int64)
    places = np.zeros(shape, np.int64)
    fits = fold(trends.starts, trends.rows, trends.variables, folds, sums, counts, places)
    if not fits and folds.values.dtype == np.int64:
        sums = _sum_exactly(folds, trends)
    return sums, counts, places


def _sum_exactly(folds: Folds, trends: ShownTrends) -> np.ndarray:
    """Sums beyond 64 bits, as Python integers."""
    sums = np.zeros((folds.kind.size, trends.count), object)
    for place in np.flatnonzero(folds.kind == SUM):
        counted = (trends.variables == folds.variable[place]) & folds.known[place, trends.rows]
        values = np.where(counted, folds.values[place, trends.rows], 0).astype(object)
        for trend in range(trends.count):
            sums[place, trend] = sum(values[trends.starts[trend] : trends.starts[trend + 1]])
    return sums
