"""Aggregates as columns of their promised types. A number that does not fit is an error that says where it stands."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache
from typing import NoReturn

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.planning.plan import AggregateColumn
from trendweave.results.partials import Component
from trendweave.results.types import DIGITS, Numbers, column_type

#: Bits of the longest numbers that Python's own `str` writes, of up to 4,300 digits.
_MOST_BITS = 14_000
#: So many numbers, or fewer, are looked at to see whether many are equal.
_FEW = 1_000


def write_aggregate(
    column: AggregateColumn,
    kind: pa.DataType,
    events: pa.Schema,
    numbers: Numbers,
    component: Component,
    places: dict[str, pa.Array],
    over: tuple[str, ...] = (),
) -> pa.Array:
    """Write one aggregate as a column of its type.

    Args:
        column: What the query asks for.
        kind: The type of the column.
        events: The columns of the events.
        numbers: How whole numbers are written.
        component: The numbers.
        places: The columns that tell where a number does not fit.
        over: The keys that such a number has together, as no column tells them apart.

    Returns:
        One value per window and group.

    Raises:
        ExecutionError: A number does not fit.
    """
    scale = 0
    if column.path is not None and pa.types.is_decimal(column_type(events, column.path)):
        scale = column_type(events, column.path).scale
    return _NumberWriter(column, kind, numbers, scale, places, over).write(component)


class _NumberWriter:
    """Writes one aggregate in its type; a number that does not fit is an error that names the window."""

    def __init__(
        self,
        column: AggregateColumn,
        kind: pa.DataType,
        numbers: Numbers,
        scale: int,
        places: dict[str, pa.Array],
        over: tuple[str, ...],
    ) -> None:
        self.column, self.kind, self.numbers, self.scale = column, kind, numbers, scale
        self.places, self.over = places, over

    def write(self, component: Component) -> pa.Array:
        unknown = None if component.known is None else ~component.known
        if self.column.function in ("MIN", "MAX"):
            return self._extremum(component.values, unknown)
        if component.kind == "distinct":
            return self._whole(np.array([len(codes) for codes in component.values], np.int64), None)
        if component.kind == "variance":
            return self._spread(component)
        if self.column.function == "AVG":
            return pa.array(self._average(component), pa.float64(), mask=unknown)
        if component.values.dtype == np.float64:
            assert self.column.function != "COUNT" or self.numbers == "float64", "counts are whole numbers"
            return self._floats(component, unknown)
        return self._whole(component.values, unknown)

    def _extremum(self, values: np.ndarray, unknown: np.ndarray | None) -> pa.Array:
        if pa.types.is_decimal(self.kind):
            scaled = [None if missing else _decimal(int(v), self.scale) for v, missing in self._pairs(values, unknown)]
            return pa.array(scaled, self.kind)
        array = pa.array(values, mask=unknown)
        if pa.types.is_date32(self.kind):
            array = array.cast(pa.int32())
        return array.cast(self.kind)

    def _average(self, component: Component) -> np.ndarray:
        assert component.weight is not None, "an average is weighted by the number of its values"
        weight = component.weight if component.known is None else np.where(component.known, component.weight, 1)
        if weight.dtype == np.float64 and np.isinf(weight).any():
            self._too_large(int(np.flatnonzero(np.isinf(weight))[0]), None)
        if component.kind == "avg":
            return component.values
        if component.values.dtype != object and weight.dtype != object:
            return component.values / weight / 10**self.scale
        # Python divides large integers with one rounding.
        return np.array(
            [int(v) / (int(w) * 10**self.scale) for v, w in zip(component.values, weight, strict=True)], np.float64
        )

    def _spread(self, component: Component) -> pa.Array:
        """Of a sample, so one value alone has none."""
        assert component.weight is not None, "a variance has a number of values"
        weight = component.weight
        if weight.dtype == object:
            bigger = np.array([int(number) / (int(number) - 1) if number > 1 else 1.0 for number in weight.tolist()])
        else:
            if weight.dtype == np.float64 and np.isinf(weight).any():
                self._too_large(int(np.flatnonzero(np.isinf(weight))[0]), None)
            bigger = weight / np.maximum(weight - 1, 1)
        variance = component.values * bigger
        values = np.sqrt(variance) if self.column.function == "STDDEV" else variance
        power = 1 if self.column.function == "STDDEV" else 2
        return pa.array(values / 10.0 ** (self.scale * power), pa.float64(), mask=np.asarray(weight < 2, np.bool_))

    def _floats(self, component: Component, unknown: np.ndarray | None) -> pa.Array:
        """Sums of floats, and everything in float64 numbers. Infinity where all values were finite is not an answer."""
        values = component.values / 10**self.scale if self.scale else component.values
        if self.column.path is None and np.isinf(values).any():
            self._too_large(int(np.flatnonzero(np.isinf(values))[0]), None)
        return pa.array(values, pa.float64(), mask=unknown)

    def _whole(self, values: np.ndarray, unknown: np.ndarray | None) -> pa.Array:
        if values.dtype == np.int64 and self._is_plain():
            return pa.array(values, pa.int64(), mask=unknown).cast(self.kind)
        if pa.types.is_string(self.kind) and not self.scale:
            return _write_decimals(values, unknown)
        pairs = self._pairs(values, unknown)
        if self.numbers == "log2" and self.column.function == "COUNT":
            return pa.array([math.log2(int(v)) if v else -math.inf for v, _ in pairs], pa.float64(), mask=unknown)
        if pa.types.is_floating(self.kind):
            return pa.array([self._as_float(i, v) for i, (v, _) in enumerate(pairs)], pa.float64(), mask=unknown)
        if pa.types.is_string(self.kind):
            texts = [None if missing else _write_decimal(v, self.scale) for v, missing in pairs]
            return pa.array(texts, pa.string())
        most = 2**63 if pa.types.is_integer(self.kind) else 10**DIGITS
        if values.dtype == object:
            for index, (value, missing) in enumerate(pairs):
                if not missing and not -most < int(value) < most:
                    self._too_large(index, Decimal(int(value)).adjusted() + 1)
        if pa.types.is_integer(self.kind):
            return pa.array(values.astype(np.int64), pa.int64(), mask=unknown)
        scaled = [None if missing else _decimal(int(v), self.scale) for v, missing in pairs]
        return pa.array(scaled, self.kind)

    def _is_plain(self) -> bool:
        """Do all 64-bit numbers fit as they are?"""
        return not self.scale and (pa.types.is_integer(self.kind) or pa.types.is_decimal(self.kind))

    def _as_float(self, index: int, value: int) -> float:
        try:
            return int(value) / 10**self.scale
        except OverflowError:
            self._too_large(index, Decimal(int(value)).adjusted() + 1)

    @staticmethod
    def _pairs(values: np.ndarray, unknown: np.ndarray | None) -> list[tuple[int, bool]]:
        missing = np.zeros(values.size, np.bool_) if unknown is None else unknown
        return list(zip(values.tolist(), missing.tolist(), strict=True))

    def _too_large(self, index: int, digits: int | None) -> NoReturn:
        edges = [f"{name} {column[index]}" for name, column in self.places.items() if column[index].is_valid]
        where = ", ".join(edges) or "the whole input"
        if self.over:
            where += f", over all {', '.join(self.over)}"
        need = f"{digits:,}" if digits is not None else "more than 308"
        message = f"{self.column.name} needs {need} digits at {where}; {self.kind} cannot hold it"
        ways = [f'"{way}"' for way in ("decimal", "text", "log2") if way != self.numbers and self._helps(way, digits)]
        hint = f"ask for numbers={' or '.join(ways)}"
        raise ExecutionError([Problem("TW402", message, hint)])

    def _helps(self, way: str, digits: int | None) -> bool:
        small = digits is not None and digits <= DIGITS
        return {"text": True, "decimal": small, "log2": self.column.path is None}[way]


def _write_decimals(values: np.ndarray, unknown: np.ndarray | None) -> pa.Array:
    """Whole numbers as text."""
    if values.dtype == np.int64:
        return pa.array(values, pa.int64(), mask=unknown).cast(pa.string())
    numbers = (values if unknown is None else np.where(unknown, 0, values)).tolist()
    write = str if max(map(int.bit_length, numbers), default=0) <= _MOST_BITS else _write_decimal
    some = numbers[:: len(numbers) // _FEW + 1]
    if 2 * len(set(some)) < len(some):  # many are equal
        write = cache(write)
    return pa.array(list(map(write, numbers)), pa.string(), mask=unknown)


def _write_decimal(value: int, scale: int = 0) -> str:
    return format(_decimal(value, scale), "f")


def _decimal(value: int, scale: int) -> Decimal:
    """Exact, whatever the precision of the thread's decimal context, and for numbers of any length."""
    whole = Decimal(value)
    if not scale:
        return whole
    sign, digits, _ = whole.as_tuple()
    return Decimal((sign, digits, -scale))
