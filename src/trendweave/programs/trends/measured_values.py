"""The attributes that are aggregated: from Arrow columns to kernel aggregates, and from kernel results to
components."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.kernels import Aggregate, Measure, Results
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.results.partials import Component, Merging
from trendweave.rows.numbers import as_numbers
from trendweave.rows.segments import Segments


class SumTooLargeError(OverflowError):
    """A sum of finite floats is beyond all floats, at the entry with this number."""

    def __init__(self, entry: int) -> None:
        self.entry = entry
        super().__init__(entry)


@dataclass(frozen=True, slots=True)
class KernelAggregate:
    """A kernel aggregate over all rows of the table."""

    kind: str
    variables: int
    column: str | None
    values: np.ndarray | None
    valid: np.ndarray | None

    def of_rows(self, taken: dict[tuple[str, str], np.ndarray], segments: Segments) -> Aggregate:
        """For the rows of some segments. `taken` holds by name what was taken for others: a column is taken once."""

        def take(part: str, array: np.ndarray | None) -> np.ndarray | None:
            if array is None or self.column is None:
                return None
            if (self.column, part) not in taken:
                taken[self.column, part] = segments.take(array)
            return taken[self.column, part]

        return Aggregate(self.kind, self.variables, take("values", self.values), take("valid", self.valid))


#: Where the numbers of an aggregate come from: trends are counted anyway, events are counted, values are merged.
Reading: TypeAlias = Merging | Literal["trends", "count"]


@dataclass(frozen=True, slots=True)
class Centre:
    """What was taken away from the values of a variance, so that squares of them stay small."""

    value: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """What to ask kernels for, and how to read the answer: per aggregate of the plan the kind and places of its
    numbers."""

    aggregates: list[KernelAggregate]
    readers: list[tuple[Reading, tuple[int, ...]]]
    centres: dict[int, Centre] = field(default_factory=dict)

    def of_rows(self, segments: Segments) -> list[Aggregate]:
        taken: dict[tuple[str, str], np.ndarray] = {}
        return [aggregate.of_rows(taken, segments) for aggregate in self.aggregates]

    def components(self, results: Results) -> list[Component]:
        """One component per aggregate of the plan; COUNT(*) has none of its own."""
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
                check_range(values, self.aggregates[places[0]].values)
                weight = results.aggregates[places[1]]
                known = np.asarray(weight != 0, np.bool_)
                components.append(Component(kind, values, known, weight))
        return components

    def _find_variance(self, results: Results, places: tuple[int, ...]) -> Component:
        """From sums (or, of floats, averages) of the distances from the centre, and of their squares."""
        centre = self.centres[places[0]]
        distances, squares, weight = (results.aggregates[place] for place in places)
        known = np.asarray(weight != 0, np.bool_)
        if not centre.exact:
            mean, variance = distances, squares - distances**2
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


def check_range(sums: np.ndarray, values: np.ndarray | None) -> None:
    """Infinity is the sum of infinities; of finite numbers it would be wrong. With NaN the sum is NaN."""
    beyond = np.flatnonzero(np.isinf(sums)) if sums.dtype == np.float64 else np.empty(0, np.int64)
    if beyond.size and values is not None and not np.isinf(values).any():
        raise SumTooLargeError(int(beyond[0]))


def _variance(distances: int, squares: int, count: int) -> float:
    return (count * squares - distances * distances) / (count * count)


def _centre(values: np.ndarray, valid: np.ndarray | None) -> tuple[Centre, np.ndarray]:
    """A value in the middle of all, and the distances from it: whole numbers where their squares fit, else floats."""
    known = values if valid is None else values[valid]
    known = known[np.isfinite(known)] if known.dtype == np.float64 else known
    middle = np.partition(known, known.size // 2)[known.size // 2] if known.size else values.dtype.type(0)
    if values.dtype != np.float64:
        spread = max(abs(int(known.max()) - int(middle)), abs(int(middle) - int(known.min()))) if known.size else 0
        if spread <= _FARTHEST:
            # Of NULLs anything may come out, and is not looked at.
            return Centre(float(middle), True), np.where(True if valid is None else valid, values - middle, 0)
    return Centre(float(middle), False), values.astype(np.float64) - float(middle)


def measure_values(plan: Plan, preparation: Preparation, table: pa.Table) -> Measured:
    """What the aggregates of a plan ask of kernels.

    Args:
        plan: The plan.
        preparation: Names the column of each aggregate.
        table: Prepared rows.

    Returns:
        The questions, and how answers are read.
    """
    bits = {variable.name: 1 << index for index, variable in enumerate(plan.variables)}
    aggregates: list[KernelAggregate] = []
    readers: list[tuple[Reading, tuple[int, ...]]] = []
    numbers: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
    centres: dict[int, Centre] = {}

    def ask(kind: str, variable: str, name: str | None, values: np.ndarray | None, valid: np.ndarray | None) -> int:
        aggregates.append(KernelAggregate(kind, bits[variable], name, values, valid))
        return len(aggregates) - 1

    for column, name in zip(plan.aggregates, preparation.values, strict=True):
        if column.variable is None:
            readers.append(("trends", ()))
            continue
        if name is None:
            readers.append(("count", (ask(Measure.COUNT, column.variable, None, None, None),)))
            continue
        if column.distinct:
            readers.append(("distinct", ()))
            continue
        if name not in numbers:
            numbers[name] = as_numbers(table.column(name), column)
        values, valid = numbers[name]
        if column.function in ("MIN", "MAX"):
            extreme: Merging = "min" if column.function == "MIN" else "max"
            readers.append((extreme, (ask(extreme, column.variable, name, values, valid),)))
            continue
        if column.function in ("STDDEV", "VARIANCE"):
            centre, distances = _centre(values, valid)
            adding = "sum" if centre.exact else "avg"
            first = ask(adding, column.variable, f"{name} distance", distances, valid)
            with np.errstate(over="ignore"):
                squares = distances * distances
            second = ask(adding, column.variable, f"{name} square", squares, valid)
            third = ask(Measure.COUNT, column.variable, name, None, valid)
            readers.append(("variance", (first, second, third)))
            centres[first] = centre
            continue
        # Averages of whole numbers are divided once, from exact sums; averages of floats are scaled inside the kernel.
        kind: Merging = "avg" if column.function == "AVG" and values.dtype == np.float64 else "sum"
        place = ask(kind, column.variable, name, values, valid)
        readers.append((kind, (place, ask(Measure.COUNT, column.variable, name, None, valid))))
    return Measured(aggregates, readers, centres)
