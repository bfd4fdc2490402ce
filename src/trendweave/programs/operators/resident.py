"""Whole tables through filters and windows on a card: columns go there once, and stay until windows are aggregated."""

from __future__ import annotations

import pyarrow as pa

from trendweave.expressions.compiled.condition import compile_condition
from trendweave.gpu.card import find_card, memory_told
from trendweave.gpu.conditions import require_compiled
from trendweave.gpu.filter import keep_rows
from trendweave.gpu.tables import CardTable, put_table
from trendweave.programs.operators.chain import ChainedRows, columns_of
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.operators.windows.resident import aggregate_on_card, is_resident
from trendweave.programs.program import Output, Program
from trendweave.rows.dropped import Dropped
from trendweave.rows.times import keep_rows_with_time


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
