"""In which rows a condition is true: by Arrow, column by column, or in one compiled loop where that pays.

Arrow goes over the rows once for each part of a condition; a compiled loop goes over them once, but compiling it takes
most of a second. So a condition is compiled when as much time was spent on it with Arrow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, NotCompiled, compile_condition
from trendweave.expressions.compiled.loading import AROUND_CONDITION, read_operands, without_nulls
from trendweave.kernel_cache.kernel import load_text
from trendweave.language.syntax_tree import Expression

#: Rows times parts of a condition that Arrow looks at in the time that compiling takes.
_WORTH_COMPILING = 250_000_000
#: Fewer rows are not worth the way to the loop.
_FEW = 10_000
_LOOP = """
@loop
def mask(found, {arguments}):
    for row in range(found.size):
        found[row] = test({values})
"""
_lock = Lock()
#: How much Arrow has looked at, by condition.
_spent: dict[Expression, int] = {}


def keep_true(condition: Expression, rows: pa.Table) -> pa.Table:
    """Keep the rows in which a condition is true; NULL is not.

    Args:
        condition: Of one row.
        rows: The rows, which fit it.
    """
    return keep_rows(rows, settle_test(condition, rows)(rows))


def settle_test(condition: Expression, rows: pa.Table) -> Callable[[pa.Table], np.ndarray]:
    """Settle how to find the rows in which a condition is true, once for all slices of them.

    Args:
        condition: Of one row.
        rows: All rows, which fit it.

    Returns:
        What finds, for each row of a slice, whether the condition is true; NULL is not.
    """
    if rows.num_rows >= _FEW and _is_worth_compiling(condition, rows.num_rows):
        compiled = _compile(condition, without_nulls(rows))
        if isinstance(compiled, Compiled):
            return lambda some: mask_compiled(compiled, some)
    return lambda some: is_true(condition, some)


def keep_rows(rows: pa.Table, kept: np.ndarray) -> pa.Table:
    """Keep some rows.

    Args:
        rows: The rows.
        kept: Which of them, True or False per row.
    """
    if kept.all():
        return rows
    # Bits are packed several times as fast as Arrow packs them.
    bits = pa.py_buffer(np.packbits(kept, bitorder="little"))
    return rows.filter(pa.Array.from_buffers(pa.bool_(), kept.size, [None, bits]))


def mask_compiled(compiled: Compiled, rows: pa.Table) -> np.ndarray:
    """The same by a compiled loop."""
    with _lock:  # threads that come together would compile the same loop
        loop = _load(compiled)
    found = np.empty(rows.num_rows, np.bool_)
    first = 0
    for batch in rows.select(list(dict.fromkeys(operand.column for operand in compiled.operands))).to_batches():
        loop(found[first : first + batch.num_rows], *read_operands(compiled, "", batch))
        first += batch.num_rows
    return found


def _is_worth_compiling(condition: Expression, rows: int) -> bool:
    spent = _spent.get(condition, 0)
    if spent < _WORTH_COMPILING:
        spent += rows * sum(1 for _ in condition.walk())
        if len(_spent) > 1_000:
            _spent.clear()
        _spent[condition] = spent
    return spent >= _WORTH_COMPILING


@lru_cache(256)
def _compile(condition: Expression, columns: pa.Schema) -> Compiled | NotCompiled:
    compiled = compile_condition(condition, {"": columns})
    # Without a column there is nothing to loop over.
    return NotCompiled("no column is read") if isinstance(compiled, Compiled) and not compiled.operands else compiled


@lru_cache(256)
def _load(compiled: Compiled) -> Any:
    names = []
    for number, operand in enumerate(compiled.operands):
        names += [f"a{number}", *([f"a{number}_valid"] if operand.nullable else [])]
    text = _LOOP.format(arguments=", ".join(names), values=", ".join(f"{name}[row]" for name in names))
    return load_text(AROUND_CONDITION.format(condition=compiled.python, loop=text), "mask")
