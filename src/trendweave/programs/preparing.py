"""Events -> prepared rows, with Arrow: types are numbered once, conditions and expressions are evaluated once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true
from trendweave.kernels.columns import zeros
from trendweave.language import syntax_tree as st
from trendweave.programs.program import Flag, Needs
from trendweave.rows.dropped import Dropped
from trendweave.rows.encoded import TIME
from trendweave.rows.times import keep_rows_with_time

#: So few types are compared with quicker than they are numbered.
_FEW_TYPES = 4


def keep_events(needs: Needs, events: pa.Table) -> tuple[pa.Table, Dropped]:
    """Keep the rows that can play a part by their time and their type, as they came.

    Args:
        needs: What a program needs of rows.
        events: Rows as they came.

    Returns:
        The rows, and what was dropped.
    """
    return _keep(needs, events)[:2]


def _keep(needs: Needs, events: pa.Table) -> tuple[pa.Table, Dropped, _Types | None]:
    rows, null_time = events.num_rows, 0
    if needs.time is not None:
        events, null_time = keep_rows_with_time(events, needs.time)
    if needs.type is None:
        return events, Dropped(rows, null_time), None
    null_type = events.column(needs.type).null_count
    if null_type:
        events = events.filter(pc.is_valid(events.column(needs.type)))
    flagged = {flag.type for flag in needs.flags if flag is not None and flag.type is not None}
    asked = flagged | (needs.named_types or set()) | (needs.kept_types or set())
    types = _Types(events.column(needs.type), asked)
    other_type = 0 if needs.named_types is None else events.num_rows - types.count(needs.named_types)
    if needs.kept_types is not None and types.count(needs.kept_types) < events.num_rows:
        events = events.filter(pa.array(types.of(needs.kept_types)))
        types = _Types(events.column(needs.type), asked)
    return events, Dropped(rows, null_time, null_type, other_type), types


def prepare_rows(needs: Needs, events: pa.Table, along: Sequence[str] = ()) -> tuple[pa.Table, Dropped]:
    """Keep the rows that can play a part, with the columns that programs read.

    Args:
        needs: What a program needs of rows.
        events: Rows as they came.
        along: Further columns that rows keep as they are.

    Returns:
        The rows, and what was dropped.
    """
    events = events.select([name for name in events.column_names if name in needs.read or name in along])
    events, dropped, types = _keep(needs, events)
    letters = _find_letters(needs, events, types)
    kind = np.min_scalar_type((1 << len(needs.flags)) - 1) if needs.narrow else np.uint64
    letters = letters.astype(kind, copy=False)
    if needs.only_flagged:
        # A row that cannot be read as anything plays no part.
        kept = letters.any(axis=1)
        if not kept.all():
            events, letters = events.filter(pa.array(kept)), letters[kept]
    columns: dict[str, pa.ChunkedArray | pa.Array] = {} if needs.time is None else {TIME: events.column(needs.time)}
    words = zip(needs.words, np.ascontiguousarray(letters.T), strict=True)
    columns |= {name: pa.array(word.view(np.int64) if word.dtype == np.uint64 else word) for name, word in words}
    columns |= {name: _compute(expression, events) for name, expression in needs.columns}
    columns |= {name: events.column(name) for name in along}
    return pa.table(columns) if columns else pa.table({}), dropped


class _Types:
    """Which rows are of which type: known for a few types, or by the number of each row's type among some names."""

    def __init__(self, column: pa.ChunkedArray, asked: Collection[str]) -> None:
        self.names: pa.Array | None = None
        self._rows: dict[str, np.ndarray] = {}
        self._count = len(column)
        if len(asked) <= _FEW_TYPES and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            self._rows = {name: pc.equal(column, pa.scalar(name, column.type)).to_numpy() for name in asked}
            return
        if not pa.types.is_dictionary(column.type):
            column = pc.dictionary_encode(column)
        column = column.unify_dictionaries()
        self.names = column.chunk(0).dictionary if column.num_chunks else pa.array([], column.type.value_type)
        self.codes = np.concatenate([np.empty(0, np.int32), *(chunk.indices.to_numpy() for chunk in column.chunks)])

    def named(self, name: str) -> np.ndarray:
        """Per number, whether it is this type."""
        assert self.names is not None, "types have numbers"
        return np.asarray(pc.fill_null(pc.equal(self.names, pa.scalar(name, self.names.type)), False))

    def rows(self, name: str) -> np.ndarray:
        """Per row, whether it is of this type."""
        return self._rows[name] if self.names is None else self.named(name)[self.codes]

    def of(self, names: Collection[str]) -> np.ndarray:
        """Per row, whether it is of one of these types."""
        found = np.zeros(self._count if self.names is None else len(self.names), np.bool_)
        for name in names:
            found |= self.rows(name) if self.names is None else self.named(name)
        return found if self.names is None else found[self.codes]

    def count(self, names: Collection[str]) -> int:
        """How many rows are of one of these types."""
        return int(np.count_nonzero(self.of(names)))


def _find_letters(needs: Needs, events: pa.Table, types: _Types | None) -> np.ndarray:
    """The bits of all flags, in 8 bits where those are enough. Where types have numbers, those of flags that the type
    alone tells are looked up in one search per row, whatever their number; others are brought together eight at a
    time."""
    words = len(needs.words)
    told = np.zeros((0 if types is None or types.names is None else len(types.names), words), np.uint64)
    eights: dict[int, np.ndarray] = {}
    alike: dict[Flag, list[int]] = {}
    for bit, flag in enumerate(needs.flags):
        if flag is not None:
            alike.setdefault(flag, []).append(bit)
    for flag, bits in alike.items():
        if told.size and types is not None and flag.type is not None and flag.condition is None:
            kinds = types.named(flag.type)
            for bit in bits:
                told[kinds, bit // 64] |= np.uint64(1 << bit % 64)
            continue
        answer = _answer(flag, events, types).view(np.uint8)
        for bit in bits:
            shifted = np.left_shift(answer, bit % 8, dtype=np.uint8)
            known = eights.get(bit // 8)
            eights[bit // 8] = shifted if known is None else np.bitwise_or(known, shifted, out=known)
    if words == 1 and eights.keys() == {0}:
        letters = eights[0][:, None]
    else:
        packed = zeros((events.num_rows, words * 8), np.uint8)
        for place, eight in eights.items():
            packed[:, place] = eight
        letters = packed.view("<u8").astype(np.uint64, copy=False)
    return letters if not told.any() or types is None else letters | told[types.codes]


def _answer(flag: Flag, events: pa.Table, types: _Types | None) -> np.ndarray:
    """Per row, whether a flag is set."""
    rows = None if flag.type is None or types is None else types.rows(flag.type)
    if flag.condition is None:
        return np.ones(events.num_rows, np.bool_) if rows is None else rows
    holds = is_true(flag.condition, events)
    return holds if rows is None else holds & rows


def _compute(expression: st.Expression, events: pa.Table) -> pa.Array:
    """A plain column stays what it is: keys and results have its type."""
    return column_of(events, expression.names) if isinstance(expression, st.Attribute) else evaluate(expression, events)
