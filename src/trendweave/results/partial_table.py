"""Aggregates of a task as an Arrow table, and back: what travels between tasks when a group spans several of them.

Whole numbers travel as 64-bit integers; those that do not fit, as hexadecimal text beside a NULL: unlike decimal text
it is written and read in a time that grows as the number does.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.values import join_chunks
from trendweave.planning.plan import AggregateColumn, Plan
from trendweave.results.partials import Component, Merging, Partials, TaskResult
from trendweave.results.types import Numbers, column_type
from trendweave.rows.codes import distinct_codes

WINDOW = "window"
_SPREADS = ("STDDEV", "VARIANCE")
_MERGING: dict[str, Merging] = {"MIN": "min", "MAX": "max"}


def group_names(plan: Plan) -> list[str]:
    """Name the columns of the grouping attributes.

    Args:
        plan: The plan of the query.

    Returns:
        A name per attribute.
    """
    return [f"group_{index}" for index in range(len(plan.groups))]


def partial_schema(plan: Plan, events: pa.Schema, numbers: Numbers) -> pa.Schema:
    """Settle the columns in which aggregates travel.

    Args:
        plan: The plan of the query.
        events: The columns of the events.
        numbers: How whole numbers are written.

    Returns:
        The columns.
    """
    fields = [pa.field(WINDOW, pa.int64())]
    for name, group in zip(group_names(plan), plan.groups, strict=True):
        fields.append(pa.field(name, column_type(events, group.path)))
    for index, column in enumerate((None, *plan.aggregates)):
        if column is not None and column.distinct:
            assert column.path is not None, "values are counted"
            fields.append(pa.field(f"value_{index}", pa.list_(column_type(events, column.path))))
            continue
        is_float = _is_float(column, events, numbers)
        fields += _number_fields(f"value_{index}", is_float)
        if column is not None and column.function != "COUNT":
            fields.append(pa.field(f"known_{index}", pa.bool_()))
            if column.function in ("SUM", "AVG", *_SPREADS):
                fields += _number_fields(f"weight_{index}", numbers == "float64")
            if column.function in _SPREADS:
                fields.append(pa.field(f"mean_{index}", pa.float64()))
    return pa.schema(fields)


def _is_float(column: AggregateColumn | None, events: pa.Schema, numbers: Numbers) -> bool:
    """Does a kernel give floats for this aggregate? MIN and MAX are what the column is."""
    if column is None or column.path is None:
        return numbers == "float64"
    if column.function in _SPREADS:
        return True
    return _is_of_floats(column, events) or (numbers == "float64" and column.function not in ("MIN", "MAX"))


def _is_of_floats(column: AggregateColumn, events: pa.Schema) -> bool:
    return column.path is not None and bool(pa.types.is_floating(column_type(events, column.path)))


def _number_fields(name: str, is_float: bool) -> list[pa.Field]:
    if is_float:
        return [pa.field(name, pa.float64())]
    return [pa.field(name, pa.int64()), pa.field(f"{name}_text", pa.string())]


def to_table(result: TaskResult, schema: pa.Schema) -> pa.Table:
    """Write aggregates for another task.

    Args:
        result: Aggregates per window and group.
        schema: As `partial_schema` settles it.

    Returns:
        A row per window and group.
    """
    columns: dict[str, pa.Array] = {WINDOW: pa.array(result.partials.window, pa.int64())}
    columns |= {f"group_{index}": group for index, group in enumerate(result.groups)}
    for index, component in enumerate(result.partials.components):
        if component.kind == "distinct":
            columns[f"value_{index}"] = _write_sets(component)
            continue
        columns |= _number_columns(f"value_{index}", component.values, schema)
        if component.known is not None:
            columns[f"known_{index}"] = pa.array(component.known)
            if component.weight is not None:
                columns |= _number_columns(f"weight_{index}", component.weight, schema)
            if component.mean is not None:
                columns[f"mean_{index}"] = pa.array(component.mean)
        elif f"known_{index}" in schema.names:
            columns[f"known_{index}"] = pa.array(np.ones(component.values.size, np.bool_))
    return pa.table([columns[field.name].cast(field.type) for field in schema], schema=schema)


def _write_sets(component: Component) -> pa.Array:
    """Distinct values themselves, as codes of one task say nothing to another."""
    sets = [np.asarray(codes, np.int64) for codes in component.values]
    starts = np.concatenate([[0], np.cumsum([codes.size for codes in sets])]).astype(np.int32)
    codes = np.concatenate(sets) if sets else np.empty(0, np.int64)
    return pa.ListArray.from_arrays(pa.array(starts), pc.take(component.dictionary, pa.array(codes, pa.int64())))


def _read_sets(column: pa.ChunkedArray) -> Component:
    lists = join_chunks(column)
    found = distinct_codes(lists.flatten())
    starts = np.concatenate([[0], np.cumsum(np.asarray(pc.list_value_length(lists)))])
    sets = np.empty(len(lists), object)
    for row in range(len(lists)):
        sets[row] = np.unique(found.codes[starts[row] : starts[row + 1]])
    return Component("distinct", sets, dictionary=found.dictionary)


def _number_columns(name: str, values: np.ndarray, schema: pa.Schema) -> dict[str, pa.Array]:
    if f"{name}_text" not in schema.names:
        return {name: pa.array(values.astype(np.float64))}
    if values.dtype != object:
        return {name: pa.array(values, pa.int64()), f"{name}_text": pa.nulls(values.size, pa.string())}
    small = np.array([-(2**63) <= value < 2**63 for value in values], np.bool_)
    fitting = pa.array(np.where(small, values, 0).astype(np.int64), mask=~small)
    texts = [None if fits else f"{value:x}" for value, fits in zip(values.tolist(), small.tolist(), strict=True)]
    return {name: fitting, f"{name}_text": pa.array(texts, pa.string())}


def from_table(table: pa.Table, plan: Plan, events: pa.Schema) -> tuple[Partials, list[pa.Array]]:
    """Read aggregates of other tasks.

    Args:
        table: Tables of `to_table`, one after the other.
        plan: The plan of the query.
        events: The columns of the events.

    Returns:
        Entries whose group is their own number among the rows, and the grouping attributes of the rows.
    """
    components = []
    for index, column in enumerate((None, *plan.aggregates)):
        if column is not None and column.distinct:
            components.append(_read_sets(table.column(f"value_{index}")))
            continue
        values = _numbers(table, f"value_{index}")
        known = f"known_{index}"
        kind: Merging = _MERGING.get(column.function if column is not None else "", "sum")
        if column is not None and column.function == "AVG" and _is_of_floats(column, events):
            # Averages of whole numbers travel as sums, also where those are floats.
            kind = "avg"
        if column is not None and column.function in _SPREADS:
            kind = "variance"
        components.append(
            Component(
                kind,
                values,
                np.asarray(table.column(known)) if known in table.column_names else None,
                _numbers(table, f"weight_{index}") if f"weight_{index}" in table.column_names else None,
                table.column(f"mean_{index}").to_numpy() if kind == "variance" else None,
            )
        )
    rows = np.arange(table.num_rows)
    groups = [table.column(name).combine_chunks() for name in group_names(plan)]
    return Partials(table.column(WINDOW).to_numpy(), rows, tuple(components)), groups


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    column = table.column(name)
    if f"{name}_text" not in table.column_names or not column.null_count:
        return column.to_numpy()
    values = pc.fill_null(column, 0).to_numpy().astype(object)
    texts = table.column(f"{name}_text")
    written = np.asarray(texts.is_valid())
    values[written] = [int(text, 16) for text in texts.drop_null().to_pylist()]
    return values
