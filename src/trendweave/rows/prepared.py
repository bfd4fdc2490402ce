"""Events -> prepared rows, with Arrow: who can be read as what, and every expression that the plan needs, as
columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.kernels.columns import zeros
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import LETTERS, TIME
from trendweave.rows.times import keep_rows_with_time

#: So few types are compared with quicker than they are numbered.
_FEW_TYPES = 4


def prepare_rows(
    plan: Plan, preparation: Preparation, events: pa.Table, time: str, type_: str | None
) -> tuple[pa.Table, Dropped]:
    """Keep the rows that can play a part, with the columns that a task reads.

    Args:
        plan: The plan of the query.
        preparation: The names of prepared columns, and what they hold.
        events: Rows as they came.
        time: The name of the time column.
        type_: The name of the type column; None where all rows are of one type.

    Returns:
        The prepared rows, and what was dropped.
    """
    events, of_type, dropped = _split_events(plan, events, time, type_)
    letters = _find_letters(plan, preparation, events, of_type)
    if not plan.needs_every_event:
        # A row that cannot be read as anything plays no part.
        kept = letters.any(axis=1)
        if not kept.all():
            events, letters = events.filter(pa.array(kept)), letters[kept]
    columns = {TIME: events.column(time)}
    columns |= {f"{LETTERS}{word}": pa.array(letters[:, word].view(np.int64)) for word in range(letters.shape[1])}
    columns |= {name: _compute(expression, events) for name, expression in preparation.columns}
    return pa.table(columns), dropped


def adopt_rows(rows: pa.Table, moment: pa.DataType, words: Sequence[str]) -> pa.Table:
    """Rows that another engine has prepared, in the types that Arrow would have given them.

    Args:
        rows: Prepared rows.
        moment: The type of their times, where they have one.
        words: The names of the columns that hold flags.
    """
    for place, field in enumerate(rows.schema):
        wanted = moment if field.name == TIME else pa.int64() if field.name in words else field.type
        if field.type != wanted:
            rows = rows.set_column(place, field.name, rows.column(place).cast(wanted))
    return rows


def _split_events(
    plan: Plan, events: pa.Table, time: str, type_: str | None
) -> tuple[pa.Table, dict[str | None, np.ndarray], Dropped]:
    """The rows that are events, per type of the pattern which of them are of it, and how many others there were."""
    rows = events.num_rows
    events, null_time = keep_rows_with_time(events, time)
    null_type = 0
    if type_ is not None and events.column(type_).null_count:
        null_type = events.column(type_).null_count
        events = events.filter(pc.is_valid(events.column(type_)))
    of_type = _find_rows_of_types(plan, events, type_)
    other_type = events.num_rows - int(np.count_nonzero(np.logical_or.reduce(list(of_type.values()))))
    return events, of_type, Dropped(rows, null_time, null_type, other_type)


def _compute(expression: st.Expression, events: pa.Table) -> pa.Array:
    """A plain column stays what it is: keys and results have its type."""
    return column_of(events, expression.names) if isinstance(expression, st.Attribute) else evaluate(expression, events)


def _find_rows_of_types(plan: Plan, events: pa.Table, type_: str | None) -> dict[str | None, np.ndarray]:
    """Per type of the pattern (None: any), which rows are of it."""
    asked = list(dict.fromkeys(variable.type for variable in plan.variables))
    every = {name: np.ones(events.num_rows, np.bool_) for name in asked if name is None or type_ is None}
    return (
        every
        if type_ is None
        else every | _find_rows(events.column(type_), [name for name in asked if name is not None])
    )


def _find_rows(column: pa.ChunkedArray, names: list[str]) -> dict[str | None, np.ndarray]:
    if len(names) <= _FEW_TYPES and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return {name: pc.equal(column, pa.scalar(name, column.type)).to_numpy() for name in names}
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries()
    chunks = column.chunks
    if not chunks:
        return {name: np.zeros(0, np.bool_) for name in names}
    dictionary = chunks[0].dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    rows: dict[str | None, np.ndarray] = {}
    for name in names:
        is_name = np.asarray(pc.fill_null(pc.equal(dictionary, pa.scalar(name, dictionary.type)), False))
        rows[name] = is_name[codes]
    return rows


def _find_letters(
    plan: Plan, preparation: Preparation, events: pa.Table, of_type: dict[str | None, np.ndarray]
) -> np.ndarray:
    letters = zeros((events.num_rows, -(-len(plan.variables) // 64)), np.uint64)
    # Variables of one type and condition are read alike, and written together.
    alike: dict[tuple[str | None, st.Expression | None], list[int]] = {}
    for index, (variable, condition) in enumerate(zip(plan.variables, preparation.readable, strict=True)):
        alike.setdefault((variable.type, condition), []).append(index)
    for (type_, condition), places in alike.items():
        can_be_read = of_type[type_]
        if condition is not None:
            can_be_read = can_be_read & is_true(condition, events)
        for word in {place // 64 for place in places}:
            bits = np.uint64(sum(1 << place % 64 for place in places if place // 64 == word))
            np.bitwise_or(letters[:, word], bits, out=letters[:, word], where=can_be_read)
    return letters
