"""Aggregates of windows as columns: of rows in order, and of slices."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.expressions.arrow.values import join_chunks
from trendweave.programs.operators.measured import (
    LEAST,
    MOST,
    NAN_CODE,
    as_column,
    codes_of,
    is_float,
    is_measured,
    measure,
    values_of,
)
from trendweave.programs.operators.ordering import value_order
from trendweave.programs.operators.partials import ColumnPart
from trendweave.programs.operators.sums import Sums, count_between, fold_between, sums_of
from trendweave.programs.operators.windows.edges import WindowEdges
from trendweave.results.types import DIGITS
from trendweave.rows.segments import take_rows


def write_aggregate(function: str, result: pa.DataType, column: MeasuredColumn | SlicedColumn, shown: str) -> pa.Array:
    """An aggregate of each window.

    Args:
        function: COUNT, SUM, AVG, MIN or MAX.
        result: Its type.
        column: What it is of.
        shown: How the column is called in messages.

    Raises:
        ExecutionError: A sum does not fit its type.
    """
    known, kind = column.known, column.kind
    if function == "COUNT":
        return pa.array(known, pa.int64())
    if pa.types.is_null(kind):
        return pa.nulls(known.size, result)
    missing = known == 0 if column.may_be_missing else None
    if function in ("MIN", "MAX"):
        return column.extreme(function == "MAX", np.zeros(known.size, np.bool_) if missing is None else missing)
    sums, scale = column.sums, kind.scale if pa.types.is_decimal(kind) else 0
    if function == "AVG" or pa.types.is_floating(result):
        values = sums.floats()
        if function == "AVG" or scale:
            values = values / ((np.maximum(known, 1) if function == "AVG" else 1) * 10.0**scale)
        return pa.array(values, pa.float64(), mask=missing)
    words = sums.words()
    if pa.types.is_int64(result):
        if not np.array_equal(words[:, 1], words[:, 0] >> 63):
            message = f"a sum of {shown} does not fit 64 bits"
            raise ExecutionError([Problem("TW402", message, 'ask for numbers="decimal"')])
        return pa.array(words[:, 0], pa.int64(), mask=missing)
    exact = pa.decimal128(DIGITS, scale)
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    found = pa.Array.from_buffers(exact, words.shape[0], [valid, pa.py_buffer(words)])
    return found if result == exact else found.cast(result)


class MeasuredColumn:
    """Values in order, as numbers of 64 bits; no window is empty.

    Args:
        kind: The type of the column.
        values: Any number where a value is NULL.
        valid: Which values are not NULL; None where all are.
        edges: The windows.
        device: What computes sums of floats, and extremes.
    """

    def __init__(
        self, kind: pa.DataType, values: np.ndarray, valid: np.ndarray | None, edges: WindowEdges, device: str
    ) -> None:
        self.kind, self._values, self._valid, self._edges, self._device = kind, values, valid, edges, device
        self.may_be_missing = valid is not None

    @cached_property
    def known(self) -> np.ndarray:
        return self._edges.high - self._edges.low if self._valid is None else self._edges.count(self._valid)

    @cached_property
    def sums(self) -> Sums:
        values, edges = self._or(self._values, 0), self._edges
        if values.dtype != np.float64:
            longest = int((edges.high - edges.low).max(initial=0))
            largest = max(-int(values.min(initial=0)), int(values.max(initial=0)))
            if largest * longest < 2**63:  # differences of totals are right even where totals have wrapped around
                return Sums(edges.count(values)[None])
        return sums_of(values).between(edges.low, edges.high, self._device)

    def extreme(self, largest: bool, missing: np.ndarray) -> pa.Array:
        """The smallest or the largest value of each window that has one. NaN is above all numbers: the largest value
        where there is one, and the smallest where there is no other."""
        found = self._fold(codes_of(self._values), largest)
        return as_column(values_of(np.where(missing, 0, found), is_float(self.kind)), self.kind, missing)

    def _fold(self, codes: np.ndarray, largest: bool) -> np.ndarray:
        codes = self._or(codes, LEAST if largest else MOST)
        return fold_between("most" if largest else "least", codes, self._edges.low, self._edges.high, self._device)

    def _or(self, values: np.ndarray, otherwise: int) -> np.ndarray:
        return values if self._valid is None else np.where(self._valid, values, values.dtype.type(otherwise))


class RankedColumn(MeasuredColumn):
    """A column of which not all values fit 64 bits: texts, and whatever else has an order and no number.

    Args:
        column: In order.
        shown: How it is called in messages.
        edges: The windows.
        device: What computes extremes.
    """

    def __init__(self, column: pa.Array, shown: str, edges: WindowEdges, device: str) -> None:
        valid = np.asarray(pc.is_valid(column)) if column.null_count else None
        super().__init__(column.type, np.empty(0), valid, edges, device)
        self._column, self._shown = column, shown

    @cached_property
    def sums(self) -> Sums:
        message = f"the column {self._shown} has values that do not fit 64 bits"
        raise DataError([Problem("TW310", message, "cast it to float64")])

    def extreme(self, largest: bool, missing: np.ndarray) -> pa.Array:
        ranks = value_order(self._column)
        rows = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
        known = np.flatnonzero(ranks >= 0)
        rows[ranks[known]] = known
        found = np.where(missing, 0, self._fold(ranks, largest))
        return self._column.take(pa.array(rows[found], mask=missing))


def read_column(
    column: pa.ChunkedArray, order: np.ndarray | None, shown: str, edges: WindowEdges, device: str = "cpu"
) -> MeasuredColumn:
    """A column as windows see it.

    Args:
        column: As rows came.
        order: The row at each place; None where rows stand in order.
        shown: How it is called in messages.
        edges: The windows.
        device: What computes them.
    """
    found = measure(column) if is_measured(column.type) else None
    if found is None:
        return RankedColumn(join_chunks(column if order is None else take_rows(column, order)), shown, edges, device)
    found = found if order is None else found.take(order)
    return MeasuredColumn(column.type, found.values, found.valid, edges, device)


class SlicedColumn:
    """A column in slices; windows have those with low[i] <= place < high[i], which both ascend."""

    may_be_missing = True

    def __init__(self, kind: pa.DataType, part: ColumnPart, low: np.ndarray, high: np.ndarray) -> None:
        self.kind, self._part, self._low, self._high = kind, part, low, high

    @cached_property
    def known(self) -> np.ndarray:
        return count_between(self._part.known, self._low, self._high)

    @cached_property
    def sums(self) -> Sums:
        return self._part.sums.between(self._low, self._high)

    def extreme(self, largest: bool, missing: np.ndarray) -> pa.Array:
        part, low, high = self._part, self._low, self._high
        codes = fold_between("most", part.high, low, high) if largest else fold_between("least", part.low, low, high)
        nans = count_between(part.nans, low, high)
        codes = np.where((nans > 0) & (largest | (nans == self.known)), NAN_CODE, np.where(missing, 0, codes))
        return as_column(values_of(codes, is_float(self.kind)), self.kind, missing)
