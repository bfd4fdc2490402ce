"""Comparisons, lists, ranges and logic over Arrow columns: each rule by hand."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tests.runners import row_expression
from tests.runners.expressions.values import FACE, INF, NAN, check
from trendweave.expressions.arrow.evaluate import is_true
from trendweave.language import syntax_tree as st


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("<", [True, False, False, None, None]),
        ("<=", [True, True, False, None, None]),
        (">", [False, False, True, None, None]),
        (">=", [False, True, True, None, None]),
        ("=", [False, True, False, None, None]),
        ("!=", [True, False, True, None, None]),
    ],
)
def test_comparison_with_null_is_null(operator: str, expected: list[bool | None]) -> None:
    check(f"e.a {operator} e.b", expected, a=[1, 2, 3, None, 4], b=[2, 2, 2, 2, None])


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("<", [False, False, True, False, False]),
        ("<=", [True, False, True, True, True]),
        (">", [False, True, False, False, False]),
        (">=", [True, True, False, True, True]),
        ("=", [True, False, False, True, True]),
        ("!=", [False, True, True, False, False]),
    ],
)
def test_nan_equals_itself_and_is_above_infinity_and_zeros_are_equal(operator: str, expected: list[bool]) -> None:
    check(f"e.a {operator} e.b", expected, a=[NAN, NAN, INF, 0.0, -0.0], b=[NAN, INF, NAN, -0.0, 0.0])


def test_a_whole_number_next_to_a_float_is_a_float() -> None:
    check("e.i = e.f", [True, False], i=[2**53 + 1, 5], f=[2.0**53, 5.5])
    check("e.i = 9007199254740993", [True, False], i=[2**53 + 1, 2**53])


def test_decimals_are_compared_exactly_with_decimals_and_whole_numbers() -> None:
    cents = pa.array([Decimal("0.10"), Decimal("12.00"), None], pa.decimal128(10, 2))
    fine = pa.array([Decimal("0.1000000001"), Decimal("12"), Decimal(1)], pa.decimal128(38, 10))
    check("e.a < e.b", [True, False, None], a=cents, b=fine)
    check("e.a = e.i", [False, True, None], a=cents, i=[0, 12, 1])
    check("e.a = 0.1", [True, False, None], a=cents)
    large = pa.array([Decimal(2**53 + 1)], pa.decimal128(20, 0))
    check("e.a = e.i", [False], a=large, i=[2**53])
    check("e.a = e.f", [True], a=large, f=[2.0**53])


def test_decimals_that_need_more_than_38_digits_together_lose_the_last_ones_as_in_spark() -> None:
    whole = pa.array([Decimal(1)], pa.decimal128(38, 0))
    fine = pa.array([Decimal("1.4")], pa.decimal128(38, 30))
    check("e.a = e.b", [True], a=whole, b=fine)


def test_strings_are_compared_by_their_bytes() -> None:
    check("e.a < e.b", [True, True, True, False], a=["B", "a", "\uffff", "a"], b=["a", "á", FACE, ""])


def test_booleans_and_binary_are_ordered() -> None:
    check("e.a < e.b", [True, False, False], a=[False, True, True], b=[True, True, False])
    check("e.a < e.b", [True, False], a=[b"\x7f", b"\xff"], b=[b"\x80", b"\x00"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e.x IN (1, 2)", [True, False, None]),
        ("e.x IN (1, NULL)", [True, None, None]),
        ("e.x NOT IN (1, NULL)", [False, None, None]),
        ("e.x NOT IN (1, 2)", [False, True, None]),
        ("e.x IN (e.x, 7)", [True, True, None]),
        ("e.x IN (NULL)", [None, None, None]),
        ("NULL IN (1)", [None, None, None]),
        ("e.x BETWEEN 1 AND 2", [True, False, None]),
        ("e.x BETWEEN 2 AND NULL", [False, None, None]),
        ("e.x NOT BETWEEN 2 AND NULL", [True, None, None]),
        ("e.x BETWEEN 0.5 AND 3", [True, True, None]),
        ("e.x IS NULL", [False, False, True]),
        ("e.x IS NOT NULL", [True, True, False]),
        ("e.x = NULL", [None, None, None]),
        ("NULL = NULL", [None, None, None]),
    ],
)
def test_lists_ranges_and_null(text: str, expected: list[bool | None]) -> None:
    check(text, expected, x=[1, 3, None])


def test_nan_in_lists_and_ranges() -> None:
    check("e.x IN (e.y)", [True, False, True], x=[NAN, NAN, -0.0], y=[NAN, 1.0, 0.0])
    check("e.x BETWEEN 0.0 AND e.y", [True, False], x=[NAN, NAN], y=[NAN, INF])


def test_logic_has_three_values() -> None:
    a = [True, True, True, False, False, False, None, None, None]
    b = [True, False, None] * 3
    check("e.a AND e.b", [True, False, None, False, False, False, None, False, None], a=a, b=b)
    check("e.a OR e.b", [True, True, True, True, False, None, True, None, None], a=a, b=b)
    check("NOT e.a", [False, None, True], a=[True, None, False])
    check("e.a AND NULL", [None, False, None], a=[True, False, None])


def test_is_true_takes_null_as_false() -> None:
    rows = pa.table({"x": [1, None, 3]})
    found = is_true(row_expression("e.x > 1"), rows)
    assert found.dtype == np.bool_
    assert found.tolist() == [False, False, True]
    assert is_true(st.Literal(None), rows).tolist() == [False, False, False]
    assert is_true(st.Literal(True), rows).tolist() == [True, True, True]
