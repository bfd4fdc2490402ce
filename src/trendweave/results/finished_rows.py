"""Rows of windows, groups and aggregates -> the rows that a query shows: HAVING, computed outputs, ORDER BY and
LIMIT.

Where nothing of this is asked for, rows are what they are. The order is Spark SQL's: NULL before all values and NaN
behind all numbers, or just the other way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import evaluate_exactly
from trendweave.kernels.sorting import ordered_bits
from trendweave.language.syntax_tree import Attribute
from trendweave.planning.outputs import window_names
from trendweave.planning.plan import Plan, SessionWindow


def order_codes(column: pa.ChunkedArray) -> np.ndarray:
    """Number the values of a column in their order.

    Args:
        column: Values of a type that has an order; others are all alike.

    Returns:
        Integers above -(2 ** 63), equal where values are.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind):
        numbers = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
        column = pa.chunked_array([pa.array(ordered_bits(numbers), mask=np.asarray(column.is_null()))])
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    try:
        ranks = pc.rank(column, tiebreaker="dense")
    except pa.ArrowNotImplementedError:
        return np.zeros(len(column), np.int64)
    codes: np.ndarray = np.asarray(ranks).astype(np.int64)
    return np.where(np.asarray(column.is_null()), 0, codes)


def take_in_order(table: pa.Table, keys: Sequence[np.ndarray]) -> pa.Table:
    """Sort rows.

    Args:
        table: The rows.
        keys: What they are sorted by, the weightiest first.

    Returns:
        The rows in order.
    """
    return table.take(pa.array(np.lexsort(tuple(reversed(keys)))))


def sort_by_times(rows: pa.Table, columns: Sequence[int]) -> pa.Table:
    """Sort rows by columns of times.

    Args:
        rows: The rows; those that are equal in all of these columns stay in their order.
        columns: The places of the columns, the weightiest first.
    """
    keys = []
    for place in columns:
        times = rows.column(place)
        keys.append((times if pa.types.is_floating(times.type) else times.cast(pa.int64())).to_numpy())
    if len(keys) == 1 and bool((keys[0][1:] >= keys[0][:-1]).all()):
        return rows
    return take_in_order(rows, keys)


def take_first(table: pa.Table, places: Sequence[np.ndarray], keys: Sequence[np.ndarray], count: int) -> pa.Table:
    """Keep the first rows of each place.

    Args:
        table: The rows.
        places: What tells places apart.
        keys: What rows of a place are sorted by, the weightiest first.
        count: How many rows of a place are kept.

    Returns:
        Them, in any order.
    """
    order = np.lexsort(tuple(reversed([*places, *keys])))
    begins = np.zeros(order.size, np.bool_)
    begins[:1] = True
    for place in places:
        begins[1:] |= np.diff(place[order]) != 0
    starts = np.flatnonzero(begins)
    rank = np.arange(order.size) - np.repeat(starts, np.diff(np.append(starts, order.size)))
    return table.take(pa.array(np.sort(order[rank < count])))


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
