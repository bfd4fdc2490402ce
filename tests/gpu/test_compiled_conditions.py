"""Conditions in CUDA C mean what the Arrow evaluator says, in every row."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from tests.gpu.simulator import SimulatedCard
from tests.profiles import PROFILE
from tests.runners.expressions.random_expressions import awkward_rows, conditions
from tests.runners.expressions.test_compiled import LISTED
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.expressions.compiled.condition import Compiled, compile_condition
from trendweave.expressions.compiled.loading import read_operands, without_nulls
from trendweave.expressions.compiled.written import CUDA_TYPES
from trendweave.language import syntax_tree as st
from trendweave.language.operator_texts import read_condition
from trendweave.language.printer import print_expression

ROWS = awkward_rows()
_KERNEL = """
extern "C" __global__ void ask_{number}(bool* found, long long rows{taken}) {{
    long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (row < rows) found[row] = condition_{number}::test({values});
}}
"""


def in_cuda(number: int, condition: Compiled) -> str:
    """A condition in a namespace of its own, and a kernel that asks it."""
    arguments = [(f"a{place}", operand.dtype.name) for place, operand in enumerate(condition.operands)]
    arguments = [
        argument
        for operand, own in zip(condition.operands, arguments, strict=True)
        for argument in ([own, (f"{own[0]}_valid", "bool")] if operand.nullable else [own])
    ]
    kernel = _KERNEL.format(
        number=number,
        taken="".join(f", const {CUDA_TYPES[dtype]}* {name}" for name, dtype in arguments),
        values=", ".join(f"{name}[row]" for name, _ in arguments),
    )
    return f"namespace condition_{number} {{\n{condition.cuda}}}\n{kernel}"


def check(card: SimulatedCard, expressions: list[st.Expression]) -> None:
    compiled = [compile_condition(expression, {"": without_nulls(ROWS)}) for expression in expressions]
    known = [one for one in compiled if isinstance(one, Compiled)]
    assert len(known) == len(expressions)
    source = "\n".join(in_cuda(number, condition) for number, condition in enumerate(known))
    for number, (expression, condition) in enumerate(zip(expressions, known, strict=True)):
        found = card.put(np.zeros(ROWS.num_rows, np.bool_))
        arrays = [card.put(array) for array in read_operands(condition, "", ROWS)]
        card.launch(source, f"ask_{number}", 1, 32, [found, ROWS.num_rows, *arrays])
        assert card.get(found).tolist() == is_true(expression, ROWS).tolist(), print_expression(expression)


def test_listed_conditions(card: SimulatedCard) -> None:
    check(card, [read_condition(text) for text in LISTED])


@settings(
    max_examples=4 if PROFILE == "ci" else 40,  # the first has nothing but simple ones
    phases=[Phase.generate],  # each try is compiled
    suppress_health_check=list(HealthCheck),
)
@given(expressions=some.lists(conditions(3), min_size=50, max_size=50))
def test_random_conditions(card: SimulatedCard, expressions: list[st.Expression]) -> None:
    check(card, expressions)
