"""RETURN EACH: what to fold over the events of a trend, and how to write it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels import Aggregate
from trendweave.kernels.aggregates.entry import extremum_codes
from trendweave.kernels.lists.folds import COUNT, FIRST, LARGEST, LAST, SUM, Folds, fold_trends, make_folds
from trendweave.planning.plan import AggregateColumn, Plan
from trendweave.results.each_spread import SpreadValues, spread_values
from trendweave.results.numbers import write_aggregate
from trendweave.results.partials import Component
from trendweave.results.shown_trends import FoldedOutput, FoldedTrends, ShownTrends, join_chunks
from trendweave.results.types import Numbers
from trendweave.rows.codes import as_numbers

_FOLDS = {"COUNT": COUNT, "FIRST": FIRST, "LAST": LAST, "MIN": LARGEST, "MAX": LARGEST, "SUM": SUM, "AVG": SUM}


#: Of all events: the length of a trend.
NO_VARIABLE = -1


@dataclass(frozen=True, slots=True)
class OutputFold:
    """What is folded for one output, over the events of which variable (NO_VARIABLE: of all); of which numbers (None:
    they are not read), and where these are known (None: everywhere)."""

    kind: int
    variable: int
    values: np.ndarray | None = None
    known: np.ndarray | None = None

    @property
    def adds_whole(self) -> bool:
        """Are whole numbers added?"""
        return self.kind == SUM and self.values is not None and self.values.dtype != np.float64


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
        """Fold the events of listed trends.

        Args:
            trends: The trends.

        Returns:
            What was found, per aggregate.
        """
        folded = [FoldedOutput(*one) for one in fold_trends(self._folds, trends.starts, trends.rows, trends.variables)]
        if self._folds.fit(int(trends.lengths.max(initial=0))):
            return folded
        pairs = zip(self.folds, folded, strict=True)
        return [replace(found, sums=_sum_exactly(one, trends)) if one.adds_whole else found for one, found in pairs]

    def without_events(self, longest: int) -> Folds | None:
        """What is folded while trends are found, so that their events need not be listed; None where all values of a
        trend are needed, or where a sum of whole numbers over so many events may leave 64 bits."""
        listed = not self.folds or any(spread is not None for spread in self.spreads)
        return None if listed or not self._folds.fit(longest) else self._folds

    @cached_property
    def _folds(self) -> Folds:
        return make_folds((one.kind, one.variable, one.values, one.known) for one in self.folds)


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


def _sum_exactly(fold: OutputFold, trends: ShownTrends) -> np.ndarray:
    """Sums beyond 64 bits, as Python integers."""
    assert fold.values is not None, "a sum is one of numbers"
    counted = trends.variables == fold.variable
    if fold.known is not None:
        counted &= fold.known[trends.rows]
    values = np.where(counted, fold.values[trends.rows], 0).astype(object)
    sums = [sum(values[first:end]) for first, end in pairwise(trends.starts.tolist())]
    return np.array(sums, object)
