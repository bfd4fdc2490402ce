"""What operators read of a store: the row groups in which the filters at their beginning may hold; plain windows of
time take whole blocks from the index.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.language.syntax_tree import CalculatedName, Expression
from trendweave.programs.operators.measured import is_measured
from trendweave.programs.operators.windows.edges import StepSpan, last_moments
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.operators.windows.slices import END, START, Asked
from trendweave.results.types import column_type
from trendweave.rows.times import as_steps
from trendweave.runners.options import Settings
from trendweave.store.event_store import EventStore
from trendweave.store.layout.moments import read_between
from trendweave.store.patterns.rewriting import find_possible


def read_for_filters(
    store: EventStore, conditions: Sequence[Expression], columns: Sequence[str], settings: Settings
) -> pa.Table:
    """Events of a store: all that the conditions keep, and others.

    Args:
        store: The events.
        conditions: All of them hold for an event that is kept.
        columns: Those that are read.
        settings: Checked options; with "replay" no index is asked.
    """
    between = read_between(settings.between, store.kind)
    bounds = None if between == (None, None) else between
    names = list(dict.fromkeys([*columns, store.time]))
    return store.read(_groups(store, conditions, between, settings.using == "replay"), names, bounds)


def _groups(
    store: EventStore, conditions: Sequence[Expression], between: tuple[int | None, int | None], all_of_them: bool
) -> np.ndarray | None:
    """The numbers of row groups; None for all. Rows without a time are in no block, and no filter keeps them."""
    low, end = between
    if all_of_them or (not conditions and low is None and end is None):
        return None
    blocks = store.blocks
    possible = np.ones(blocks.count.size, np.bool_)
    possible &= True if low is None else blocks.last >= low
    possible &= True if end is None else blocks.first < end
    for condition in conditions:
        possible &= find_possible(condition, blocks, store.schema)
    return np.unique(blocks.number[possible])


def windows_on_store(program: WindowAggregates, store: EventStore, settings: Settings) -> pa.Table | None:
    """Rows of a windowed aggregation, by `EventStore.aggregate`.

    Args:
        program: Bound to the columns of the store.
        store: The events.
        settings: Checked options of the run.

    Returns:
        The rows in the program's columns and order; None where the store cannot tell them: events are counted, windows
        leave gaps, aggregates are of columns that blocks do not know, or a card is asked for.
    """
    window = program.window
    if settings.device == "gpu":
        return None
    if not isinstance(window, StepSpan) or window.slide > window.length or program.numbers != "decimal":
        return None
    if not all(_is_told(asked, program.events) for asked in program.outputs.asked):
        return None
    if any("`" in name for name in (*program.plan.keys, *_measured(program))) or program.time != store.time:
        return None
    asked = [
        f"{one.function}({'*' if one.path is None else f'`{one.path[0]}`'}) AS `aggregate {number}`"
        for number, one in enumerate(program.outputs.asked)
    ]
    nanoseconds = (window.length * program.time_type.step, window.slide * program.time_type.step)
    within, slide = (f"{length} nanoseconds" for length in nanoseconds)
    found = store.aggregate(
        ", ".join(asked), within, slide, settings.between, settings.using or "auto", by=program.plan.keys
    )
    return _in_our_order(program, found)


def _measured(program: WindowAggregates) -> list[str]:
    return [one.path[0] for one in program.outputs.asked if one.path is not None]


def _is_told(asked: Asked, events: pa.Schema) -> bool:
    """Whether it is of a column that blocks keep numbers of."""
    if asked.path is None:
        return True
    if len(asked.path) > 1 or isinstance(asked.path[0], CalculatedName):
        return False
    kind = column_type(events, asked.path)
    return kind == events.field(asked.path[0]).type and (asked.function == "COUNT" or is_measured(kind))


def _in_our_order(program: WindowAggregates, found: pa.Table) -> pa.Table:
    window = program.window
    assert isinstance(window, StepSpan)
    start = as_steps(found.column(START), program.time_type)
    values = [found.column(f"aggregate {number}") for number in range(len(program.outputs.asked))]
    keys = [found.column(name) for name in program.plan.keys]
    times = [found.column(START), found.column(END), last_moments(start + window.length, program.time_type)]
    columns = [*keys, *times, *program.outputs.show(values, program.result[len(keys) + 3 :])]
    table = pa.table(
        [column.cast(field.type) for column, field in zip(columns, program.schema, strict=True)], program.schema
    )
    return program.arrange(table)
