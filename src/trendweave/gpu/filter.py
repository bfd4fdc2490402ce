"""Filters on a card: of columns that are there, and of Arrow columns of this process as they pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.gpu.card import Card, memory_told
from trendweave.gpu.columns import CardColumn
from trendweave.gpu.conditions import filter_text, require_compiled
from trendweave.gpu.masks import Kept, count_kept
from trendweave.gpu.transfer import CHUNK_ROWS, stream_batches
from trendweave.language.syntax_tree import Expression

_THREADS = 256
_ROWS_PER_BLOCK = _THREADS * 8


def keep_rows(card: Card, compiled: Compiled, columns: Mapping[str, CardColumn], count: int) -> Kept:
    """The rows of columns on the card in which a condition is true."""
    mask = card.xp.empty(-(-count // 32), np.uint32)
    _test(card, compiled, [columns[operand.column] for operand in compiled.operands], count, mask)
    return count_kept(card, mask)


def mask_true(card: Card, condition: Expression, rows: pa.Table) -> pa.ChunkedArray:
    """In which rows of this process a condition is true.

    Raises:
        ExecutionError: No card evaluates it, or the memory of the card is not enough.
    """
    compiled = require_compiled(compile_condition(condition, {"": without_nulls(rows)}))
    with memory_told(card):
        return mask_rows(card, compiled, rows)


def mask_rows(card: Card, compiled: Compiled, rows: pa.Table, chunk_rows: int = CHUNK_ROWS) -> pa.ChunkedArray:
    """In which rows of this process a condition is true. The columns that it reads go to the card in chunks, while
    those before are looked at; a bit per row comes back."""
    if not compiled.operands:
        return _mask_without_columns(card, compiled, rows.num_rows)
    names = [operand.column for operand in compiled.operands]
    masks: list[pa.Array] = []

    def work(columns: Sequence[CardColumn], first: int, count: int) -> None:
        words = card.xp.empty(-(-count // 32), np.uint32)
        _test(card, compiled, columns, count, words)
        card.copy_out(words, found[first // 32 :][: len(words)])

    for batch in rows.select(names).to_batches():
        found = card.pinned(-(-batch.num_rows // 32), np.uint32)
        stream_batches(card, [batch.column(place) for place in range(len(names))], work, chunk_rows)
        masks.append(pa.Array.from_buffers(pa.bool_(), batch.num_rows, [None, pa.py_buffer(found)]))
    return pa.chunked_array(masks, pa.bool_())


def _mask_without_columns(card: Card, compiled: Compiled, count: int) -> pa.ChunkedArray:
    """A condition without columns is the same for all rows."""
    mask = card.xp.empty(-(-count // 32), np.uint32)
    _test(card, compiled, [], count, mask)
    return pa.chunked_array([pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(card.get(mask))])])


def _test(card: Card, compiled: Compiled, columns: Sequence[CardColumn], count: int, mask: Any) -> None:
    """Write the mask of a condition; columns stand in the order of its operands."""
    arguments: list[Any] = [count, mask]
    for operand, column in zip(compiled.operands, columns, strict=True):
        arguments.append(column.values)
        if operand.nullable:
            arguments.append(card.xp.ones(count, np.uint8) if column.valid is None else column.valid)
    card.launch(filter_text(compiled), "mask_rows", -(-count // _ROWS_PER_BLOCK), _THREADS, arguments)
