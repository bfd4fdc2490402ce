"""RETURN EACH: what to fold over the events of a trend, and how to write it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate
from trendweave.kernels.aggregates.entry import extremum_codes
from trendweave.kernels.listing.folds import COUNT, FIRST, LARGEST, LAST, SUM, Folds, fold
from trendweave.planning.plan import AggregateColumn, Plan
from trendweave.results.each_spread import SpreadValues, spread_values
from trendweave.results.numbers import write_aggregate
from trendweave.results.partials import Component
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends, join_chunks
from trendweave.results.types import Numbers
from trendweave.rows.numbers import as_numbers

_FOLDS = {"COUNT": COUNT, "FIRST": FIRST, "LAST": LAST, "MIN": LARGEST, "MAX": LARGEST, "SUM": SUM, "AVG": SUM}


#: Of listed events, the length of a trend and the number of trends need no fold: no event is read as this. Where events
#: are not listed all of them are counted.
NO_VARIABLE = -1


@dataclass(frozen=True, slots=True)
class OutputFold:
    """What is folded for one output, over the events of which variable (NO_VARIABLE: of none); of which numbers (None:
    they are not read), and where these are known (None: everywhere)."""

    kind: int
    variable: int
    values: np.ndarray | None = None
    known: np.ndarray | None = None

    @property
    def is_float(self) -> bool:
        """Are floats added?"""
        return self.values is not None and self.values.dtype == np.float64


@dataclass(frozen=True)
class EachColumns:
    """Aggregates of single trends, in order: what is folded for each of them over how many rows, and the column of the
    table that it is about."""

    aggregates: tuple[AggregateColumn, ...]
    rows: int
    folds: list[OutputFold]
    values: list[pa.Array | None]
    spreads: list[SpreadValues | None]

    def write(
        self,
        trends: ShownTrends | FoldedTrends,
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
        folded = trends.outputs if isinstance(trends, FoldedTrends) else self.fold(trends)
        written = []
        columns = zip(self.aggregates, self.values, self.spreads, types, folded, strict=True)
        for output, values, spread, type_, found in columns:
            if spread is not None:
                assert isinstance(trends, ShownTrends), "spreads are those of listed events"
                written.append(_write_spread(spread, output, trends, type_, events, numbers))
            elif output.is_length:
                written.append(pa.array(trends.lengths if isinstance(trends, ShownTrends) else found.counts))
            elif output.function == "COUNT":
                written.append(pa.array(found.counts))
            elif output.function in ("SUM", "AVG"):
                component = Component("sum", found.sums, found.counts > 0, found.counts)
                written.append(write_aggregate(output, type_, events, numbers, component, places))
            else:
                missing = found.rows < 0
                written.append(
                    pc.take(values, pa.array(found.rows, mask=missing if missing.any() else None)).cast(type_)
                )
        return written

    def fold(self, trends: ShownTrends) -> list[FoldedOutput]:
        """Fold the events of listed trends: whole numbers, and floats.

        Args:
            trends: The trends.

        Returns:
            What was found, per aggregate. Nothing is folded for lengths.
        """
        results = {False: _fold_trends(self._whole, trends), True: _fold_trends(self._floats, trends)}
        folded, used = [], {False: 0, True: 0}
        for fold_ in self.folds:
            sums, counts, rows = (part[used[fold_.is_float]] for part in results[fold_.is_float])
            used[fold_.is_float] += 1
            folded.append(FoldedOutput(sums, counts, rows))
        return folded

    @cached_property
    def _whole(self) -> Folds:
        return _tabulate([one for one in self.folds if not one.is_float], self.rows, np.int64)

    @cached_property
    def _floats(self) -> Folds:
        return _tabulate([one for one in self.folds if one.is_float], self.rows, np.float64)


def _write_spread(
    spread: SpreadValues,
    output: AggregateColumn,
    trends: ShownTrends,
    type_: pa.DataType,
    events: pa.Schema,
    numbers: Numbers,
) -> pa.Array:
    if output.distinct:
        return pa.array(spread.count_different(trends), pa.int64())
    if output.function == "PERCENTILE":
        assert output.parameter is not None, "a percentile has a share"
        return spread.find_percentile(trends, output.parameter)
    if output.function == "NTH":
        assert isinstance(output.parameter, int), "events are numbered"
        return spread.take_event(trends, output.parameter).cast(type_)
    if output.function in ("COLLECT_LIST", "COLLECT_SET"):
        return spread.list_values(trends, each_once=output.function == "COLLECT_SET").cast(type_)
    return write_aggregate(output, type_, events, numbers, spread.find(trends), {})


def fold_columns(
    plan: Plan, aggregates: tuple[AggregateColumn, ...], names: tuple[str | None, ...], table: pa.Table
) -> EachColumns:
    """Settle what is folded over the events of each trend.

    Args:
        plan: The plan of the query.
        aggregates: What is told of each trend.
        names: The prepared column of each of them, if any.
        table: Prepared rows, sorted.

    Returns:
        What writes the columns.
    """
    number = {variable.name: index for index, variable in enumerate(plan.variables)}
    folds, columns = [], []
    spreads: list[SpreadValues | None] = []
    for output, name in zip(aggregates, names, strict=True):
        variable = NO_VARIABLE if output.variable is None else number[output.variable]
        of_spread = name is not None and output.needs_all_values
        spreads.append(spread_values(output, table.column(name), variable) if of_spread else None)
        if of_spread:
            variable = NO_VARIABLE
        kind = COUNT if variable == NO_VARIABLE else _FOLDS[output.function]
        values = known = None
        if name is not None and kind in (SUM, LARGEST):
            values, known = as_numbers(table.column(name), output)
            if kind == LARGEST:
                values, _ = extremum_codes(Aggregate(output.function.lower(), 0, values, None))
        folds.append(OutputFold(kind, variable, values, known))
        columns.append(None if name is None or of_spread else join_chunks(table.column(name)))
    return EachColumns(aggregates, table.num_rows, folds, columns, spreads)


def _tabulate(folds: list[OutputFold], rows: int, dtype: type) -> Folds:
    values: np.ndarray = np.zeros((len(folds), rows), dtype)
    known = np.ones((len(folds), rows), np.bool_)
    for place, one in enumerate(folds):
        if one.values is not None:
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
