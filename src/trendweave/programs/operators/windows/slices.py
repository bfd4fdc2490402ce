"""Slices of time, which windows are made of, and the columns of a windowed aggregation's result.

Slices of one key become a row each, whatever number of events they have: how many there are, and of each column how
many values it has, their sum, the smallest and the largest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.arrow.evaluate import evaluate_exactly
from trendweave.language import syntax_tree as st
from trendweave.planning.operator_plans import AggregatePlan, output_name
from trendweave.planning.outputs import map_leaves
from trendweave.planning.plan import Path
from trendweave.programs.operators.measured import Measured, measure
from trendweave.programs.operators.ordering import OrderedRows
from trendweave.programs.operators.partials import Partials, choose, from_table, merge, summarise, to_table
from trendweave.programs.operators.windows.edges import StepSpan
from trendweave.results.types import Numbers, ResultColumn, column_type, single_aggregate_type
from trendweave.rows.codes import first_of_each, key_codes

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


#: The column with the beginning of a slice, in steps, and that with how many events it has.
BEGIN, COUNT = "number", "count"


@dataclass(frozen=True)
class Slices:
    """Slices of some keys.

    Attributes:
        keys: The columns of the keys, a row per slice.
        parts: What is known of each slice; its number is the step at which it begins.
    """

    keys: pa.Table
    parts: Partials

    def choose(self, chosen: np.ndarray) -> Slices:
        """Some of them."""
        places = np.flatnonzero(chosen)
        return Slices(self.keys.take(pa.array(places)), choose(self.parts, places))

    def in_order(self) -> OrderedRows:
        """As rows in order of keys and time, each at its beginning; `parts` must have been merged."""
        group = self.parts.group
        assert group is not None
        starts = (
            np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1], [True])))
            if group.size
            else np.zeros(1, np.int64)
        )
        names = tuple(name for name in self.keys.column_names if name != COUNT)
        return OrderedRows(self.keys, None, starts, self.parts.number, starts[:-1], names)

    # As a table

    def write(self) -> pa.Table:
        """A table that is carried on."""
        table = to_table(self.parts)
        for name in self.keys.column_names:
            table = table if name == COUNT else table.append_column(name, self.keys.column(name))
        return table

    @staticmethod
    def read(table: pa.Table, keys: tuple[str, ...]) -> Slices:
        """What `write` wrote."""
        return Slices(table.select([*keys, COUNT]), from_table(table))


def begin_of(moment: np.ndarray, window: StepSpan) -> np.ndarray:
    """The step at which the slice of each moment begins: a window begins there, or another one ends."""
    window_begin = np.floor_divide(moment, window.slide) * window.slide
    rest = window.length % window.slide
    return window_begin + np.where(moment - window_begin >= rest, rest, 0) if rest else window_begin


def fold_rows(rows: OrderedRows, columns: Sequence[tuple[str, pa.DataType]], window: StepSpan) -> Slices:
    """Rows in order as slices.

    Args:
        rows: By key and time.
        columns: The columns that something is asked of, and their types; of others only values are counted.
        window: The windows.
    """
    begin = begin_of(rows.moment, window)
    changes = np.ones(begin.size + 1, np.bool_)
    np.not_equal(begin[1:], begin[:-1], out=changes[1:-1])
    changes[rows.starts] = True
    starts = np.flatnonzero(changes) if begin.size else np.zeros(1, np.int64)
    measured = [_measure(rows, name, kind) for name, kind in columns]
    parts = summarise(rows.moment, measured, starts, begin[starts[:-1]])
    key = np.searchsorted(rows.starts, starts[:-1], side="right") - 1
    named = {name: rows.of_keys(name, key) for name in rows.keys}
    return Slices(pa.table({**named, COUNT: pa.array(parts.count)}), parts)


def _measure(rows: OrderedRows, name: str, kind: pa.DataType) -> Measured:
    column = rows.table.column(name)
    if pa.types.is_null(kind):
        found = Measured(np.zeros(len(column), np.int64), np.asarray(pc.is_valid(column)))
    else:
        measured = measure(column)
        assert measured is not None, "only columns of values that fit 64 bits are folded"
        found = measured
    return found if rows.order is None else found.take(rows.order)


def merge_slices(several: Sequence[Slices], columns: int) -> Slices:
    """Slices of one key and beginning as one, in order of keys and time."""
    keys = pa.concat_tables([one.keys for one in several])
    names = [name for name in keys.column_names if name != COUNT]
    codes = key_codes([keys.column(name) for name in names], keys.num_rows)
    edges = np.cumsum([one.keys.num_rows for one in several])[:-1]
    grouped = [replace(one.parts, group=own) for one, own in zip(several, np.split(codes, edges), strict=True)]
    merged = merge(grouped, columns)
    group = merged.group if merged.group is not None else np.empty(0, np.int64)
    return Slices(keys.take(pa.array(first_of_each(codes)[group])), replace(merged, group=group))
