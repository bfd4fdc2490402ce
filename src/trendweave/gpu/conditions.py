"""Compiled conditions as texts in CUDA C, with the names of what they read."""

from __future__ import annotations

from functools import lru_cache

from trendweave.errors import ExecutionError, Problem
from trendweave.expressions.compiled.condition import Compiled, NotCompiled, Operand
from trendweave.expressions.compiled.written import CUDA_TYPES
from trendweave.gpu.sources import cuda_text


def require_compiled(found: Compiled | NotCompiled) -> Compiled:
    """The code of a condition.

    Raises:
        ExecutionError: There is none, so that no card can evaluate it.
    """
    if isinstance(found, NotCompiled):
        message = f"this condition is not evaluated on a graphics card: {found.reason}"
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
