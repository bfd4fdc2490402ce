"""Events -> shared rows, with Arrow: types are numbered once, each condition and each expression is evaluated once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.language import syntax_tree as st
from trendweave.programs.program import Flag, Needs
from trendweave.programs.shared.rows import RowsPlan
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import keep_rows_with_time


def prepare_shared_rows(
    plan: RowsPlan, needs: Needs, events: pa.Table, along: Sequence[str] = ()
) -> tuple[pa.Table, Dropped]:
    """Keep the rows that some program takes, with all that programs read.

    Args:
        plan: The columns and bits of shared rows.
        needs: What all programs need together.
        events: Rows as they came.
        along: Further columns that rows keep as they are.

    Returns:
        The rows, and what was dropped.
    """
    rows = events.num_rows
    events = events.select([name for name in events.column_names if name in needs.read or name in along])
    null_time = null_type = other_type = 0
    if needs.time is not None:
        events, null_time = keep_rows_with_time(events, needs.time)
    if needs.type is not None and events.column(needs.type).null_count:
        null_type = events.column(needs.type).null_count
        events = events.filter(pc.is_valid(events.column(needs.type)))
    types = None if needs.type is None else _number_types(events.column(needs.type))
    if types is not None and needs.named_types is not None:
        other_type = events.num_rows - int(np.count_nonzero(types.any_of(needs.named_types)))
    letters = _find_letters(plan, events, types)
    if needs.only_flagged:
        kept = letters.any(axis=1)
        if not kept.all():
            events, letters = events.filter(pa.array(kept)), letters[kept]
    columns: dict[str, pa.ChunkedArray | pa.Array] = {} if needs.time is None else {TIME: events.column(needs.time)}
    words = zip(plan.words, np.ascontiguousarray(letters.T), strict=True)
    columns |= {name: pa.array(word.view(np.int64)) for name, word in words}
    columns |= {name: _compute(expression, events) for name, expression in plan.columns}
    columns |= {name: events.column(name) for name in along}
    dropped = Dropped(rows, null_time, null_type, other_type)
    return pa.table(columns) if columns else pa.table({}), dropped


class _Types:
    """The type of each row, as the number of one of some names."""

    def __init__(self, codes: np.ndarray, names: pa.Array) -> None:
        self.codes, self.names = codes, names

    def of(self, name: str) -> np.ndarray:
        """Per number, whether it is this type."""
        return np.asarray(pc.fill_null(pc.equal(self.names, pa.scalar(name, self.names.type)), False))

    def any_of(self, names: frozenset[str]) -> np.ndarray:
        """Per row, whether it is of one of these types."""
        found = np.zeros(len(self.names), np.bool_)
        for name in names:
            found |= self.of(name)
        return found[self.codes]


def _number_types(column: pa.ChunkedArray) -> _Types:
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return _Types(np.empty(0, np.int64), pa.array([], column.type.value_type))
    return _Types(np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks]), column.chunk(0).dictionary)


def _find_letters(plan: RowsPlan, events: pa.Table, types: _Types | None) -> np.ndarray:
    """The bits of all flags. Conditions are looked at in rows of all types: those of another type are put out together,
    one search per row and word."""
    letters = _letters_of_types(plan.flags, events.num_rows, types)
    of_type = np.zeros((1 if types is None else len(types.names), letters.shape[1]), np.uint64)
    eights: dict[int, np.ndarray] = {}
    for bit, flag in enumerate(plan.flags):
        if flag.condition is None and (flag.type is None) == (types is None):
            continue  # told by the type alone, or set in every row
        numbers = slice(None) if types is None or flag.type is None else types.of(flag.type)
        of_type[numbers, bit // 64] |= np.uint64(1 << bit % 64)
        is_set = np.ones(events.num_rows, np.bool_) if flag.condition is None else is_true(flag.condition, events)
        shifted = np.left_shift(is_set.view(np.uint8), bit % 8, dtype=np.uint8)
        known = eights.get(bit // 8)
        eights[bit // 8] = shifted if known is None else np.bitwise_or(known, shifted, out=known)
    if not eights:
        return letters
    packed = np.zeros((events.num_rows, letters.shape[1] * 8), np.uint8)
    for place, eight in eights.items():
        packed[:, place] = eight
    found = packed.view("<u8").astype(np.uint64, copy=False)
    return letters | (found & (of_type[types.codes] if types is not None else of_type))


def _letters_of_types(flags: Sequence[Flag], rows: int, types: _Types | None) -> np.ndarray:
    """The bits that need no look at a condition: one search per row, whatever their number."""
    words = -(-len(flags) // 64)
    of_type = np.zeros((1 if types is None else len(types.names), words), np.uint64)
    for bit, flag in enumerate(flags):
        if flag.condition is None and (flag.type is None) == (types is None):
            numbers = slice(None) if types is None else types.of(flag.type or "")
            of_type[numbers, bit // 64] |= np.uint64(1 << bit % 64)
    if types is None:
        return np.repeat(of_type, rows, axis=0)
    return of_type[types.codes]


def _compute(expression: st.Expression, events: pa.Table) -> pa.Array:
    """A plain column stays what it is: keys and results have its type."""
    return column_of(events, expression.names) if isinstance(expression, st.Attribute) else evaluate(expression, events)
