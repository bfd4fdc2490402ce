"""Aggregates of windows as columns: of rows in order, and of slices."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.expressions.arrow.values import join_chunks
from trendweave.gpu.card import Card, find_card, memory_told
from trendweave.gpu.windows import Stretches, count_flags, extremes, ordered_codes, put_stretches, sum_floats, sum_whole
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
from trendweave.programs.operators.sums import Sums, count_between, fold_between, sum_between, sums_of_words
from trendweave.programs.operators.windows.edges import WindowEdges
from trendweave.results.types import DIGITS

#: Brings what stands for rows into the order of places.
Arrange: TypeAlias = Callable[[np.ndarray], np.ndarray]


class MovingHere:
    """What is computed of values with a place each, over the places of windows, by loops of this process; no window is
    empty. Values lie where they are computed: in arrays of `xp`."""

    xp: Any = np

    def __init__(self, edges: WindowEdges) -> None:
        self._edges = edges
        self._low, self._high = edges.low, edges.high

    def put(self, values: Any) -> Any:
        """Values where they are computed."""
        return values

    def lengths(self) -> np.ndarray:
        """How many places each window has."""
        return self._high - self._low

    def count(self, flags: Any) -> np.ndarray:
        """How many flags are set in each window, or the sums of whole numbers that 64 bits hold."""
        total = np.zeros(flags.size + 1, np.int64)
        np.cumsum(flags, out=total[1:])
        return self._edges.last(total[1:]) - self._edges.first(total[:-1])

    def sum(self, values: Any) -> Sums:
        """Sums of floats, or of whole numbers."""
        return sum_between(values, self._low, self._high, self.count)

    def codes(self, values: Any) -> Any:
        """Floats as int64 numbers of the same order."""
        return codes_of(values)

    def extreme(self, codes: Any, largest: bool) -> np.ndarray:
        """The smallest or the largest int64 number of each window."""
        return fold_between("most" if largest else "least", codes, self._low, self._high)


class MovingOnCard(MovingHere):
    """The same on a GPU. Values that lie in this process are put there."""

    def __init__(self, card: Card, stretches: Stretches) -> None:
        self._card, self._stretches, self.xp = card, stretches, card.xp

    def put(self, values: Any) -> Any:
        return self._card.put(values) if type(values) is np.ndarray else values

    def lengths(self) -> np.ndarray:
        return self._card.get(self._stretches.lengths(self._card))

    def count(self, flags: Any) -> np.ndarray:
        with memory_told(self._card):
            return self._card.get(count_flags(self._card, self.put(flags).astype(np.uint8), self._stretches))

    def sum(self, values: Any) -> Sums:
        card, stretches = self._card, self._stretches
        with memory_told(card):
            values = self.put(values)
            if values.dtype.kind != "f":
                return sums_of_words(card.get(sum_whole(card, values.astype(np.int64), None, stretches)))
            found = sum_floats(card, values, None, stretches)
            if found is not None:
                return Sums(card.get(found)[None])
            # Floats too far apart for whole numbers of two words.
            low, high = (card.get(ends) for ends in stretches.ends(card))
        order = np.lexsort((high, low))
        sums = np.empty(low.size)
        sums[order] = fold_between("sum", card.get(values).astype(np.float64), low[order], high[order])
        return Sums(sums[None])

    def codes(self, values: Any) -> Any:
        return ordered_codes(self._card, self.put(values))

    def extreme(self, codes: Any, largest: bool) -> np.ndarray:
        with memory_told(self._card):
            return self._card.get(extremes(self._card, self.put(codes), self._stretches, largest))


def moving(device: str, edges: WindowEdges) -> MovingHere:
    """What computes windows on a device.

    Raises:
        ExecutionError: There is no card, and one is asked for.
    """
    if device != "gpu":
        return MovingHere(edges)
    card = find_card()
    with memory_told(card):
        return MovingOnCard(card, put_stretches(card, edges.low, edges.high))


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
    """Values in order, as numbers of 64 bits, where windows are computed.

    Args:
        kind: The type of the column.
        values: Any number where a value is NULL.
        valid: Which values are not NULL; None where all are.
        moving: What computes windows.
    """

    def __init__(self, kind: pa.DataType, values: Any, valid: Any | None, moving: MovingHere) -> None:
        self.kind, self._values, self._valid, self._moving = kind, values, valid, moving
        self.may_be_missing = valid is not None

    @cached_property
    def known(self) -> np.ndarray:
        return self._moving.lengths() if self._valid is None else self._moving.count(self._valid)

    @cached_property
    def sums(self) -> Sums:
        return self._moving.sum(self._or(self._values, 0))

    def extreme(self, largest: bool, missing: np.ndarray) -> pa.Array:
        """The smallest or the largest value of each window that has one. NaN is above all numbers: the largest value
        where there is one, and the smallest where there is no other."""
        floats = is_float(self.kind)
        codes = self._moving.codes(self._values) if floats else self._values
        found = self._moving.extreme(self._or(codes, LEAST if largest else MOST), largest)
        return as_column(values_of(np.where(missing, 0, found), floats), self.kind, missing)

    def _or(self, values: Any, otherwise: int) -> Any:
        if self._valid is None:
            return values
        moving = self._moving
        return moving.xp.where(moving.put(self._valid), moving.put(values), values.dtype.type(otherwise))


class RankedColumn(MeasuredColumn):
    """A column of which not all values fit 64 bits: texts, and whatever else has an order and no number.

    Args:
        column: As rows came.
        arrange: Brings values into the order of places.
        shown: How it is called in messages.
        moving: What computes windows.
    """

    def __init__(self, column: pa.ChunkedArray, arrange: Arrange, shown: str, moving: MovingHere) -> None:
        valid = arrange(np.asarray(pc.is_valid(column))) if column.null_count else None
        super().__init__(column.type, None, valid, moving)
        self._column, self._arrange, self._shown = column, arrange, shown

    @cached_property
    def sums(self) -> Sums:
        message = f"the column {self._shown} has values that do not fit 64 bits"
        raise DataError([Problem("TW310", message, "cast it to float64")])

    def extreme(self, largest: bool, missing: np.ndarray) -> pa.Array:
        column = join_chunks(self._column)
        ranks = value_order(column)
        rows = np.zeros(int(ranks.max(initial=0)) + 1, np.int64)
        known = np.flatnonzero(ranks >= 0)
        rows[ranks[known]] = known
        codes = self._or(self._arrange(ranks), LEAST if largest else MOST)
        found = np.where(missing, 0, self._moving.extreme(codes, largest))
        return column.take(pa.array(rows[found], mask=missing))


def read_column(column: pa.ChunkedArray, arrange: Arrange, shown: str, moving: MovingHere) -> MeasuredColumn:
    """A column as windows see it; `shown` is how it is called in messages, and `arrange` brings its values into the
    order of places."""
    found = measure(column) if is_measured(column.type) else None
    if found is None:
        return RankedColumn(column, arrange, shown, moving)
    valid = None if found.valid is None else arrange(found.valid)
    return MeasuredColumn(column.type, arrange(found.values), valid, moving)


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
