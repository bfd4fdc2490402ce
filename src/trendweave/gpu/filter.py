"""Filters on a GPU: conditions as CUDA C, the columns that they read go there, and a bit per row comes back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.compiled.condition import Compiled, NotCompiled, Operand, compile_condition
from trendweave.expressions.compiled.loading import without_nulls
from trendweave.expressions.compiled.written import CUDA_TYPES
from trendweave.gpu.card import Card, cuda_text, memory_told
from trendweave.gpu.columns import CardColumn, put_column
from trendweave.language.syntax_tree import Expression


def require_compiled(found: Compiled | NotCompiled) -> Compiled:
    """The code of a condition.

    Raises:
        ExecutionError: There is none, so that no card can evaluate it.
    """
    if isinstance(found, NotCompiled):
        message = f"this condition is not evaluated on a GPU: {found.reason}"
        raise ExecutionError([Problem("TW422", message, "use device='threads' or 'cpu'")])
    return found


def parameters(operands: tuple[Operand, ...]) -> str:
    """Pointers to columns, with a comma before each: those of values, and of validity where there is some."""
    return "".join(
        f", const {CUDA_TYPES[operand.dtype.name]}* __restrict__ c{number}"
        + (f", const unsigned char* __restrict__ v{number}" if operand.nullable else "")
        for number, operand in enumerate(operands)
    )


@lru_cache(64)
def filter_text(compiled: Compiled) -> str:
    """Kernels that evaluate a condition on rows."""
    values = ", ".join(
        f"c{number}[row]" + (f", v{number}[row]" if operand.nullable else "")
        for number, operand in enumerate(compiled.operands)
    )
    text = cuda_text("filter").replace("PARAMETERS", parameters(compiled.operands), 2).replace("VALUES", values)
    return f"{compiled.cuda}\n{text}"


#: So many probes a thread compares with each row of a tile.
PROBES = 4


@lru_cache(64)
def join_text(compiled: Compiled, probe_side: str, file: str) -> str:
    """Kernels that evaluate a condition on pairs of rows.

    Args:
        compiled: The condition.
        probe_side: Rows of this side each look for rows of the other one.
        file: Where they lie.
    """
    # Floats are widened when they are loaded, once for many pairs; the condition would widen them for each.
    test = re.sub(r"\bfloat (a\d+\b)", r"double \1", compiled.cuda)
    probe: list[tuple[str, str, str]] = []
    other: list[tuple[str, str, str]] = []
    for number, operand in enumerate(compiled.operands):
        kind = CUDA_TYPES[operand.dtype.name]
        names = [("double" if kind == "float" else kind, f"x{number}", f"c{number}")]
        names += [("bool", f"y{number}", f"v{number}")] if operand.nullable else []
        (probe if operand.side == probe_side else other).extend(names)
    arguments = [
        (operand.side == probe_side, name)
        for number, operand in enumerate(compiled.operands)
        for name in ([f"x{number}", f"y{number}"] if operand.nullable else [f"x{number}"])
    ]
    in_tile = ", ".join(f"{name}[r]" if of_probe else f"{name}[j]" for of_probe, name in arguments)
    plain = ", ".join(
        f"{name.replace('x', 'c').replace('y', 'v')}[{'probe' if of_probe else 'row'}]" for of_probe, name in arguments
    )
    macros = {
        "PROBES": str(PROBES),
        "PARAMETERS": parameters(compiled.operands),
        "PROBE_DECLARE": " ".join(f"{kind} {name}[PROBES];" for kind, name, _ in probe),
        "PROBE_LOAD(r, probe)": " ".join(f"{name}[r] = {column}[probe];" for _, name, column in probe),
        "TILE_DECLARE": " ".join(f"__shared__ {kind} {name}[TILE];" for kind, name, _ in other),
        "TILE_LOAD(place, row)": " ".join(f"{name}[place] = {column}[row];" for _, name, column in other),
        "PAIR_IN_TILE(r, j)": f"test({in_tile})",
        "PAIR(probe, row)": f"test({plain})",
    }
    return "\n".join([test, *(f"#define {name} {text}" for name, text in macros.items()), cuda_text(file)])


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
