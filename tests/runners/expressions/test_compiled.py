"""Compiled conditions mean what the Arrow evaluator says, value by value and to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, note
from hypothesis import strategies as some

from tests.profiles import examples
from tests.runners.expressions.random_expressions import anything, awkward_rows, conditions
from trendweave.expressions.arrow.evaluate import evaluate, is_true
from trendweave.expressions.compiled.columns import Columns
from trendweave.expressions.compiled.condition import Compiled, NotCompiled, compile_condition
from trendweave.expressions.compiled.loading import (
    AROUND_CONDITION,
    read_operand,
    read_operands,
    without_nulls,
)
from trendweave.expressions.compiled.meaning import Meaning
from trendweave.expressions.compiled.steps import Steps
from trendweave.expressions.compiled.values import CannotCompile
from trendweave.expressions.compiled.written import write_python
from trendweave.language import syntax_tree as st
from trendweave.language.operator_texts import read_condition
from trendweave.language.printer import print_expression

ROWS = awkward_rows()


def load_plain(source: str) -> Callable[..., Any]:
    """A condition as a plain function of NumPy's scalars, with the names that loops give it."""
    names: dict[str, Any] = {"called": lambda function: function}
    exec(AROUND_CONDITION.format(condition=source, loop=""), names)
    return names["test"]


def values_of(expression: st.Expression, rows: pa.Table) -> list[Any]:
    """What the steps of an expression give, row by row, in plain Python."""
    steps = Steps()
    columns = Columns(steps, {"": without_nulls(rows)})
    typed = Meaning(steps, columns.value, columns.presence).value(expression)
    names = columns.arguments()
    value, valid = (load_plain(write_python(names, steps.made, part)) for part in (typed.value, typed.valid))
    arrays = [array for operand in columns.operands for array in read_operand(operand, rows.column(operand.column))]
    with np.errstate(all="ignore"):
        lines = [[array[row] for array in arrays] for row in range(rows.num_rows)]
        return [np.array(value(*line)).item() if valid(*line) else None for line in lines]


def as_numbers(column: pa.Array) -> list[Any]:
    if pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64())
    return column.to_pylist()


def identity(value: Any) -> Any:
    """NaN is NaN, 0.0 is not -0.0, 1 is neither 1.0 nor True."""
    return type(value), repr(value)


def truths(compiled: Compiled, rows: pa.Table, test: Any) -> list[bool]:
    arrays = list(read_operands(compiled, "", rows))
    with np.errstate(all="ignore"):
        return [bool(test(*(array[row] for array in arrays))) for row in range(rows.num_rows)]


@examples(250)
@given(expression=anything)
def test_steps_give_what_arrow_gives(expression: st.Expression) -> None:
    note(print_expression(expression))

    found = values_of(expression, ROWS)

    expected = as_numbers(evaluate(expression, ROWS))
    assert list(map(identity, found)) == list(map(identity, expected))


@examples(100)
@given(expression=conditions(3), first=some.integers(0, 11))
def test_conditions_of_sliced_rows(expression: st.Expression, first: int) -> None:
    note(print_expression(expression))
    rows = ROWS.slice(first)
    compiled = compile_condition(expression, {"": rows.schema})
    assert isinstance(compiled, Compiled)

    assert truths(compiled, rows, load_plain(compiled.python)) == is_true(expression, rows).tolist()


LISTED = [
    "i64 + j64 > 0 OR i64 * j64 < 5 OR i64 % j64 = 1 OR -i64 = j64 OR ABS(i64) = 7",
    "NOT (f64 / g64 <= SQRT(ABS(g64))) AND f64 % 2 != 0.5 OR SIGN(f64) = g64",
    "FLOOR(f64) = CEIL(g64) OR CAST(f64 AS BIGINT) > 3 OR u64 > 5 OR i8 IN (1, NULL, 3)",
    "moment - coarse < 5 minutes OR fine + span >= day OR COALESCE(moment, coarse) = day",
    "GREATEST(f64, g64) = LEAST(f32, 2) OR NULLIF(f64, g64) IS NULL OR f64 BETWEEN g64 AND f32",
]


@pytest.mark.parametrize("text", LISTED)
def test_numba_gives_the_same(text: str) -> None:
    expression = read_condition(text)
    compiled = compile_condition(expression, {"": without_nulls(ROWS)})
    assert isinstance(compiled, Compiled)

    assert (
        truths(compiled, ROWS, numba.njit(error_model="numpy")(load_plain(compiled.python)))
        == is_true(expression, ROWS).tolist()
    )


def test_a_pair_of_rows() -> None:
    left = pa.table({"x": pa.array([1.0, 2.0, None]), "n": pa.array([1, 2, 3], pa.int32())})
    right = pa.table({"x": pa.array([1.5, NaN, 0.0], pa.float32())})
    sides = {"left": without_nulls(left), "right": without_nulls(right)}
    compiled = compile_condition(read_condition("abs(left.x - right.x) <= 0.5 and left.n < 3"), sides)

    assert isinstance(compiled, Compiled)
    assert [(each.side, each.column, each.dtype.name, each.nullable) for each in compiled.operands] == [
        ("left", "x", "float64", True),
        ("right", "x", "float32", False),
        ("left", "n", "int32", False),
    ]
    assert compiled.python.startswith("def test(a0, a0_valid, a1, a2):\n")
    assert compiled.cuda.startswith("__device__ bool test(double a0, bool a0_valid, float a1, int a2) {\n")
    test = load_plain(compiled.python)
    assert test(np.float64(1.0), True, np.float32(1.5), np.int32(1))
    assert not test(np.float64(1.0), False, np.float32(1.5), np.int32(1))
    assert not test(np.float64(1.0), True, np.float32(1.5), np.int32(3))


NaN = math.nan


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("text = 'a'", "text of type string"),
        ("text LIKE 'a%'", "LIKE"),
        ("i64 > 1 AND 'a' < 'b'", "texts"),
        ("YEAR(moment) = 2020", "the function YEAR"),
        ("cents > 1", "cents of type decimal128(9, 2)"),
        ("ROUND(f64, 2) = 1", "the function ROUND"),
        ("s.a = 1", "s.a, which is not a column by itself"),
    ],
)
def test_what_is_not_compiled_says_so(text: str, reason: str) -> None:
    others = pa.schema([("text", pa.string()), ("cents", pa.decimal128(9, 2)), ("s", pa.struct([("a", pa.int64())]))])
    schema = pa.schema([*ROWS.schema, *others])

    assert compile_condition(read_condition(text), {"": schema}) == NotCompiled(reason)


def test_a_planted_difference_is_found() -> None:
    column = pc.add(ROWS.column("f64"), 0.0).combine_chunks()  # -0.0 becomes 0.0

    assert list(map(identity, column.to_pylist())) != list(map(identity, values_of(read_condition("f64"), ROWS)))


def test_numbers_of_more_than_64_bits_have_no_steps() -> None:
    with pytest.raises(CannotCompile, match="64 bits"):
        values_of(st.Literal(2**63), ROWS)
