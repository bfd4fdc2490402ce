"""Steps -> the text of a function, in Python for Numba and in CUDA C, with the same arguments in the same order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trendweave.expressions.compiled.operations import OPERATIONS
from trendweave.expressions.compiled.steps import Constant, Reference, Step

#: How CUDA C calls what NumPy's dtypes hold.
CUDA_TYPES = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}


def write_python(arguments: Sequence[tuple[str, str]], steps: Sequence[Step], result: Reference) -> str:
    """Write a function `test`. It uses int64, float64, fmod, sqrt, floor, ceil, trunc, inf and nan of NumPy and `abs`.

    Args:
        arguments: Names and dtypes.
        steps: What it does.
        result: What it returns.

    Returns:
        Its source.
    """
    lines = [f"def test({', '.join(name for name, _ in arguments)}):"]
    for step in steps:
        written = OPERATIONS[step.operation].python.format(*map(_python, step.arguments))
        lines.append(f"    {step.name} = {written}")
    return "\n".join([*lines, f"    return {_python(result)}", ""])


def write_cuda(arguments: Sequence[tuple[str, str]], steps: Sequence[Step], result: Reference) -> str:
    """Write a device function `test`. It must be compiled without fused multiply-add to give the same numbers.

    Args:
        arguments: Names and dtypes.
        steps: What it does.
        result: What it returns.

    Returns:
        Its source.
    """
    taken = ", ".join(f"{CUDA_TYPES[dtype]} {name}" for name, dtype in arguments)
    lines = [f"__device__ bool test({taken}) {{"]
    for step in steps:
        operation = OPERATIONS[step.operation]
        lines.append(
            f"    {operation.result.value} {step.name} = {operation.cuda.format(*map(_cuda, step.arguments))};"
        )
    return "\n".join([*lines, f"    return {_cuda(result)};", "}", ""])


def _python(reference: Reference) -> str:
    if not isinstance(reference, Constant):
        return reference.text
    value = reference.value
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"int64({value})"
    return f"float64({value!r})" if math.isfinite(value) else repr(value)


def _cuda(reference: Reference) -> str:
    if not isinstance(reference, Constant):
        return reference.text
    value = reference.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"({value}LL)" if value != -(2**63) else "(-9223372036854775807LL - 1LL)"
    if math.isfinite(value):
        return f"({value!r})"
    return {"inf": "(1.0 / 0.0)", "-inf": "(-1.0 / 0.0)"}.get(repr(value), "(0.0 / 0.0)")
