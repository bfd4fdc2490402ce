"""Whole tables through filters and windows on a GPU: columns go there once and stay; and what a
GPU refuses, found by the columns alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.gpu import card
from trendweave.gpu.card import find_card, memory_told
from trendweave.gpu.columns import CardColumn, storage
from trendweave.gpu.conditions import require_compiled
from trendweave.gpu.filter import keep_rows
from trendweave.gpu.ordering import Order, key_numbers, order_rows
from trendweave.gpu.tables import CardTable, get_values, put_table
from trendweave.gpu.windows import Stretches
from trendweave.language.printer import print_expression
from trendweave.language.syntax_tree import CalculatedName
from trendweave.planning.operator_plans import RowCount
from trendweave.planning.plan import Path
from trendweave.programs.operators.chain import ChainedRows, columns_of
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.conditions import side_columns
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.programs.operators.measured import is_float
from trendweave.programs.operators.ordering import value_order
from trendweave.programs.operators.windows.aggregates import MeasuredColumn, MovingOnCard
from trendweave.programs.operators.windows.edges import check_windows
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.program import Output, Program
from trendweave.rows.dropped import Dropped
from trendweave.rows.ordering import take_rows
from trendweave.rows.times import keep_rows_with_time
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
    return storage(kind) is not None and kind not in (pa.uint64(), pa.bool_())


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
    moving = MovingOnCard(table.card, stretches)

    def read(path: Path) -> MeasuredColumn:
        column = table.columns[path[0]]
        values = column.values if is_float(column.kind) else column.values.astype(np.int64)
        valid = None if column.valid is None else order.arrange(column.valid) != 0
        return MeasuredColumn(column.kind, order.arrange(values), valid, moving)

    first = order.starts[key]
    rows = first if order.order is None else order.order[first]
    keys = [_values_of(table, name, rows) for name in program.plan.keys]
    return program.show(keys, start, end, program.aggregate(moving.lengths(), read))


def _values_of(table: CardTable, name: str, rows: Any) -> pa.Array:
    card = table.card
    if name in table.columns:
        return get_values(card, table.columns[name], rows)
    origin = card.get(rows if table.origin is None else table.origin[rows])
    column = take_rows(table.rest.column(name), origin)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def run_resident(program: Program, events: pa.Table) -> tuple[Output, Dropped] | None:
    """Result rows of a program that begins with windows, or with filters and windows, and what was dropped.

    Args:
        program: Any.
        events: As they came.

    Returns:
        None for a program that does not begin so, or whose columns cannot lie on a card.

    Raises:
        ExecutionError: A condition is not evaluated on a card, or its memory is not enough.
    """
    chain = program if isinstance(program, ChainedRows) else None
    windows = program if chain is None else chain.stages[0].program
    if not isinstance(windows, WindowAggregates) or windows.device != "gpu" or not is_resident(windows):
        return None
    filters = () if chain is None else chain.filters
    known, missing = keep_rows_with_time(events, windows.time)
    wanted = set(windows.needs.read).union(*(columns_of(one) for one in filters))
    card = find_card()
    with memory_told(card):
        table = put_table(card, known, wanted)
        for one in filters:
            table = _keep(one, table)
        result = aggregate_on_card(windows, table) if table.count else windows.schema.empty_table()
    output = Output.of_table(result)
    return (output if chain is None else chain.go_on(output)), Dropped(events.num_rows, missing)


def _keep(program: KeptEvents, table: CardTable) -> CardTable:
    fields = [pa.field(name, column.kind, column.valid is not None) for name, column in table.columns.items()]
    schema = pa.schema([*fields, *table.rest.schema])
    compiled = require_compiled(compile_condition(program.plan.condition, {"": schema}))
    return table.keep(keep_rows(table.card, compiled, table.columns, table.count))


def find_missing_card() -> str | None:
    """What is missing for runs on a card in this process; None where there is one."""
    return None if card.has_card() else "there is no GPU here, or no CuPy: a run in this process fails with TW416"


def check_card(program: Program) -> None:
    """That there is a card, and that it serves a program: before any of it runs.

    Raises:
        ExecutionError: TW416 or TW422.
    """
    card.find_card()
    check_on_card([program])


def check_on_card(programs: Iterable[Program]) -> None:
    """Of programs whose device is a card, those whose conditions no card evaluates.

    Raises:
        ExecutionError: TW422, for the first of them.
    """
    for program in programs:
        match program:
            case ChainedRows(filters=filters, stages=stages):
                check_on_card((*filters, *(stage.program for stage in stages)))
            case KeptEvents(device="gpu"):
                require_compiled(compile_condition(program.plan.condition, {"": program.events}))
            case WindowJoin(device="gpu"):
                _check_join(program)


def _check_join(join: WindowJoin) -> None:
    """One part that is compiled is enough: a core asks others of the pairs that pass it."""
    parts = join.condition.pairs
    columns = side_columns(join.sides, join.events)
    if parts and not any(isinstance(compile_condition(part, columns), Compiled) for part in parts):
        shown = " AND ".join(map(print_expression, parts))
        card.refuse_work(f"no part of {shown} is evaluated on a GPU", "threads")
