"""Compiled conditions as functions of this process, and the arrays that they read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as types

from trendweave.expressions.compiled.condition import Compiled, Operand

#: The text of a module with a condition, `test`, and a loop that calls it: both are compiled together.
AROUND_CONDITION = """import numpy as np
from numpy import ceil, float64, floor, fmod, inf, int64, nan, sqrt, trunc


@called
{condition}
{loop}"""


def argument_names(compiled: Compiled) -> list[tuple[str, str]]:
    """The names of arrays in the order of a condition's arguments, and their sides."""
    names = []
    for number, operand in enumerate(compiled.operands):
        names.append((f"a{number}", operand.side))
        if operand.nullable:
            names.append((f"a{number}_valid", operand.side))
    return names


def read_operands(compiled: Compiled, side: str, rows: pa.Table | pa.RecordBatch) -> Iterator[np.ndarray]:
    """The arrays of one side that a condition reads, in the order of its arguments.

    Args:
        compiled: The condition.
        side: Whose columns to read.
        rows: The rows of this side.

    Yields:
        Values and, where nullable, validity.
    """
    for operand in compiled.operands:
        if operand.side == side:
            yield from read_operand(operand, rows.column(operand.column))


def read_operand(operand: Operand, column: pa.Array | pa.ChunkedArray) -> list[np.ndarray]:
    """The values of a column in its storage type, and its validity where a condition takes it."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    assert operand.nullable or not column.null_count, f"{operand.column} has NULL"
    if types.is_boolean(column.type):
        values = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    else:
        # Without looking at validity: what lies below a NULL is a number, too.
        buffer = column.buffers()[1]
        size = operand.dtype.itemsize
        values = np.frombuffer(buffer, operand.dtype, len(column), column.offset * size) if len(column) else _EMPTY
        values = values.astype(operand.dtype, copy=False)
    if not operand.nullable:
        return [values]
    return [values, pc.is_valid(column).to_numpy(zero_copy_only=False)]


_EMPTY = np.zeros(0)


def without_nulls(rows: pa.Table | pa.RecordBatch) -> pa.Schema:
    """The schema of rows, where columns without NULL are not nullable: conditions on them cost less."""
    return pa.schema(
        [field.with_nullable(column.null_count > 0) for field, column in zip(rows.schema, rows.columns, strict=True)]
    )
