"""Rows of windows, groups and aggregates -> the rows that a query shows: HAVING, computed outputs, ORDER BY and LIMIT.

Where nothing of this is asked for, rows are what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import evaluate_exactly
from trendweave.language.syntax_tree import Attribute
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import Plan, SessionWindow
from trendweave.results.row_order import order_codes, take_first, take_in_order


def needs_finish(plan: Plan) -> bool:
    """Is anything done with rows of aggregates before they are shown?

    Args:
        plan: The plan of the query.

    Returns:
        Is it?
    """
    return plan.outputs is not None


def finish_rows(plan: Plan, base: pa.Table, schema: pa.Schema) -> pa.Table:
    """Turn rows of aggregates into rows of the result.

    Args:
        plan: The plan of the query.
        base: All rows of some windows; columns behind the aggregates are kept.
        schema: The columns of the result.

    Returns:
        The rows, ordered by window and inside windows where the query says how.
    """
    if plan.outputs is None:
        return base
    return _show(plan, _order(plan, _choose(plan, base)), schema)


def finish_batches(
    plan: Plan, batches: Iterable[pa.RecordBatch], base: pa.Schema, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Do the same with rows that come in batches, a row per trend. Not more rows are held than may be shown.

    Args:
        plan: The plan of the query.
        batches: All rows of some windows.
        base: Their columns.
        schema: The columns of the result; those of `base` behind the aggregates are kept.

    Yields:
        Batches of the result.
    """
    if plan.outputs is None:
        yield from batches
        return
    chosen = (_choose(plan, pa.Table.from_batches([batch])) for batch in batches)
    if not plan.order_by:
        for rows in chosen:
            yield from _show(plan, rows, schema).to_batches()
        return
    held = base.empty_table()
    waiting: list[pa.Table] = []
    for rows in chosen:
        waiting.append(rows)
        # Each row is looked at a few times at most.
        if plan.limit is not None and sum(part.num_rows for part in waiting) > held.num_rows:
            held = _limit(plan, pa.concat_tables([held, *waiting], promote_options="default"))
            waiting = []
    everything = pa.concat_tables([held, *waiting], promote_options="default") if waiting else held
    yield from _show(plan, _order(plan, everything), schema).to_batches()


def _choose(plan: Plan, base: pa.Table) -> pa.Table:
    """HAVING."""
    for condition in plan.having:
        base = base.filter(pc.fill_null(pc.cast(evaluate_exactly(condition, base), pa.bool_()), False))
    return base


def _order(plan: Plan, base: pa.Table) -> pa.Table:
    if not plan.order_by or not base.num_rows:
        return base
    base = _limit(plan, base)
    return take_in_order(base, [*_place_codes(plan, base), *_order_keys(plan, base)])


def _limit(plan: Plan, base: pa.Table) -> pa.Table:
    if plan.limit is None or not base.num_rows:
        return base
    places = _place_codes(plan, base)
    if isinstance(plan.window, SessionWindow):
        # A session belongs to its partition.
        places += [order_codes(base.column(group.name)) for group in plan.groups if group.variable is None]
    if plan.returns != "aggregates":
        places += [order_codes(base.column(group.name)) for group in plan.groups]
    return take_first(base, places, _order_keys(plan, base), plan.limit)


def _place_codes(plan: Plan, base: pa.Table) -> list[np.ndarray]:
    """What tells rows apart that are not ordered among each other."""
    apart = [order_codes(base.column(group.name)) for group in plan.groups if group.apart]
    return [*apart, *(order_codes(base.column(place)) for place in range(len(window_names(plan.window))))]


def _order_keys(plan: Plan, base: pa.Table) -> list[np.ndarray]:
    """What the query orders by; rows that are equal in it by their groups and numbers, so that it is always the same
    rows that come first."""
    keys = []
    for order in plan.order_by:
        codes = order_codes(pa.chunked_array([evaluate_exactly(order.value, base)]))
        keys.append(-codes if order.descending else codes)
    names = [group.name for group in plan.groups] + [column.name for column in plan.aggregates]
    return keys + [order_codes(base.column(name)) for name in names]


def _show(plan: Plan, base: pa.Table, schema: pa.Schema) -> pa.Table:
    assert plan.outputs is not None, "it was tested"
    before = base.num_columns - len(plan.aggregates) - _hidden(plan, base)
    columns: list[pa.ChunkedArray | pa.Array] = [base.column(place) for place in range(before)]
    for output in plan.outputs:
        kind = schema.field(len(columns)).type
        if isinstance(output.value, Attribute):
            columns.append(base.column(output.value.names[0]))
        else:
            columns.append(pc.cast(evaluate_exactly(output.value, base), kind))
    shown = pa.table(columns, schema=schema)
    for place in range(before + len(plan.aggregates), base.num_columns):
        shown = shown.append_column(base.schema.field(place), base.column(place))
    return shown


def _hidden(plan: Plan, base: pa.Table) -> int:
    """Columns behind the aggregates."""
    return int(base.num_columns - len(window_names(plan.window)) - len(plan.groups) - len(plan.aggregates))
