"""Two inputs as one stream of events that carry their side, and the rows that pairs of them make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.planning.operator_plans import JoinPlan
from trendweave.programs.operators.ordering import OrderedSide
from trendweave.programs.program import TRENDS
from trendweave.results.types import ResultColumn, column_type
from trendweave.rows.encoded import TIME
from trendweave.rows.segments import take_rows

#: The column of merged events that tells their side: 0 is left, 1 is right.
SIDE = "trendweave_side"
#: The column of a user's table that tells it: "left" or "right".
GIVEN_SIDE = "side"
SIDES = ("left", "right")


@dataclass(frozen=True)
class Sides:
    """Where the columns of both sides stand in the events of the one stream.

    Attributes:
        marked_by: The column of events that tells their side; None: every event is on both sides.
        columns: By side: the names of its columns in the order of its schema, and the columns of events.
    """

    marked_by: str | None
    columns: Mapping[str, Mapping[str, str]]


def read_sides(plan: JoinPlan, events: pa.Schema, time: str) -> Sides:
    """Find the columns of both sides.

    Args:
        plan: The join.
        events: Events as `merge_sides` makes them, or of one table with or without a column `side`.
        time: The name of the time column.

    Raises:
        DataError: The column that tells the side is a key, or has the name of ours.
    """
    if SIDE not in events.names:
        marked_by = GIVEN_SIDE if GIVEN_SIDE in events.names else None
        if marked_by in plan.keys:
            message = f"events of both sides have the key {marked_by} in common, which tells their side"
            raise DataError([Problem("TW317", message, "leave it out of the keys, or rename it for a self-join")])
        own = {name: name for name in events.names if name != marked_by}
        return Sides(marked_by, {"left": own, "right": own})
    columns: dict[str, dict[str, str]] = {"left": {}, "right": {}}
    for name in events.names:
        side, _, column = name.partition("_")
        if name in plan.keys:
            columns["left"][name] = name
            if f"right_{name}" not in events.names:
                columns["right"][name] = name
        elif name not in (SIDE, time):
            if side not in columns:
                message = f"a column {SIDE} tells that both sides of a join were put together, and {name} is of none"
                raise DataError([Problem("TW317", message, f"rename {SIDE}")])
            # A time is not kept twice, and a key only tells its place.
            is_time = column == time and events.field(name).type == events.field(time).type
            columns[side][column] = time if is_time else column if column in plan.keys else name
    return Sides(SIDE, columns)


def merged_schema(left: pa.Schema, right: pa.Schema, plan: JoinPlan, time: str) -> pa.Schema:
    """The columns of `merge_sides`: the time, the side, keys once, all others by their side.

    Args:
        left: The columns of the left side.
        right: Those of the right side.
        plan: The join.
        time: The name of the time column.

    Raises:
        DataError: A key or the time has different types.
    """
    fields = [pa.field(time, _common_type(left, right, time)), pa.field(SIDE, pa.int8())]
    for side, name in merge_names(left.names, right.names, plan.keys):
        if side is None:
            fields.append(pa.field(name, _common_type(left, right, name)))
        else:
            kind = pa.null() if name in plan.keys else (left if side == "left" else right).field(name).type
            fields.append(pa.field(f"{side}_{name}", kind))
    return pa.schema(fields)


def merge_sides(left: pa.Table, right: pa.Table, plan: JoinPlan, time: str) -> pa.Table:
    """Two tables as one; columns of the other side are NULL.

    Args:
        left: The events of the left side.
        right: Those of the right side.
        plan: The join.
        time: The name of the time column.

    Raises:
        DataError: A key or the time has different types.
    """
    schema = merged_schema(left.schema, right.schema, plan, time)
    parts = []
    for number, (side, table) in enumerate(zip(SIDES, (left, right), strict=True)):
        columns = []
        for field in schema:
            if field.name == SIDE:
                columns.append(pa.array(np.full(table.num_rows, number, np.int8)))
            elif field.name == time or field.name in plan.keys:
                columns.append(_cast(table.column(field.name), field))
            elif field.name.startswith(f"{side}_") and field.type != pa.null():
                columns.append(table.column(field.name.removeprefix(f"{side}_")))
            else:
                columns.append(pa.nulls(table.num_rows, field.type))
        parts.append(pa.table(columns, schema))
    return pa.concat_tables(parts)


def read_side_codes(column: pa.ChunkedArray) -> np.ndarray:
    """0 for left and 1 for right, of what a column of sides holds.

    Raises:
        DataError: It holds something else.
    """
    if pa.types.is_integer(column.type):
        if not pc.all(pc.is_in(column, pa.array(range(len(SIDES)), column.type))).as_py() and len(column):
            message = f"the column {SIDE} tells the side of an event, 0 or 1, and has something else"
            raise DataError([Problem("TW317", message, f"rename {SIDE}")])
        return column.to_numpy().astype(np.int8)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        found = pc.index_in(column, pa.array(SIDES, column.type))
        if not found.null_count:
            return found.to_numpy().astype(np.int8)
        other = column.filter(pc.is_null(found))[0].as_py()
    else:
        other = f"of type {column.type}"
    message = f"the column side tells the side of an event, and {other!r} is none"
    raise DataError([Problem("TW317", message, "write 'left' or 'right' into it, or rename it for a self-join")])


def merge_names(left: Sequence[str], right: Sequence[str], keys: Sequence[str]) -> list[tuple[str | None, str]]:
    """The columns of merged events behind time and side: their side, None for keys, and their names there.

    Keys stand where they do on the left, and once more among the columns of the right side: as columns that hold
    nothing, and tell their order.
    """
    return [(None if name in keys else "left", name) for name in left] + [("right", name) for name in right]


def _common_type(left: pa.Schema, right: pa.Schema, name: str) -> pa.DataType:
    kinds = [_plain(schema.field(name).type) for schema in (left, right)]
    if kinds[0] == kinds[1]:
        return kinds[0]
    if all(map(pa.types.is_timestamp, kinds)):
        zones = {kind.tz for kind in kinds}
        if len(zones) == 2 and None in zones:
            raise _refuse_types(name, kinds)
        # Moments, whatever their zones.
        unit = max((kind.unit for kind in kinds), key=("s", "ms", "us", "ns").index)
        return pa.timestamp(unit, zones.pop() if len(zones) == 1 else "UTC")
    try:
        return (
            pa.unify_schemas([pa.schema([(name, kind)]) for kind in kinds], promote_options="permissive").field(0).type
        )
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise _refuse_types(name, kinds) from None


def _refuse_types(name: str, kinds: Sequence[pa.DataType]) -> DataError:
    message = f"{name} is {kinds[0]} on the left and {kinds[1]} on the right, which cannot be compared"
    return DataError([Problem("TW305", message, "cast one of them")])


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column if column.type == field.type else column.cast(field.type)
    except pa.ArrowInvalid as error:
        message = f"{field.name} does not fit {field.type}, which both sides have in common: {error}"
        raise DataError([Problem("TW305", message, "cast it on both sides")]) from None


def result_columns(
    plan: JoinPlan, events: pa.Schema, time: str, columns: Mapping[str, Mapping[str, str]]
) -> tuple[ResultColumn, ...]:
    """The time, keys once, then all other columns of the left and of the right side.

    Args:
        plan: The join.
        events: The columns of events.
        time: The column that holds the time.
        columns: By side: the names of its columns, and the columns of events.
    """
    found = [(time, time), *((key, key) for key in plan.keys)]
    for side, own in columns.items():
        found += [(f"{side}_{name}", column) for name, column in own.items() if name not in plan.keys]
    return tuple(ResultColumn(name, column_type(events, (column,)), (column,)) for name, column in found)


def write_pairs(
    schema: pa.Schema,
    keys: Sequence[str],
    columns: Mapping[str, Mapping[str, str]],
    sides: tuple[OrderedSide, OrderedSide],
    places: Sequence[np.ndarray],
    counted: bool,
) -> list[pa.RecordBatch]:
    """Result rows of some pairs.

    Args:
        schema: The columns of the result.
        keys: The columns of keys.
        columns: By side: the names of its columns, and those of prepared rows.
        sides: The left and the right events.
        places: The left and the right places of pairs.
        counted: With a last column that says that each row is one.
    """
    taken: dict[str, pa.ChunkedArray] = {}
    times = []
    for (side, own), rows, taking in zip(columns.items(), sides, places, strict=True):
        times.append(take_rows(rows.table.column(TIME), taking))
        for name, column in own.items():
            shown = name if name in keys else f"{side}_{name}"
            if shown not in taken:
                taken[shown] = times[-1] if column == TIME else take_rows(rows.table.column(column), taking)
    is_left = pa.array(sides[0].steps[places[0]] >= sides[1].steps[places[1]])
    taken[schema.names[0]] = pc.if_else(is_left, *times)
    arrays = [taken[field.name].cast(field.type) for field in schema]
    table = pa.table(arrays, schema)
    if counted:
        table = table.append_column(TRENDS, pa.array(np.ones(table.num_rows)))
    return table.to_batches()
