"""Filters on a GPU: the columns that a condition reads go there, and a bit per row comes back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.gpu.card import Card, memory_told
from trendweave.gpu.columns import CardColumn, put_column
from trendweave.gpu.conditions import filter_text, require_compiled
from trendweave.language.syntax_tree import Expression

_THREADS = 256
_ROWS_PER_BLOCK = _THREADS * 8
#: Rows that are on the card at the same time, so that its memory holds them; a multiple of 32.
_AT_ONCE = 1 << 27


def mask_true(card: Card, condition: Expression, rows: pa.Table) -> pa.ChunkedArray:
    """In which rows of this process a condition is true.

    Raises:
        ExecutionError: No card evaluates it, or the memory of the card is not enough.
    """
    compiled = require_compiled(compile_condition(condition, {"": without_nulls(rows)}))
    with memory_told(card):
        return mask_rows(card, compiled, rows)


def mask_rows(card: Card, compiled: Compiled, rows: pa.Table) -> pa.ChunkedArray:
    """In which rows of this process a compiled condition is true."""
    masks: list[pa.Array] = []
    for first in range(0, rows.num_rows, _AT_ONCE):
        part = rows.slice(first, _AT_ONCE)
        columns = [put_column(card, part.column(operand.column)) for operand in compiled.operands]
        mask = pa.py_buffer(card.get(find_true(card, compiled, columns, part.num_rows)))
        masks.append(pa.Array.from_buffers(pa.bool_(), part.num_rows, [None, mask]))
    return pa.chunked_array(masks, pa.bool_())


def find_true(card: Card, compiled: Compiled, columns: Sequence[CardColumn], count: int) -> np.ndarray:
    """In which rows of columns on the card a condition is true: bits in words of 32 on the card, lowest first.

    Args:
        card: The card.
        compiled: The condition.
        columns: In the order of its operands.
        count: How many rows there are.
    """
    mask = card.xp.empty(-(-count // 32), np.uint32)
    arguments: list[object] = [count, mask]
    for operand, column in zip(compiled.operands, columns, strict=True):
        arguments.append(column.values)
        if operand.nullable:
            arguments.append(card.xp.ones(count, np.uint8) if column.valid is None else column.valid)
    card.launch(filter_text(compiled), "mask_rows", -(-count // _ROWS_PER_BLOCK), _THREADS, arguments)
    return mask
