"""A compiled condition on two rows together with the columns that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.expressions.compiled.condition import NotCompiled, compile_condition
from trendweave.expressions.compiled.loading import read_operand
from trendweave.language import syntax_tree as st

#: How a condition names the two rows.
LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class PairColumn:
    """An argument of the condition: of which of the two rows, and its value in every row."""

    side: str
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class PairCondition:
    """When an earlier row (left) and a later one (right) belong together.

    Attributes:
        columns: What the function `test` takes, in order.
        python: Its source for Numba.
        cuda: Its source in CUDA C.
    """

    columns: tuple[PairColumn, ...]
    python: str
    cuda: str


def pair_condition(expression: st.Expression, columns: Mapping[str, pa.ChunkedArray]) -> PairCondition | NotCompiled:
    """Compile a condition on two rows of one table.

    Args:
        expression: It names columns as `left.x` and `right.x`.
        columns: The columns of the table, by name.

    Returns:
        The condition with its columns, or why it is not compiled.
    """
    # A column without NULL is taken without validity, which costs less.
    may_be_null = {name: column.null_count > 0 or pa.types.is_null(column.type) for name, column in columns.items()}
    schema = pa.schema([pa.field(name, column.type, may_be_null[name]) for name, column in columns.items()])
    compiled = compile_condition(expression, {LEFT: schema, RIGHT: schema})
    if isinstance(compiled, NotCompiled):
        return compiled
    taken = [
        PairColumn(operand.side, values)
        for operand in compiled.operands
        for values in read_operand(operand, columns[operand.column])
    ]
    return PairCondition(tuple(taken), compiled.python, compiled.cuda)
