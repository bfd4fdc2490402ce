"""One table for the rows of several queries: the name of the query first, then every column that some query has.

A query that lacks a column has NULL in it. Lists of events are united field by field, so that queries that show other
attributes of their events stand in one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.outputs import EVENT_FIELDS, MATCH_COLUMN, TREND_COLUMNS, row_fields, window_names
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.results.types import ResultColumn, shown_attributes

#: The column that tells whose a row is.
QUERY = "query"


@dataclass(frozen=True, slots=True)
class Shown:
    """A column by its name; of a list of events, also the names of their fields."""

    name: str
    fields: tuple[str, ...] = ()


def shown_columns(plan: QueryPlan, time: str, type_: str | None) -> tuple[Shown, ...]:
    """The columns of a query's result by name, which are known without the types of the events' columns.

    Args:
        plan: The plan of the query.
        time: The name of the time column.
        type_: The name of the type column; None where all events are of one type.
    """
    if isinstance(plan, SituatedPlan):
        plan = plan.trend
    if isinstance(plan, IntervalPlan):
        outputs = tuple(output.name for output in plan.outputs)
        if plan.returns == "situations":
            names = (*plan.key_names, "name", "start", "end")
        elif plan.returns == "counts":
            names = ("window_start", "window_end", *outputs)
        else:
            names = ("time", *(f"{name}_{end}" for name in plan.names for end in ("start", "end")), *outputs)
        return tuple(map(Shown, names))
    before = (*window_names(plan.window), *(group.name for group in plan.groups))
    if plan.returns in ("aggregates", "each"):
        return tuple(map(Shown, (*before, *plan.shown_values)))
    attributes = tuple(shown.name for _, shown in shown_attributes(plan, time, type_))
    if plan.returns == "rows":
        return tuple(map(Shown, (*before, MATCH_COLUMN, *row_fields(plan.window), *attributes)))
    length, listed = TREND_COLUMNS
    return (*map(Shown, before), Shown(length), Shown(listed, (*EVENT_FIELDS, *attributes)))


#: What a column holds of the rule that a row is of, by names of queries; NULL where a rule has none.
Notes: TypeAlias = Mapping[str, Mapping[str, str | None]]


def unite_columns(
    members: Iterable[tuple[str, Sequence[ResultColumn]]], notes: Iterable[str] = ()
) -> tuple[ResultColumn, ...]:
    """The columns of the table that holds the rows of all queries.

    Args:
        members: Names of queries, and the columns of their results.
        notes: Columns of what rules have besides their queries.

    Returns:
        `query`, then notes, then all columns in the order in which they first appear.

    Raises:
        DataError: A column has two types, or is called `query` or as a note; all that is wrong together.
    """
    own = {QUERY: "names the queries of a workload"} | {name: f"has the {name} of each rule" for name in notes}
    union: dict[str, ResultColumn] = {}
    owners: dict[tuple[str, ...], str] = {}
    problems: list[Problem] = []
    for name, columns in members:
        for column in columns:
            if column.name in own:
                message = f"a column is called {column.name}, as the one that {own[column.name]}"
                problems.append(Problem("TW315", message, "rename it with AS", query=name))
                continue
            owners.setdefault((column.name,), name)
            known = union.get(column.name, column)
            union[column.name] = _unite(known, column, (column.name,), name, owners, problems)
    if problems:
        raise DataError(problems)
    return (*(ResultColumn(name, pa.string()) for name in own), *union.values())


def _unite(
    known: ResultColumn,
    column: ResultColumn,
    path: tuple[str, ...],
    name: str,
    owners: dict[tuple[str, ...], str],
    problems: list[Problem],
) -> ResultColumn:
    if known.fields and column.fields:
        fields = {field.name: field for field in known.fields}
        for field in column.fields:
            inner = (*path, field.name)
            owners.setdefault(inner, owners[path] if field.name in fields else name)
            fields[field.name] = _unite(fields.get(field.name, field), field, inner, name, owners, problems)
        united = tuple(fields.values())
        return ResultColumn(known.name, pa.list_(pa.struct([field.field for field in united])), None, united)
    if known.type != column.type:
        what = f"column {path[0]}" if len(path) == 1 else f"{path[-1]} in the events of column {path[0]}"
        message = f"{what} is {_written(column)} here and {_written(known)} in query {owners[path]}"
        hint = f"rename one of them with AS, such as AS {path[0]}_2" if len(path) == 1 else "show it in one of them"
        problems.append(Problem("TW314", message, hint, query=name))
    return known


def _written(column: ResultColumn) -> str:
    return "a list of events" if column.fields else str(column.type)


# Rows


def widen(
    batch: pa.RecordBatch, names: pa.Array, columns: Sequence[ResultColumn], notes: Notes = MappingProxyType({})
) -> pa.RecordBatch:
    """Rows of some queries as rows of all.

    Args:
        batch: Rows as the queries alone give them.
        names: The name of each row's query.
        columns: What `unite_columns` gave.
        notes: What rules have besides their queries.
    """
    arrays = [names]
    own = set(batch.schema.names)
    for column in columns[1:]:
        if column.name in notes:
            known = notes[column.name]
            places = pc.index_in(names, pa.array(known, pa.string()))
            arrays.append(pa.array(known.values(), pa.string()).take(places))
            continue
        if column.name not in own:
            arrays.append(pa.nulls(batch.num_rows, column.type))
            continue
        array = batch.column(column.name)
        if column.fields and array.type != column.type:
            array = _with_fields(array, [field.field for field in column.fields])
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([column.field for column in columns]))


def narrow(table: pa.Table, name: str, columns: Sequence[Shown]) -> pa.Table:
    """Rows and columns of one query, as the query alone gives them.

    Args:
        table: Rows of all queries.
        name: The name of the query.
        columns: What `shown_columns` gave.
    """
    table = table.filter(pc.equal(table.column(QUERY), name))
    arrays, fields = [], []
    for column in columns:
        array, field = table.column(column.name), table.schema.field(column.name)
        given = [inner.name for inner in field.type.value_type] if column.fields else []
        if given != list(column.fields):
            inner = [field.type.value_type.field(part) for part in column.fields]
            kind = pa.list_(pa.struct(inner))
            array = pa.chunked_array([_with_fields(chunk, inner) for chunk in array.chunks], kind)
            field = field.with_type(kind)
        arrays.append(array)
        fields.append(field)
    return pa.table(arrays, schema=pa.schema(fields, table.schema.metadata))


def in_order(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Rows of all queries by query, in the order of their names; those of one query stay in their order.

    Args:
        table: Rows of all queries.
        names: All names of queries.
    """
    places = pc.index_in(table.column(QUERY), pa.array(names, pa.string())).to_numpy()
    if (places[1:] >= places[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(places, kind="stable")))


def _with_fields(lists: pa.Array, fields: Sequence[pa.Field]) -> pa.Array:
    """Lists of structs with exactly these fields; those that they lack are NULL."""
    values = lists.flatten()
    given = {field.name for field in values.type}
    # Fields of a slice by their places, as the array of a struct knows which part of them is its own.
    parts = [
        pc.struct_field(values, field.name) if field.name in given else pa.nulls(len(values), field.type)
        for field in fields
    ]
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.asarray(lengths), out=offsets[1:])
    structs = pa.StructArray.from_arrays(parts, fields=list(fields))
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), structs, mask=mask)
