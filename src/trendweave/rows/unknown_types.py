"""Columns of which nothing tells the type: where it is found by looking at values, and there are none or all are
NULL, Arrow says that they hold NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import pyarrow as pa

from trendweave.language.syntax_tree import Aggregate
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.situated_plan import QueryPlan, SituatedPlan
from trendweave.rows.time_parsing import TimeReading

#: The plan of a query, and the column that holds the type for it.
TypedQuery: TypeAlias = tuple[QueryPlan, "str | None"]
#: What is told of columns of any type; other functions need numbers. A column alone has no function.
_OF_ANY_VALUES = (None, "COUNT", "FIRST", "LAST", "NTH", "COLLECT_LIST", "COLLECT_SET")


def settle_types(
    events: pa.Table, queries: Iterable[TypedQuery], times: Iterable[str], reading: TimeReading
) -> pa.Table:
    """Events with the types that queries need, where no value tells another.

    Args:
        events: Events as they came. Columns of times and types that are NULL in all rows stay so, to be refused.
        queries: Plans of what is asked, each with the column that holds the type.
        times: The columns that hold times.
        reading: How these are read.
    """
    if not _find_unknown(events.schema):
        return events
    needed: dict[str, pa.DataType] = dict.fromkeys(find_numbers(queries), pa.float64())
    if not events.num_rows:
        needed |= {type_: pa.string() for _, type_ in queries if type_ is not None}
        needed |= dict.fromkeys(times, pa.int64() if reading.written is None else pa.string())
    for name in _find_unknown(events.schema):
        if name in needed:
            place = events.schema.get_field_index(name)
            field = events.schema.field(place).with_type(needed[name])
            events = events.set_column(place, field, pa.nulls(events.num_rows, field.type))
    return events


def settle_numbers(columns: pa.Schema, queries: Iterable[TypedQuery]) -> pa.Schema:
    """The same for columns alone: those that queries take numbers from get a type."""
    unknown = _find_unknown(columns)
    numbers = find_numbers(queries) if unknown else ()
    for name in unknown:
        if name in numbers:
            place = columns.get_field_index(name)
            columns = columns.set(place, columns.field(place).with_type(pa.float64()))
    return columns


def find_numbers(queries: Iterable[TypedQuery]) -> frozenset[str]:
    """The columns whose values queries add up or compare: floats where nothing tells their type."""
    return frozenset(name for plan, _ in queries for name in _find_numbers(plan))


def _find_unknown(columns: pa.Schema) -> list[str]:
    # Of several columns of one name nothing is read.
    return [
        field.name for field in columns if pa.types.is_null(field.type) and columns.get_field_index(field.name) >= 0
    ]


def _find_numbers(plan: QueryPlan) -> list[str]:
    if isinstance(plan, IntervalPlan):
        told = [(output.function, output.path) for output in plan.outputs]
    else:
        trend = plan.trend if isinstance(plan, SituatedPlan) else plan
        told = [(column.function, column.path) for column in trend.aggregates]
        nodes = (node for condition in trend.match_conditions for node in condition.walk())
        told += [
            (node.function, node.argument.names[1:]) for node in nodes if isinstance(node, Aggregate) and node.argument
        ]
    return [
        path[0] for function, path in told if function not in _OF_ANY_VALUES and path is not None and len(path) == 1
    ]
