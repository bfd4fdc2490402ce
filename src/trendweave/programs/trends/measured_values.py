"""The attributes that are aggregated: from Arrow columns to kernel aggregates, and from kernel results to
components."""

from __future__ import annotations

from dataclasses import dataclass
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
class Measured:
    """What to ask kernels for, and how to read the answer: per aggregate of the plan the kind and places of its
    numbers."""

    aggregates: list[KernelAggregate]
    readers: list[tuple[Reading, tuple[int, ...]]]

    def of_rows(self, segments: Segments) -> list[Aggregate]:
        taken: dict[tuple[str, str], np.ndarray] = {}
        return [aggregate.of_rows(taken, segments) for aggregate in self.aggregates]

    def components(self, results: Results) -> list[Component]:
        """One component per aggregate of the plan; COUNT(*) has none of its own."""
        components = []
        for kind, places in self.readers:
            if kind == "trends":
                components.append(Component("sum", results.count))
                continue
            values = results.aggregates[places[0]]
            if kind == "count":
                components.append(Component("sum", values))
            elif kind == "min" or kind == "max":
                components.append(Component(kind, values, results.valid[places[0]]))
            else:
                self._check_range(places[0], values)
                weight = results.aggregates[places[1]]
                known = np.asarray(weight != 0, np.bool_)
                components.append(Component(kind, values, known, weight))
        return components

    def _check_range(self, place: int, sums: np.ndarray) -> None:
        """Infinity is the sum of infinities; of finite numbers it would be wrong."""
        beyond = np.flatnonzero(np.isinf(sums)) if sums.dtype == np.float64 else np.empty(0, np.int64)
        values = self.aggregates[place].values
        if beyond.size and values is not None and np.isfinite(values).all():
            raise SumTooLargeError(int(beyond[0]))


NOTHING = Measured([], [])


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
        if name not in numbers:
            numbers[name] = as_numbers(table.column(name), column)
        values, valid = numbers[name]
        if column.function in ("MIN", "MAX"):
            extreme: Merging = "min" if column.function == "MIN" else "max"
            readers.append((extreme, (ask(extreme, column.variable, name, values, valid),)))
            continue
        # Averages of whole numbers are divided once, from exact sums; averages of floats are scaled inside the kernel.
        kind: Merging = "avg" if column.function == "AVG" and values.dtype == np.float64 else "sum"
        place = ask(kind, column.variable, name, values, valid)
        readers.append((kind, (place, ask(Measure.COUNT, column.variable, name, None, valid))))
    return Measured(aggregates, readers)
