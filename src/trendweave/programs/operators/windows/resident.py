"""Windowed aggregation of a table that lies on a card: rows are ordered, windows found and values added there, and
result rows come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.gpu.columns import CardColumn
from trendweave.gpu.ordering import Order, key_numbers, order_rows
from trendweave.gpu.tables import CardTable, get_values
from trendweave.gpu.windows import Stretches
from trendweave.language.syntax_tree import CalculatedName
from trendweave.planning.operator_plans import RowCount
from trendweave.programs.operators.measured import is_float
from trendweave.programs.operators.value_order import value_order
from trendweave.programs.operators.windows.aggregates import MeasuredColumn, write_aggregate
from trendweave.programs.operators.windows.edges import check_windows, last_moments
from trendweave.programs.operators.windows.moving import MovingOnCard
from trendweave.programs.operators.windows.program import WindowAggregates, shown_key
from trendweave.rows.ordering import take_rows
from trendweave.rows.times import as_times
from trendweave.rows.window_arrays import count_window_edges, time_window_edges


def is_resident(program: WindowAggregates) -> bool:
    """Whether all that is aggregated can lie on a card, and keys can be numbered there in their order."""
    kind = program.moment
    measured = {asked.path for asked in program.outputs.asked if asked.path is not None}
    return (
        all(len(path) == 1 and not isinstance(path[0], CalculatedName) for path in program.columns)
        and (pa.types.is_timestamp(kind) or pa.types.is_int64(kind))
        and all(_is_plain(program.events.field(path[0]).type) for path in measured)
        and all(_is_key(program.events.field(name).type) for name in program.plan.keys)
        and not program.ties_first
    )


def _is_key(kind: pa.DataType) -> bool:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return _is_plain(kind) or pa.types.is_boolean(kind) or text or pa.types.is_decimal(kind)


def _is_plain(kind: pa.DataType) -> bool:
    whole = pa.types.is_integer(kind) and kind != pa.uint64()
    temporal = pa.types.is_timestamp(kind) or pa.types.is_date32(kind) or pa.types.is_duration(kind)
    return whole or temporal or pa.types.is_float32(kind) or pa.types.is_float64(kind)


def aggregate_on_card(program: WindowAggregates, table: CardTable) -> pa.Table:
    """Result rows of events on a card.

    Args:
        program: One that `is_resident`.
        table: At least one row, with a time in each.
    """
    card, xp = table.card, table.card.xp
    keys = [_key_column(table, name) for name in program.plan.keys]
    numbers, count = key_numbers(card, keys, table.count)
    paths = [path for path in program.columns if path in {asked.path for asked in program.outputs.asked}]
    ties = [table.columns[path[0]] for path in paths] if isinstance(program.window, RowCount) else []
    order = order_rows(card, numbers, count, table.columns[program.time].values, ties)
    window = program.window
    if isinstance(window, RowCount):
        number = None
        key, low, high = count_window_edges(xp, order.starts, window.rows, window.slide)
        start, end = order.steps[low], order.steps[high - 1]
    else:
        check_windows((int(order.steps.min()), int(order.steps.max())), table.count, count, window)
        number, key, low, high = time_window_edges(xp, order.steps, order.starts, window.length, window.slide)
        start = number * window.slide
        end = start + window.length
    moved = None
    if count > 1:
        moved = xp.argsort(start, kind="stable")
        moved = moved[xp.argsort(end[moved], kind="stable")]
        key, low, high, start, end = (array[moved] for array in (key, low, high, start, end))
    longest = int((high - low).max()) if len(low) else 0
    stretches = Stretches(len(low), longest, xp.ascontiguousarray(low), xp.ascontiguousarray(high))
    return _write(program, table, order, stretches, key, card.get(start), card.get(end))


def _key_column(table: CardTable, name: str) -> CardColumn:
    """A key on the card: of types that cannot be there, numbers in the order of values."""
    if name in table.columns:
        return table.columns[name]
    card = table.card
    codes = card.put(value_order(table.rest.column(name)))
    codes = codes if table.origin is None else codes[table.origin]
    return CardColumn(pa.int64(), codes, (codes >= 0).astype(np.uint8))


def _write(
    program: WindowAggregates,
    table: CardTable,
    order: Order,
    stretches: Stretches,
    key: Any,
    start: np.ndarray,
    end: np.ndarray,
) -> pa.Table:
    card, seen, values = table.card, dict[str, MeasuredColumn](), []
    moving = MovingOnCard(card, stretches)
    for asked in program.outputs.asked:
        if asked.path is None:
            values.append(pa.array(moving.lengths()))
            continue
        name = asked.path[0]
        if name not in seen:
            column = table.columns[name]
            whole = column.values if is_float(column.kind) else column.values.astype(np.int64)
            valid = None if column.valid is None else order.arrange(column.valid) != 0
            seen[name] = MeasuredColumn(column.kind, order.arrange(whole), valid, moving)
        values.append(write_aggregate(asked.function, asked.result, seen[name], name))
    first = order.starts[key]
    rows = first if order.order is None else order.order[first]
    keys = [shown_key(_values_of(table, name, rows)) for name in program.plan.keys]
    kind = program.time_type
    last = as_times(end, kind)
    moments = last if isinstance(program.window, RowCount) else last_moments(end, kind)
    shown = program.outputs.show(values, program.result[len(keys) + 3 :])
    arrays = [*keys, as_times(start, kind), last, moments, *shown]
    return pa.table(
        [array.cast(field.type) for array, field in zip(arrays, program.schema, strict=True)], program.schema
    )


def _values_of(table: CardTable, name: str, rows: Any) -> pa.Array:
    card = table.card
    if name in table.columns:
        return get_values(card, table.columns[name], rows)
    origin = card.get(rows if table.origin is None else table.origin[rows])
    column = take_rows(table.rest.column(name), origin)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
