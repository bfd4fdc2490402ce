"""The attributes that are aggregated: from Arrow columns to what kernels find, and from that to components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.kernels import Aggregate, Measure, Results
from trendweave.kernels.aggregates.exact_numbers import average_floats
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.results.partials import Component, Merging
from trendweave.rows.codes import as_numbers
from trendweave.rows.segments import Segments


class SumTooLargeError(OverflowError):
    """A sum of finite floats is beyond all floats, at the entry with this number."""

    def __init__(self, entry: int) -> None:
        self.entry = entry
        super().__init__(entry)


#: Where the numbers of an aggregate come from: trends are counted anyway, events are counted, values are merged.
Reading: TypeAlias = Merging | Literal["trends", "count"]


@dataclass(frozen=True, slots=True)
class Centre:
    """What was taken away from the values of a variance, so that squares of them stay small."""

    value: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """What kernels are asked for, over all rows of a table, and how to read the answer: per aggregate of the plan the
    kind and places of its numbers."""

    aggregates: list[Aggregate]
    readers: list[tuple[Reading, tuple[int, ...]]]
    centres: dict[int, Centre] = field(default_factory=dict)

    def of_rows(self, segments: Segments) -> list[Aggregate]:
        """The same over the rows of some segments. A column is taken once."""
        arrays = {id(array): array for one in self.aggregates for array in one[2:] if array is not None}
        taken = {name: segments.take(array) for name, array in arrays.items()}
        return [
            one._replace(values=taken.get(id(one.values)), valid=taken.get(id(one.valid))) for one in self.aggregates
        ]

    def components(self, results: Results, infinite: np.ndarray | None = None) -> list[Component]:
        """One component per aggregate of the plan; COUNT(*) has none of its own.

        Args:
            results: The answer.
            infinite: Per result, whether some value may be so that sums are infinite; None: as the columns say.

        Raises:
            SumTooLargeError: A sum of finite floats is beyond all floats.
        """
        components = []
        for kind, places in self.readers:
            if kind == "trends" or kind == "distinct":
                # Distinct values are no numbers that kernels add: whoever finds them puts them here.
                components.append(Component("sum", results.count))
                continue
            values = results.aggregates[places[0]]
            if kind == "count":
                components.append(Component("sum", values))
            elif kind == "variance":
                components.append(self._find_variance(results, places))
            elif kind == "min" or kind == "max":
                components.append(Component(kind, values, results.valid[places[0]]))
            else:
                weight = results.aggregates[places[1]]
                values = read_sums(kind, values, weight, self.aggregates[places[0]].values, infinite)
                components.append(Component(kind, values, np.asarray(weight != 0, np.bool_), weight))
        return components

    def _find_variance(self, results: Results, places: tuple[int, ...]) -> Component:
        """From sums of the distances from the centre, and of their squares."""
        centre = self.centres[places[0]]
        distances, squares, weight = (results.aggregates[place] for place in places)
        known = np.asarray(weight != 0, np.bool_)
        if not centre.exact:
            mean = average_floats(distances, weight)
            variance = average_floats(squares, weight) - mean**2
        elif any(part.dtype == object for part in (distances, squares, weight)):
            numbers = zip(distances.tolist(), squares.tolist(), weight.tolist(), strict=True)
            found = [
                (0.0, 0.0) if not n else (int(d) / int(n), _variance(int(d), int(s), int(n))) for d, s, n in numbers
            ]
            mean, variance = (np.array(part, np.float64) for part in zip(*found, strict=True))
        else:
            count = np.maximum(weight, 1).astype(np.longdouble)
            exact_mean = distances.astype(np.longdouble) / count
            mean = exact_mean.astype(np.float64)
            variance = (squares.astype(np.longdouble) / count - exact_mean * exact_mean).astype(np.float64)
        # What rounding leaves of equal values, and may go below zero, is nothing; NaN stays.
        smallest = _ROUNDING * np.asarray(mean, np.float64) ** 2
        variance = np.where(variance < smallest, 0.0, variance)
        return Component("variance", variance, known, weight, mean + centre.value)


NOTHING = Measured([], [])
#: The part of the square of an average that is lost when it is taken from an average of squares.
_ROUNDING = 2.0**-50
#: Distances from the centre whose squares fit 64 bits.
_FARTHEST = 3_000_000_000


def read_sums(
    kind: str, sums: np.ndarray, weight: np.ndarray, values: np.ndarray | None, infinite: np.ndarray | None = None
) -> np.ndarray:
    """Sums, or averages of floats. Infinity is the sum of infinities; of finite numbers it would be wrong. With NaN the
    sum is NaN.

    Raises:
        SumTooLargeError: A sum of finite floats is beyond all floats.
    """
    if kind == "avg":
        sums = average_floats(sums, weight)
    elif values is not None and values.dtype == np.float64:
        sums = sums.astype(np.float64)
    if sums.dtype != np.float64:
        return sums
    if infinite is None:
        infinite = np.full(sums.size, values is not None and bool(np.isinf(values).any()))
    beyond = np.flatnonzero(np.isinf(sums) & ~infinite)
    if beyond.size:
        raise SumTooLargeError(int(beyond[0]))
    return sums


def _variance(distances: int, squares: int, count: int) -> float:
    return (count * squares - distances * distances) / (count * count)


def _find_spread(values: np.ndarray, valid: np.ndarray | None) -> tuple[Centre, np.ndarray, np.ndarray]:
    """A value in the middle of all, the distances from it, and their squares: whole numbers where these fit, else
    floats."""
    known = values if valid is None else values[valid]
    known = known[np.isfinite(known)] if known.dtype == np.float64 else known
    middle = np.partition(known, known.size // 2)[known.size // 2] if known.size else values.dtype.type(0)
    exact = values.dtype != np.float64
    if exact and known.size:
        exact = max(abs(int(known.max()) - int(middle)), abs(int(middle) - int(known.min()))) <= _FARTHEST
    # Of NULLs anything may come out, and is not looked at.
    distances = np.where(True if valid is None else valid, values - middle, 0) if exact else values - float(middle)
    with np.errstate(over="ignore"):
        return Centre(float(middle), exact), distances, distances * distances


def measure_values(
    plan: Plan, preparation: Preparation, table: pa.Table, *, all_rows: bool = True, masks: Sequence[int] = ()
) -> Measured:
    """What the aggregates of a plan ask of kernels.

    Args:
        plan: The plan.
        preparation: Names the column of each aggregate.
        table: Prepared rows.
        all_rows: Whether there are no others; else a column without NULLs may have some there.
        masks: Per aggregate, what it is over, as kernels are told; without any, its variable.

    Returns:
        The questions, each once, and how answers are read.
    """
    bits = {variable.name: 1 << index for index, variable in enumerate(plan.variables)}
    masks = masks or [bits.get(column.variable or "", 0) for column in plan.aggregates]
    aggregates: list[Aggregate] = []
    readers: list[tuple[Reading, tuple[int, ...]]] = []
    numbers: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    spreads: dict[str, tuple[Centre, np.ndarray, np.ndarray]] = {}
    centres: dict[int, Centre] = {}
    asked: dict[tuple[object, ...], int] = {}

    def ask(
        kind: str, mask: int, name: str | None, values: np.ndarray | None = None, valid: np.ndarray | None = None
    ) -> int:
        if kind == Measure.COUNT and valid is None and all_rows:
            name = None
        number = asked.setdefault((kind, mask, name), len(aggregates))
        if number == len(aggregates):
            aggregates.append(Aggregate(kind, mask, values, valid))
        return number

    for column, name, mask in zip(plan.aggregates, preparation.values, masks, strict=True):
        if column.variable is None:
            readers.append(("trends", ()))
            continue
        if name is None:
            readers.append(("count", (ask(Measure.COUNT, mask, None),)))
            continue
        if column.distinct:
            readers.append(("distinct", ()))
            continue
        if name not in numbers:
            numbers[name] = as_numbers(table.column(name), column)
        values, valid = numbers[name]
        if column.function in ("MIN", "MAX"):
            extreme: Merging = "min" if column.function == "MIN" else "max"
            readers.append((extreme, (ask(extreme, mask, name, values, valid),)))
            continue
        if column.function in ("STDDEV", "VARIANCE"):
            if name not in spreads:
                spreads[name] = _find_spread(values, valid)
            centre, distances, squares = spreads[name]
            first = ask(Measure.SUM, mask, f"{name} distance", distances, valid)
            second = ask(Measure.SUM, mask, f"{name} square", squares, valid)
            third = ask(Measure.COUNT, mask, name, None, valid)
            readers.append(("variance", (first, second, third)))
            centres[first] = centre
            continue
        # Averages of whole numbers are divided once, from exact sums. Those of floats have counted first: so their
        # numbers lie in saved states.
        averages = column.function == "AVG" and values.dtype == np.float64
        counted = ask(Measure.COUNT, mask, name, None, valid) if averages else None
        place = ask(Measure.SUM, mask, name, values, valid)
        if counted is None:
            counted = ask(Measure.COUNT, mask, name, None, valid)
        readers.append(("avg" if averages else "sum", (place, counted)))
    return Measured(aggregates, readers, centres)
