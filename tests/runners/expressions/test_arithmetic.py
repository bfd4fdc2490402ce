"""Arithmetic and functions of numbers over Arrow columns: each rule by hand."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.runners.expressions.values import HIGH, INF, LOW, NAN, check


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e.x + 1", [6, None, LOW + 1, None, 1]),
        ("e.x - 1", [4, HIGH - 1, None, None, -1]),
        ("e.x * 2", [10, None, None, None, 0]),
        ("e.x * e.x", [25, None, None, None, 0]),
        ("-e.x", [-5, -HIGH, None, None, 0]),
        ("ABS(e.x)", [5, HIGH, None, None, 0]),
        ("e.x * -1", [-5, -HIGH, None, None, 0]),
        ("e.x + NULL", [None, None, None, None, None]),
    ],
)
def test_whole_numbers_that_overflow_are_null(text: str, expected: list[int | None]) -> None:
    check(text, expected, x=[5, HIGH, LOW, None, 0])


def test_small_whole_numbers_are_widened_first() -> None:
    for kind in (pa.int8(), pa.int16(), pa.int32()):
        largest = 2 ** (kind.bit_width - 1) - 1
        check("e.x + e.x", [2 * largest, None], x=pa.array([largest, None], kind))
        check("ABS(e.x)", [largest + 1], x=pa.array([-largest - 1], kind))


def test_unsigned_numbers_that_do_not_fit_are_null() -> None:
    check("e.x", [HIGH, None, None, 0], x=pa.array([HIGH, 2**63, 2**64 - 1, 0], pa.uint64()))


def test_division_gives_floats_and_null_for_zero() -> None:
    check("e.a / e.b", [2.5, None, None, -0.0], a=[5, 5, 0, 0], b=[2, 0, 0, -3])
    check("e.a / e.b", [None, None, INF, NAN], a=[1.0, NAN, INF, NAN], b=[-0.0, 0.0, 2.0, 1.0])


def test_remainder_has_the_sign_of_the_dividend() -> None:
    check("e.a % e.b", [2, -2, 2, None, 0, None], a=[5, -5, 5, 5, LOW, None], b=[3, 3, -3, 0, -1, 2])
    check(
        "e.a % e.b",
        [1.5, -1.5, -0.0, None, NAN, 5.0],
        a=[5.5, -5.5, -4.0, 1.0, INF, 5.0],
        b=[2.0, 2.0, 2.0, 0.0, 2.0, INF],
    )


def test_floats_overflow_to_infinity() -> None:
    check("e.x * 10", [INF, -INF, 1.0], x=[1e308, -1e308, 0.1])
    check("-e.x", [-0.0, NAN, -INF], x=[0.0, NAN, INF])


def test_literals_are_bigint_or_double() -> None:
    check("3 + 4", [7])
    check("3 + 4.0", [7.0])
    check("1e2", [100.0])


def test_decimals_are_floats_in_arithmetic_and_rounded_correctly() -> None:
    check("e.x + 1", [1.1, None], x=pa.array([Decimal("0.10"), None], pa.decimal128(10, 2)))
    texts = ["1.66", "140.9675203126", "9007199254740993.1", "0.30000000000000000001", "123456789012345678.12345"]
    exact = pa.array([Decimal(text) for text in texts], pa.decimal128(38, 20))
    check("e.x * 1", [float(text) for text in texts], x=exact)
    check("-e.x", [Decimal("-1.50")], x=pa.array([Decimal("1.50")], pa.decimal128(4, 2)))


# Functions


def test_rounding_gives_bigint_or_null_where_it_does_not_fit() -> None:
    numbers = [1.2, -1.2, -0.5, 1e30, -INF, NAN, 2.0**63, -(2.0**63), None]
    check("CEIL(e.x)", [2, -1, 0, None, None, None, None, LOW, None], x=numbers)
    check("FLOOR(e.x)", [1, -2, -1, None, None, None, None, LOW, None], x=numbers)
    check("CEIL(e.x)", [5], x=[5])
    decimals = pa.array([Decimal("99.9"), Decimal("-99.9"), None], pa.decimal128(3, 1))
    check("CEIL(e.x)", [100, -99, None], x=decimals)
    check("FLOOR(e.x)", [99, -100, None], x=decimals)
    check("CEIL(e.x)", [None], x=pa.array([Decimal(10**20)], pa.decimal128(21, 0)))


def test_sign_and_square_root() -> None:
    check("SIGN(e.x)", [-1.0, 0.0, -0.0, 1.0, NAN, None], x=[-2.5, 0.0, -0.0, INF, NAN, None])
    check("SIGN(e.x)", [-1, 0, 1], x=[LOW, 0, 7])
    check("SIGN(e.x)", [-1.0], x=pa.array([Decimal("-0.01")], pa.decimal128(4, 2)))
    check("SQRT(e.x)", [3.0, NAN, -0.0, None], x=[9.0, -1.0, -0.0, None])
    check("SQRT(e.x)", [3.0], x=[9])


def test_coalesce_and_nullif() -> None:
    check("COALESCE(e.a, e.b, 7)", [1, 2, 7], a=[1, None, None], b=[3, 2, None])
    check("COALESCE(NULL, e.a, 0.5)", [1.0, 0.5], a=[1, None])
    check("COALESCE(NULL, NULL)", [None])
    check("NULLIF(e.a, e.b)", [None, 2, None, 4], a=[1, 2, None, 4], b=[1, 3, 1, None])
    check("NULLIF(e.a, 1.0)", [None, 2], a=[1, 2])
    check("NULLIF(e.a, e.b)", [None, None], a=[NAN, 0.0], b=[NAN, -0.0])


def test_greatest_and_least_pass_nulls_over() -> None:
    columns: dict[str, Any] = {"a": [1.0, None, NAN, None, -0.0], "b": [2.0, 1.0, INF, None, 0.0]}
    check("GREATEST(e.a, e.b)", [2.0, 1.0, NAN, None, -0.0], **columns)
    check("LEAST(e.a, e.b)", [1.0, 1.0, INF, None, -0.0], **columns)
    check("GREATEST(e.a, NULL, 3)", [3, 5], a=[1, 5])
    check("GREATEST(e.a, e.b)", ["b", "é"], a=["b", "z"], b=["B", "é"])
