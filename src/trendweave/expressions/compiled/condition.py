"""Conditions on one row or a pair of rows as compiled scalar code, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from trendweave.expressions.compiled.columns import Columns, Operand
from trendweave.expressions.compiled.conditions import is_true
from trendweave.expressions.compiled.meaning import Meaning
from trendweave.expressions.compiled.steps import Steps
from trendweave.expressions.compiled.values import CannotCompile
from trendweave.expressions.compiled.written import write_cuda, write_python
from trendweave.language import syntax_tree as st

__all__ = ["Compiled", "NotCompiled", "Operand", "compile_condition"]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A condition as a function of numbers.

    Attributes:
        operands: The columns it reads. Its arguments are, for each, the value and, if nullable, whether that is valid.
        python: The source of a Python function `test` that says whether the condition is true.
        cuda: The same in CUDA C, `__device__ bool test(...)`.
    """

    operands: tuple[Operand, ...]
    python: str
    cuda: str


@dataclass(frozen=True, slots=True)
class NotCompiled:
    """There is no compiled form.

    Attributes:
        reason: Which part has none.
    """

    reason: str


def compile_condition(expression: st.Expression, sides: Mapping[str, pa.Schema]) -> Compiled | NotCompiled:
    """Write a condition as scalar code with the meaning that `expressions.arrow` gives it; NULL is not true.

    Args:
        expression: A condition. With one side it names columns alone, with several as `left.x`.
        sides: The columns of each row by the name of its side; nothing is the name of the only one. A field that is
            not nullable is taken without validity.

    Returns:
        The code, or why there is none.
    """
    steps = Steps()
    columns = Columns(steps, sides)
    try:
        result = is_true(steps, Meaning(steps, columns.value, columns.presence).value(expression))
    except CannotCompile as reason:
        return NotCompiled(str(reason))
    return Compiled(
        tuple(columns.operands),
        write_python(columns.arguments(), steps.made, result),
        write_cuda(columns.arguments(), steps.made, result),
    )
