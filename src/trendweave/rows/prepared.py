"""Events -> prepared rows, with Arrow: who can be read as what, and every expression that the plan needs, as
columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.language import syntax_tree as st
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.rows.encoded import LETTERS, TIME


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are no events, and events of types that the pattern does not name."""

    rows: int = 0
    null_time: int = 0
    null_type: int = 0
    other_type: int = 0

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(
            self.rows + other.rows,
            self.null_time + other.null_time,
            self.null_type + other.null_type,
            self.other_type + other.other_type,
        )


NOTHING_DROPPED = Dropped()


def prepared(
    plan: Plan, preparation: Preparation, events: pa.Table, time: str, type_: str | None
) -> tuple[pa.Table, Dropped]:
    """Rows that can play a part, with the columns that `partition_task` reads."""
    events, of_type, dropped = _known(plan, events, time, type_)
    letters = _letters(plan, preparation, events, of_type)
    if plan.strategy != "contiguous":
        # A row that cannot be read as anything plays no part, unless it stands between two others.
        kept = letters.any(axis=1)
        if not kept.all():
            events, letters = events.filter(pa.array(kept)), letters[kept]
    columns = {TIME: events.column(time)}
    columns |= {f"{LETTERS}{word}": pa.array(letters[:, word].view(np.int64)) for word in range(letters.shape[1])}
    columns |= {name: _computed(expression, events) for name, expression in preparation.columns}
    return pa.table(columns), dropped


def count_dropped(plan: Plan, events: pa.Table, time: str, type_: str | None) -> Dropped:
    """What `prepared` would drop of these events."""
    return _known(plan, events, time, type_)[2]


def _known(
    plan: Plan, events: pa.Table, time: str, type_: str | None
) -> tuple[pa.Table, dict[str, np.ndarray], Dropped]:
    """The rows that are events, per type of the pattern which of them are of it, and how many others there were."""
    rows = events.num_rows
    events, null_time = _with_time(events, time)
    null_type = 0
    if type_ is not None and events.column(type_).null_count:
        null_type = events.column(type_).null_count
        events = events.filter(pc.is_valid(events.column(type_)))
    of_type = _rows_of_types(plan, events, type_)
    other_type = events.num_rows - int(np.count_nonzero(np.logical_or.reduce(list(of_type.values()))))
    return events, of_type, Dropped(rows, null_time, null_type, other_type)


def _computed(expression: st.Expression, events: pa.Table) -> pa.Array:
    """A plain column stays what it is: keys and results have its type."""
    return column_of(events, expression.names) if isinstance(expression, st.Attribute) else evaluate(expression, events)


def _with_time(events: pa.Table, time: str) -> tuple[pa.Table, int]:
    """Without the rows that have no time; NaN and infinities are no times either."""
    column = events.column(time)
    known = pc.is_valid(column)
    if pa.types.is_floating(column.type):
        known = pc.fill_null(pc.is_finite(column), False)
    missing = events.num_rows - (pc.sum(known).as_py() or 0)
    return (events.filter(known), missing) if missing else (events, 0)


def _rows_of_types(plan: Plan, events: pa.Table, type_: str | None) -> dict[str, np.ndarray]:
    """Per type of the pattern, which rows are of it."""
    names = list(dict.fromkeys(variable.type for variable in plan.variables))
    if type_ is None:
        return {name: np.ones(events.num_rows, np.bool_) for name in names}
    column = events.column(type_)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries()
    chunks = column.chunks
    if not chunks:
        return {name: np.zeros(0, np.bool_) for name in names}
    dictionary = chunks[0].dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in chunks])
    rows = {}
    for name in names:
        is_name = np.asarray(pc.fill_null(pc.equal(dictionary, pa.scalar(name, dictionary.type)), False))
        rows[name] = is_name[codes]
    return rows


def _letters(plan: Plan, preparation: Preparation, events: pa.Table, of_type: dict[str, np.ndarray]) -> np.ndarray:
    letters = np.zeros((events.num_rows, -(-len(plan.variables) // 64)), np.uint64)
    for index, (variable, condition) in enumerate(zip(plan.variables, preparation.readable, strict=True)):
        can_be_read = of_type[variable.type]
        if condition is not None:
            can_be_read = can_be_read & is_true(condition, events)
        letters[:, index // 64] |= can_be_read.astype(np.uint64) << np.uint64(index % 64)
    return letters
