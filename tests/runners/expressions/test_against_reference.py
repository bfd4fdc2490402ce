"""Rows of any kind, and comparison and arithmetic against the reference."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as some

from tests.reference.scalars import ARITHMETIC, COMPARISONS, calculate, first_true, holds
from tests.runners import row_expression
from tests.runners.expressions.values import HIGH, INF, LOW, NAN, check, same_values
from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true, make_columns_comparable
from trendweave.language import syntax_tree as st


def test_nested_columns() -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 2, None])], ["b"])
    outer = pa.StructArray.from_arrays([inner], ["a"], mask=pa.array([False, True, False]))
    check("e.s.a.b + 1", [2, None, None], s=outer)
    check("e.s IS NULL", [False, True, False], s=outer)
    assert column_of(pa.table({"s": outer}), ("s", "a", "b")).to_pylist() == [1, None, None]


def test_batches_slices_and_no_rows() -> None:
    rows = pa.table({"x": pa.chunked_array([[1, 2], [3, None]]), "s": ["a", "é", "c", None]})
    for text in ("e.x % 2", "SUBSTRING(e.s, 1, 1)", "UPPER(e.s)", "CAST(e.s AS DOUBLE)", "e.x IN (1, 2)", "7"):
        expression = row_expression(text)
        whole = evaluate(expression, rows)
        assert isinstance(whole, pa.Array)
        assert evaluate(expression, rows.slice(1, 2)).to_pylist() == whole.to_pylist()[1:3]
        assert evaluate(expression, rows.combine_chunks().to_batches()[0]).equals(whole)
        assert evaluate(expression, rows.slice(4)).equals(whole.slice(0, 0))


def test_two_rows() -> None:
    expression = st.Comparison("<", st.Attribute(("x",)), st.NextAttribute("E", ("x",)))
    assert is_true(expression, pa.table({"x": [1, 5]}), pa.table({"x": [2.5, 3.5]})).tolist() == [True, False]


def test_comparable_columns_have_one_type() -> None:
    whole, seconds = make_columns_comparable(
        [pa.chunked_array([[1, 2], [None]]), pa.array([1, 2, 3], pa.duration("s"))]
    )
    assert whole.type == seconds.type == pa.float64()
    assert (whole.to_pylist(), seconds.to_pylist()) == ([1.0, 2.0, None], [1.0, 2.0, 3.0])
    day, moment = make_columns_comparable([pa.array([date(1970, 1, 2)]), pa.array([5], pa.timestamp("ns"))])
    assert day.type == moment.type == pa.timestamp("ns", "UTC")


# Against the reference

integers = some.one_of(some.integers(LOW, HIGH), some.sampled_from([0, 1, -1, LOW, HIGH, 2**53, 2**53 + 1, 2**32]))
floats = some.one_of(some.floats(), some.sampled_from([0.0, -0.0, NAN, INF, -INF, 2.0**53, 2.0**63, 1e308]))
columns_of_numbers = some.one_of(
    some.tuples(some.just(pa.int64()), some.lists(some.none() | integers, min_size=4, max_size=4)),
    some.tuples(some.just(pa.float64()), some.lists(some.none() | floats, min_size=4, max_size=4)),
)


@given(left=columns_of_numbers, right=columns_of_numbers)
def test_numbers_agree_with_the_reference(
    left: tuple[pa.DataType, list[Any]], right: tuple[pa.DataType, list[Any]]
) -> None:
    rows = pa.table({"a": pa.array(left[1], left[0]), "b": pa.array(right[1], right[0])})
    pairs = list(zip(left[1], right[1], strict=True))
    a, b = st.Attribute(("a",)), st.Attribute(("b",))
    for comparison in COMPARISONS:
        expected = [holds(one, comparison, other) for one, other in pairs]
        assert is_true(st.Comparison(comparison, a, b), rows).tolist() == expected
    for operator in ARITHMETIC:
        found = evaluate(st.Arithmetic(operator, a, b), rows).to_pylist()
        assert same_values(found, [calculate(one, operator, other) for one, other in pairs]), operator


@given(first=columns_of_numbers, second=columns_of_numbers, data=some.data())
def test_case_agrees_with_the_reference(
    first: tuple[pa.DataType, list[Any]], second: tuple[pa.DataType, list[Any]], data: some.DataObject
) -> None:
    """Between columns of one type: a reference value does not know that its column has doubles."""
    flags = data.draw(some.lists(some.sampled_from([True, False, None]), min_size=4, max_size=4))
    rows = pa.table(
        {"p": pa.array(flags, pa.bool_()), "a": pa.array(first[1], first[0]), "b": pa.array(second[1], second[0])}
    )
    expression = row_expression("CASE WHEN e.p THEN e.a WHEN e.a < e.b THEN e.b ELSE 7 END")
    lines = zip(flags, first[1], second[1], strict=True)
    expected = [first_true([(p, a), (holds(a, "<", b), b)], 7) for p, a, b in lines]
    if pa.float64() in (first[0], second[0]):
        expected = [None if value is None else float(value) for value in expected]
    assert same_values(evaluate(expression, rows).to_pylist(), expected)


@given(left=some.lists(some.none() | some.text(max_size=3), min_size=4, max_size=4), data=some.data())
def test_texts_agree_with_the_reference(left: list[str | None], data: some.DataObject) -> None:
    right = data.draw(some.permutations(left))
    rows = pa.table({"a": pa.array(left, pa.string()), "b": pa.array(right, pa.string())})
    for comparison in COMPARISONS:
        expected = [holds(one, comparison, other) for one, other in zip(left, right, strict=True)]
        expression = st.Comparison(comparison, st.Attribute(("a",)), st.Attribute(("b",)))
        assert is_true(expression, rows).tolist() == expected
