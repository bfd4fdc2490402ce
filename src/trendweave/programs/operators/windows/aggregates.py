"""Aggregates of windows as columns, of rows in order and the places where windows begin and end."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.expressions.arrow.values import join_chunks
from trendweave.programs.operators.kernels.float_bits import ordered_codes
from trendweave.programs.operators.measured import Measured, as_column, is_float, is_measured, measure
from trendweave.programs.operators.value_order import value_order
from trendweave.programs.operators.windows.edges import WindowEdges
from trendweave.programs.operators.windows.moving import Moving, MovingHere
from trendweave.programs.operators.windows.ordered_rows import OrderedRows
from trendweave.results.types import DIGITS
from trendweave.rows.codes import from_ordered_bits

_LEAST, _MOST = np.int64(-(2**63)), np.int64(2**63 - 1)


def count_rows(edges: WindowEdges) -> pa.Array:
    """COUNT(*)."""
    return pa.array(edges.high - edges.low)


class WindowColumn:
    """A column, as windows see it.

    Args:
        rows: The rows in order.
        name: The column.
        shown: How it is called in messages.
        edges: The windows.
        moving: What computes sums and extremes of them.
    """

    def __init__(
        self, rows: OrderedRows, name: str, shown: str, edges: WindowEdges, moving: Moving | None = None
    ) -> None:
        self._moving = moving or MovingHere(edges)
        self._rows, self._column, self._shown, self._edges = rows, rows.table.column(name), shown, edges
        self.kind: pa.DataType = self._column.type

    def write(self, function: str, result: pa.DataType) -> pa.Array:
        """An aggregate of each window.

        Args:
            function: COUNT, SUM, AVG, MIN or MAX.
            result: Its type.

        Raises:
            TrendweaveError: A value or a result does not fit its type.
        """
        if function == "COUNT":
            return pa.array(self.known)
        if pa.types.is_null(self.kind):
            return pa.nulls(self._edges.low.size, result)
        if function in ("MIN", "MAX"):
            return self._extreme(function)
        if is_float(self.kind):
            return pa.array(self._sum_floats(function == "AVG"), pa.float64(), mask=self._missing)
        return self._mean() if function == "AVG" else self._sum(result)

    # How many

    @cached_property
    def _valid(self) -> np.ndarray | None:
        return self._rows.arrange(np.asarray(pc.is_valid(self._column))) if self._column.null_count else None

    @cached_property
    def known(self) -> np.ndarray:
        """How many values of each window are not NULL."""
        return self._edges.high - self._edges.low if self._valid is None else self._moving.count(self._valid)

    @cached_property
    def _missing(self) -> np.ndarray | None:
        return None if self._valid is None else self.known == 0

    @property
    def _divisors(self) -> np.ndarray:
        return self.known if self._valid is None else np.maximum(self.known, 1)

    # Sums

    @cached_property
    def _measured(self) -> np.ndarray | None:
        """Values in order, zero where they are NULL; None where some do not fit 64 bits."""
        found: Measured | None = measure(self._column) if is_measured(self.kind) else None
        return None if found is None else self._rows.arrange(found.values)

    @cached_property
    def _whole(self) -> np.ndarray:
        if self._measured is None:
            message = f"the column {self._shown} has values that do not fit 64 bits"
            raise DataError([Problem("TW310", message, "cast it to float64")])
        return self._measured

    def _sum_floats(self, mean: bool) -> np.ndarray:
        values = self._measured
        assert values is not None, "floats always fit"
        divisors = self._divisors if mean else None
        finite = np.isfinite(values)
        if finite.all():
            return self._moving.sum_or_mean(values, divisors)
        sums = self._moving.sum_or_mean(np.where(finite, values, 0.0), divisors)
        above, below = self._moving.count(values == np.inf) > 0, self._moving.count(values == -np.inf) > 0
        sums = np.where(above, np.inf, np.where(below, -np.inf, sums))
        sums[(above & below) | (self._moving.count(np.isnan(values)) > 0)] = np.nan
        return sums

    def _sum(self, result: pa.DataType) -> pa.Array:
        words = self._moving.sum_words(self._whole)
        valid = None if self._missing is None else pa.array(~self._missing).buffers()[1]
        scale = self.kind.scale if pa.types.is_decimal(self.kind) else 0
        exact = pa.decimal128(DIGITS, scale)
        sums = pa.Array.from_buffers(exact, words.shape[0], [valid, pa.py_buffer(words)])
        if pa.types.is_int64(result):
            if not np.array_equal(words[:, 1], words[:, 0] >> 63):
                message = f"a sum of {self._shown} does not fit 64 bits"
                raise ExecutionError([Problem("TW402", message, 'ask for numbers="decimal"')])
            return pa.array(words[:, 0], pa.int64(), mask=self._missing)
        if pa.types.is_floating(result):
            return self._mean(np.ones(words.shape[0], np.int64))
        return sums if result == exact else sums.cast(result)

    def _mean(self, divisors: np.ndarray | None = None) -> pa.Array:
        """The sums divided by `divisors`, by default by how many values there are."""
        divisors = self._divisors if divisors is None else divisors
        scale = 10**self.kind.scale if pa.types.is_decimal(self.kind) else 1
        if int(divisors.max(initial=1)) * scale < 2**32:
            means = self._moving.mean_whole(self._whole, divisors * scale)
            return pa.array(means, pa.float64(), mask=self._missing)
        words = self._moving.sum_words(self._whole)
        exact = zip(words[:, 0].view(np.uint64).tolist(), words[:, 1].tolist(), divisors.tolist(), strict=True)
        # Python divides whole numbers of any length with one rounding.
        values = np.array([(lower + (upper << 64)) / (divisor * scale) for lower, upper, divisor in exact])
        return pa.array(values, pa.float64(), mask=self._missing)

    # Extremes

    def _extreme(self, function: str) -> pa.Array:
        """NaN is above all numbers: the largest value where there is one, and the smallest where there is no other."""
        if self._measured is None:
            return self._extreme_by_rank(function)
        codes = ordered_codes(self._measured) if is_float(self.kind) else self._measured
        return self._as_column(self._find_extreme(function, codes))

    def _as_column(self, found: np.ndarray) -> pa.Array:
        """Extremes, as numbers in the order of values, in the type of the column."""
        if self._missing is not None:
            found = np.where(self._missing, 0, found)
        values = from_ordered_bits(found) if is_float(self.kind) else found
        return as_column(values, self.kind, np.zeros(found.size, np.bool_) if self._missing is None else self._missing)

    def _extreme_by_rank(self, function: str) -> pa.Array:
        """Of texts, and of whatever else has an order and no number."""
        column = join_chunks(self._column)
        ranks = value_order(column)
        rows = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
        known = np.flatnonzero(ranks >= 0)
        rows[ranks[known]] = known
        found = self._find_extreme(function, self._rows.arrange(ranks))
        if self._missing is not None:
            found = np.where(self._missing, 0, found)
        return column.take(pa.array(rows[found], mask=self._missing))

    def _find_extreme(self, function: str, codes: np.ndarray) -> np.ndarray:
        if self._valid is not None:
            codes = np.where(self._valid, codes, _MOST if function == "MIN" else _LEAST)
        found = self._moving.smallest(codes) if function == "MIN" else self._moving.largest(codes)
        return found if self._missing is None else np.where(self._missing, 0, found)
