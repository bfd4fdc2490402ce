"""The columns of a windowed aggregation's result: keys, the window, the time of the row, and what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.arrow.evaluate import evaluate_exactly
from trendweave.language import syntax_tree as st
from trendweave.planning.operator_plans import AggregatePlan, output_name
from trendweave.planning.outputs import map_leaves
from trendweave.planning.plan import Path
from trendweave.results.types import Numbers, ResultColumn, column_type, single_aggregate_type

START, END = "window_start", "window_end"


@dataclass(frozen=True, slots=True)
class Asked:
    """An aggregate that is computed.

    Attributes:
        function: COUNT, SUM, AVG, MIN or MAX.
        path: What it is of; None for COUNT(*).
        result: The type of the result.
    """

    function: str
    path: Path | None
    result: pa.DataType


def aggregate_of(expression: st.Expression) -> int | None:
    """The number of the aggregate that an output is, if it is no more than that."""
    return int(expression.names[0]) if isinstance(expression, st.Attribute) else None


@dataclass(frozen=True, slots=True)
class Outputs:
    """All aggregates, each once, and the outputs that they make.

    Attributes:
        asked: The aggregates.
        shown: The names of outputs, and their expressions over aggregates, which are named by their numbers.
    """

    asked: tuple[Asked, ...]
    shown: tuple[tuple[str, st.Expression], ...]

    def columns(self, events: pa.Schema) -> list[ResultColumn]:
        """The outputs as columns of the result."""
        return [self._column(*one) for one in self.shown]

    def _column(self, name: str, expression: st.Expression) -> ResultColumn:
        number = aggregate_of(expression)
        if number is not None:
            asked = self.asked[number]
            calculated = asked.path is not None and isinstance(asked.path[0], st.CalculatedName)
            source = asked.path if asked.function in ("MIN", "MAX") and not calculated else None
            return ResultColumn(name, asked.result, source)
        schema = pa.schema([(str(number), asked.result) for number, asked in enumerate(self.asked)])
        kind = evaluate_exactly(expression, schema.empty_table()).type
        narrow = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
        return ResultColumn(name, narrow.get(kind, kind))

    def show(self, values: Sequence[pa.Array], columns: Sequence[ResultColumn]) -> list[pa.Array]:
        """The outputs of computed aggregates."""
        computed = pa.table(list(values), names=[str(number) for number in range(len(values))])
        return [
            values[number]
            if (number := aggregate_of(expression)) is not None
            else evaluate_exactly(expression, computed).cast(column.type)
            for (_, expression), column in zip(self.shown, columns, strict=True)
        ]


def read_outputs(plan: AggregatePlan, events: pa.Schema, numbers: Numbers) -> Outputs:
    """What a plan asks for, in types.

    Args:
        plan: Fits the columns.
        events: The columns of the events.
        numbers: How sums of whole numbers are written.

    Raises:
        ExecutionError: Numbers are asked for in a way that sums have not.
    """
    if numbers == "log2":
        message = 'numbers="log2" is for counts of trends, and sums of windows may be negative'
        raise ExecutionError([Problem("TW408", message, 'ask for numbers="decimal" or "float64"')])
    asked: dict[tuple[str, Path | None], int] = {}
    kinds: list[Asked] = []

    def name(node: st.Expression) -> st.Expression:
        if not isinstance(node, st.Aggregate):
            return node
        path = None if node.argument is None else node.argument.names
        place = asked.setdefault((node.function, path), len(asked))
        if place == len(kinds):
            kind = None if path is None else column_type(events, path)
            kinds.append(Asked(node.function, path, single_aggregate_type(node.function, kind, numbers)))
        return st.Attribute((str(place),))

    shown = [(output_name(one), st.without_places(map_leaves(one.value, name))) for one in plan.outputs]
    return Outputs(tuple(kinds), tuple(shown))


def result_columns(plan: AggregatePlan, outputs: Outputs, events: pa.Schema, time: str) -> tuple[ResultColumn, ...]:
    """All columns of the result, in order."""
    keys = [ResultColumn(key, column_type(events, (key,)), (key,)) for key in plan.keys]
    times = [ResultColumn(name, column_type(events, (time,)), (time,)) for name in (START, END, time)]
    return (*keys, *times, *outputs.columns(events))
