"""The columns of results and their types, settled before anything runs.

One description serves every place: here it becomes an Arrow schema, in `runners.spark.prepare` one of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.arrow.evaluate import evaluate, evaluate_exactly
from trendweave.language.syntax_tree import Attribute, CalculatedName
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.interval_plan import OutputColumn as IntervalOutput
from trendweave.planning.outputs import EVENT_FIELDS, LENGTH, MATCH_COLUMN, TREND_COLUMNS, row_fields, window_names
from trendweave.planning.plan import AggregateColumn, OutputColumn, Path, Plan, ShownAttribute
from trendweave.rows.times import time_type

#: How whole numbers are written, which no type can always hold.
Numbers: TypeAlias = Literal["decimal", "int64", "text", "float64", "log2"]
NUMBERS: tuple[Numbers, ...] = ("decimal", "int64", "text", "float64", "log2")
#: Aggregates that list values of a column, and those that have its type, alone or in a list.
_LISTS = ("COLLECT_LIST", "COLLECT_SET")
_OF_COLUMN = ("MIN", "MAX", "FIRST", "LAST", "NTH", *_LISTS)
#: Digits of the widest decimal that Arrow and Spark share.
DIGITS = 38
#: Expressions give texts in wide types, results have narrow ones.
_NARROW = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result.

    Attributes:
        name: Its name.
        type: Its Arrow type.
        source: The column of the events whose type it has, or of whose values it has lists (`is_list`); None where the
            type is our own.
        fields: Of a list of events, the columns of each event.
    """

    name: str
    type: pa.DataType
    source: Path | None = None
    fields: tuple[ResultColumn, ...] = ()
    is_list: bool = False

    @property
    def field(self) -> pa.Field:
        """The same as Arrow writes it."""
        return pa.field(self.name, self.type)


def column_type(schema: pa.Schema, path: Path) -> pa.DataType:
    """Find the type of a column.

    Args:
        schema: The columns of the events.
        path: The name of the column, behind those of the structs that it lies in; or what is calculated of columns.

    Returns:
        Its type; that of what it holds where it is a dictionary.
    """
    if isinstance(path[0], CalculatedName):
        # What a calculation gives is known from one over no rows.
        kind = evaluate(path[0].expression, schema.empty_table()).type
        return pa.float64() if pa.types.is_null(kind) else _NARROW.get(kind, kind)
    found = schema.field(path[0]).type
    for name in path[1:]:
        found = found.field(name).type
    return found.value_type if pa.types.is_dictionary(found) else found


def aggregate_type(function: str, column: pa.DataType | None, numbers: Numbers) -> pa.DataType:
    """Settle the type of an aggregate, of whatever it is one.

    Args:
        function: COUNT, SUM, AVG, MIN, MAX, FIRST, LAST or another of one trend.
        column: The type of the column that is aggregated; None where events are counted.
        numbers: How whole numbers are written.

    Returns:
        The type of the result.
    """
    if function in ("AVG", "STDDEV", "VARIANCE", "PERCENTILE"):
        return pa.float64()
    if function in _OF_COLUMN:
        assert column is not None, "only COUNT has no column"
        return pa.list_(column) if function in _LISTS else column
    if function == "COUNT":
        column = None  # how many there are does not depend on what is counted
    if numbers in ("float64", "log2") or (column is not None and pa.types.is_floating(column)):
        # A sum of floats is one, however whole numbers are written.
        return pa.float64()
    if numbers == "text":
        return pa.string()
    if column is not None and pa.types.is_decimal(column):
        return pa.decimal128(DIGITS, column.scale)
    return pa.int64() if numbers == "int64" else pa.decimal128(DIGITS, 0)


def single_aggregate_type(function: str, column: pa.DataType | None, numbers: Numbers) -> pa.DataType:
    """Settle the type of an aggregate of one trend or one situation, whose events 64 bits can always count.

    Args:
        function: As for `aggregate_type`.
        column: As for `aggregate_type`.
        numbers: As for `aggregate_type`.

    Returns:
        The type of the result.
    """
    return aggregate_type(function, column, "int64" if function in ("COUNT", LENGTH) else numbers)


# Trends


def trend_columns(
    plan: Plan, events: pa.Schema, time: str, type_: str | None, numbers: Numbers
) -> tuple[ResultColumn, ...]:
    """Describe the result of a trend query, whether it has a row per window and group or one per trend.

    Args:
        plan: The plan of the query.
        events: The columns of the events.
        time: The name of the time column.
        type_: The name of the type column; None where all events are of one type.
        numbers: How whole numbers are written.

    Returns:
        The columns in order: the window, the group, and what is told of them.

    Raises:
        ExecutionError: Something is computed of numbers that are not written as numbers.
    """
    base = base_columns(plan, events, time, type_, numbers)
    if plan.outputs is None:
        return base
    check_numbers(plan, base, numbers)
    before = base[: len(base) - len(plan.aggregates)]
    return (*before, *(_computed(output, base) for output in plan.outputs))


def base_columns(
    plan: Plan, events: pa.Schema, time: str, type_: str | None, numbers: Numbers
) -> tuple[ResultColumn, ...]:
    """Describe what the outputs of a query are computed of; that is the result where nothing is.

    Args:
        plan: As for `trend_columns`.
        events: As for `trend_columns`.
        time: As for `trend_columns`.
        type_: As for `trend_columns`.
        numbers: As for `trend_columns`.

    Returns:
        The columns in order: the window, the group, and all aggregates.
    """
    columns = [_shown(name, (time,), events) for name in window_names(plan.window)]
    columns += [_shown(group.name, group.path, events) for group in plan.groups]
    if plan.returns in ("aggregates", "each"):
        find_type = aggregate_type if plan.returns == "aggregates" else single_aggregate_type
        for aggregate in plan.aggregates:
            kind = None if aggregate.path is None else column_type(events, aggregate.path)
            own = find_type(aggregate.function, pa.int64() if aggregate.is_length else kind, numbers)
            columns.append(
                ResultColumn(aggregate.name, own, _source_of(aggregate), is_list=aggregate.function in _LISTS)
            )
        return tuple(columns)
    length, listed = TREND_COLUMNS
    variable, moment, name = row_fields(plan.window) if plan.returns == "rows" else EVENT_FIELDS
    fields = [ResultColumn(variable, pa.string()), _shown(moment, (time,), events), ResultColumn(name, pa.string())]
    fields += [_shown(shown.name, shown.path, events) for _, shown in shown_attributes(plan, time, type_)]
    if plan.returns == "rows":
        return (*columns, ResultColumn(MATCH_COLUMN, pa.int64()), *fields)
    struct = pa.struct([field.field for field in fields])
    columns += [ResultColumn(length, pa.int64()), ResultColumn(listed, pa.list_(struct), None, tuple(fields))]
    return tuple(columns)


def _computed(output: OutputColumn, base: tuple[ResultColumn, ...]) -> ResultColumn:
    """What a computation gives is known from one over no rows."""
    named = {column.name: column for column in base}
    if isinstance(output.value, Attribute):
        return replace(named[output.value.names[0]], name=output.name)
    kind = evaluate_exactly(output.value, result_schema(base).empty_table()).type
    return ResultColumn(output.name, _NARROW.get(kind, kind))


def check_numbers(plan: Plan, base: tuple[ResultColumn, ...], numbers: Numbers) -> None:
    """Refuse to compute with whole numbers that are written as text or as logarithms.

    Args:
        plan: The plan of the query.
        base: Its aggregates, the last columns of these.
        numbers: How whole numbers are written.

    Raises:
        ExecutionError: An output, HAVING or ORDER BY does.
    """
    if numbers not in ("text", "log2"):
        return
    written = {
        column.name
        for column, aggregate in zip(base[len(base) - len(plan.aggregates) :], plan.aggregates, strict=True)
        if column.source is None and (numbers == "text") == pa.types.is_string(column.type)
        if aggregate.function in ("COUNT", "SUM", LENGTH)
    }
    computed = [output.value for output in plan.outputs or () if not isinstance(output.value, Attribute)]
    for value in (*computed, *plan.having, *(order.value for order in plan.order_by)):
        for node in value.walk():
            if isinstance(node, Attribute) and node.names[0] in written:
                message = f'{node.names[0]} is computed with, and numbers="{numbers}" does not allow that'
                raise ExecutionError([Problem("TW408", message, 'ask for numbers="decimal" or "float64"')])


def shown_attributes(plan: Plan, time: str, type_: str | None) -> list[tuple[int, ShownAttribute]]:
    """Find the attributes of an event that are shown besides its time and type.

    Args:
        plan: The plan of the query.
        time: The name of the time column.
        type_: The name of the type column.

    Returns:
        Each with its number in the plan.
    """
    return [(i, shown) for i, shown in enumerate(plan.shown) if shown.path not in ((time,), (type_,))]


def _source_of(aggregate: AggregateColumn) -> Path | None:
    calculated = aggregate.path is not None and isinstance(aggregate.path[0], CalculatedName)
    return aggregate.path if aggregate.function in _OF_COLUMN and not calculated else None


def _shown(name: str, path: Path, events: pa.Schema) -> ResultColumn:
    """A column of the events, as the result shows it."""
    return ResultColumn(name, column_type(events, path), path)


# Intervals


def interval_columns(plan: IntervalPlan, events: pa.Schema, moment: pa.DataType) -> tuple[ResultColumn, ...]:
    """Describe the result of an interval query.

    Args:
        plan: The plan of the query.
        events: The columns of the events.
        moment: The type of the times, as `times_type` finds it.

    Returns:
        The columns in order.
    """
    if plan.returns == "situations":
        keys = [
            ResultColumn(name, column_type(events, path))
            for name, path in zip(plan.key_names, plan.partition_by, strict=True)
        ]
        times = [ResultColumn(name, moment) for name in ("start", "end")]
        return (*keys, ResultColumn("name", pa.string()), *times)
    if plan.returns == "counts":
        names = ["window_start", "window_end"]
    else:
        names = ["time", *(f"{name}_{end}" for name in plan.names for end in ("start", "end"))]
    times = [ResultColumn(name, moment) for name in names]
    outputs = [ResultColumn(output.name, _output_type(output, events, moment)) for output in plan.outputs]
    return (*times, *outputs)


def _output_type(output: IntervalOutput, events: pa.Schema, moment: pa.DataType) -> pa.DataType:
    if output.function == "DURATION":
        return length_type(moment)
    column = None if output.path is None else column_type(events, output.path)
    return column if output.function is None else situation_aggregate_type(output.function, column)


def situation_aggregate_type(function: str, column: pa.DataType | None) -> pa.DataType:
    """Settle the type of what is told of a situation: whole numbers are 64-bit integers.

    Args:
        function: As for `aggregate_type`.
        column: As for `aggregate_type`.

    Returns:
        The type of the result.
    """
    return aggregate_type(function, column, "int64")


def times_type(plan: IntervalPlan, events: pa.Schema, time: str) -> pa.DataType:
    """Find the type of all times of an interval query's result: the finer one where starts and ends differ.

    Args:
        plan: The plan of the query.
        events: The columns of the events, or of given intervals.
        time: The name of the time column of events.

    Returns:
        The type.
    """
    if plan.intervals is None:
        return events.field(time).type
    start, end = (events.field(name).type for name in (plan.intervals.start, plan.intervals.end))
    if pa.types.is_null(end):
        return start
    if pa.types.is_floating(end) and not pa.types.is_timestamp(start):
        return end if not pa.types.is_floating(start) or end.bit_width > start.bit_width else start
    return start if time_type(start).step <= time_type(end).step else pa.timestamp(end.unit, start.tz)


def length_type(moment: pa.DataType) -> pa.DataType:
    """Find the type of a difference of two times.

    Args:
        moment: The type of the times.

    Returns:
        A duration, or a number of seconds.
    """
    if pa.types.is_timestamp(moment):
        return pa.duration(moment.unit)
    return pa.float64() if pa.types.is_floating(moment) else pa.int64()


def result_schema(columns: Iterable[ResultColumn]) -> pa.Schema:
    """Write described columns as an Arrow schema.

    Args:
        columns: The columns of a result.

    Returns:
        The schema.
    """
    return pa.schema([column.field for column in columns])
