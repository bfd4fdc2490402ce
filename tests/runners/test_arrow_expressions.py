"""Scalar expressions over Arrow columns: each rule by hand, comparison and arithmetic against the reference."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.reference.scalars import ARITHMETIC, COMPARISONS, calculate, holds
from tests.runners import row_expression
from trendweave.expressions.arrow.evaluate import column_of, evaluate, is_true, make_columns_comparable
from trendweave.language import syntax_tree as st

NAN, INF = math.nan, math.inf
LOW, HIGH = -(2**63), 2**63 - 1
#: A text of one character that takes four bytes.
FACE = "😀"


def values_of(text: str, **columns: Any) -> list[Any]:
    arrays = {name: column if isinstance(column, pa.Array) else pa.array(column) for name, column in columns.items()}
    rows = pa.table(arrays) if arrays else pa.table({"only_one_row": [0]})
    return evaluate(row_expression(text), rows).to_pylist()


def same_values(found: list[Any], expected: list[Any]) -> bool:
    """NaN is NaN, 0.0 is not -0.0, 1 is neither 1.0 nor True."""
    return list(map(_identity, found)) == list(map(_identity, expected))


def _identity(value: Any) -> Any:
    return (type(value), repr(value)) if isinstance(value, bool | int | float | Decimal) else value


def check(text: str, expected: list[Any], **columns: Any) -> None:
    found = values_of(text, **columns)
    assert same_values(found, expected), f"{text}: {found}"


# Comparison


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


# Arithmetic


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


# Strings


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_every_kind_of_string_column_works(kind: pa.DataType) -> None:
    texts = pa.array(["ab", None, "ab", "c"]).cast(kind)
    check("e.x = 'ab'", [True, None, True, False], x=texts)
    check("UPPER(e.x)", ["AB", None, "AB", "C"], x=texts)
    check("CONCAT(e.x, '!', e.x)", ["ab!ab", None, "ab!ab", "c!c"], x=texts)


def test_dictionaries_that_differ_from_chunk_to_chunk() -> None:
    chunks = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", None]).dictionary_encode()])
    assert evaluate(row_expression("e.x = 'b'"), pa.table({"x": chunks})).to_pylist() == [False, True, None]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("a%", ["abc", "a\nc", "a😀c", r"a\bc", "a%c"]),
        ("a_c", ["abc", "a\nc", "a😀c", "a%c"]),
        ("%B%", []),
        (r"a\%c", ["a%c"]),
        (r"a\\%", [r"a\bc"]),
        (r"a\bc", [r"a\bc"]),  # an error in Spark; here a backslash that escapes nothing stands for itself
        ("a.c", []),
        ("bc", []),
        ("", [""]),
    ],
)
def test_like(pattern: str, matches: list[str]) -> None:
    texts = ["abc", "a\nc", "a😀c", r"a\bc", "a%c", ""]
    check(f"e.x LIKE '{pattern}'", [text in matches for text in texts], x=texts)
    check(f"e.x NOT LIKE '{pattern}'", [text not in matches for text in texts], x=texts)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("b", ["abc", "abc\n"]),
        ("^b", []),
        ("^a.c$", ["abc", "a😀c", "a%c", "a\vc"]),
        (r"^a\sc$", ["a\nc", "a\vc"]),
        ("c$", ["abc", "a\nc", "a😀c", "a%c", "a\vc"]),
        ("^(ab?|x)+", ["abc", "a\nc", "a😀c", "a%c", "a\vc", "abc\n"]),
        ("[^a-z]", ["a\nc", "a😀c", "a%c", "a\vc", "abc\n"]),
        (r"\W", ["a\nc", "a😀c", "a%c", "a\vc", "abc\n"]),
        ("^$", [""]),
    ],
)
def test_regular_expressions(pattern: str, matches: list[str]) -> None:
    texts = ["abc", "a\nc", "a😀c", "a%c", "a\vc", "abc\n", ""]
    check(f"e.x RLIKE '{pattern}'", [text in matches for text in texts], x=texts)
    check(f"e.x NOT RLIKE '{pattern}'", [text not in matches for text in texts], x=texts)
    check(f"e.x RLIKE '{pattern}'", [None], x=pa.array([None], pa.string()))


def test_like_of_null_is_null() -> None:
    check("e.x LIKE '%'", [None, True], x=[None, ""])
    check("NULL LIKE '%'", [None])


def test_case_is_that_of_whole_texts() -> None:
    check("UPPER(e.x)", ["SSÉ", "ABC", None, "FI"], x=["ßé", "aBc", None, "ﬁ"])
    check("LOWER(e.x)", ["ας", "abc", "i̇"], x=["ΑΣ", "aBc", "İ"])


def test_length_counts_characters_and_trim_takes_spaces_only() -> None:
    check("LENGTH(e.x)", [7, 0, None], x=[f"héllo{FACE} ", "", None])
    check("TRIM(e.x)", ["a b", "\ta", ""], x=["  a b ", "\ta ", "   "])


@pytest.mark.parametrize(
    ("position", "length", "expected"),
    [
        (1, None, "hello"),
        (0, None, "hello"),
        (0, 2, "he"),
        (2, 3, "ell"),
        (-3, 2, "ll"),
        (-10, 7, "he"),
        (-10, 3, ""),
        (2, -1, ""),
        (2, 0, ""),
        (6, 1, ""),
        (2, 2**31 - 1, "ello"),
        (2**31 - 1, 2**31 - 1, ""),
        (-(2**31), 2**31 - 1, "hell"),
        (2, 2**31, None),
        (2**31, None, None),
    ],
)
def test_substring(position: int, length: int | None, expected: str | None) -> None:
    more = "" if length is None else f", {length}"
    check(f"SUBSTRING('hello', {position}{more})", [expected])
    check(
        "SUBSTRING(e.s, e.p)" if length is None else "SUBSTRING(e.s, e.p, e.n)",
        [expected],
        s=["hello"],
        p=[position],
        n=[length],
    )


def test_substring_of_columns() -> None:
    texts = [f"héllo{FACE}x", None, "", "abc", "abc"]
    check("SUBSTRING(e.s, e.p, 2)", [f"{FACE}x", None, "", "bc", None], s=texts, p=[-2, 1, 1, 2, None])
    cut = pa.array(texts).slice(3)
    check("SUBSTRING(e.s, 2)", ["bc", "bc"], s=cut)


# CAST


@pytest.mark.parametrize(
    ("text", "integer", "number"),
    [
        (" 12 ", 12, 12.0),
        ("\t12\n", 12, 12.0),
        ("\x0112\x7f", 12, None),
        ("\x0112", 12, 12.0),
        ("\u00a012", None, None),
        ("12.7", None, 12.7),
        ("1e3", None, 1000.0),
        ("1E+3", None, 1000.0),
        ("+5", 5, 5.0),
        ("-00", 0, -0.0),
        ("000000000000000000000012", 12, 12.0),
        (".5", None, 0.5),
        ("5.", None, 5.0),
        (".", None, None),
        ("", None, None),
        ("+", None, None),
        ("--5", None, None),
        ("- 1", None, None),
        ("1_000", None, None),
        ("٣", None, None),
        ("9223372036854775807", HIGH, 2.0**63),
        ("9223372036854775808", None, 2.0**63),
        ("-9223372036854775808", LOW, -(2.0**63)),
        ("-9223372036854775809", None, -(2.0**63)),
        ("99999999999999999999", None, 1e20),
        ("NaN", None, NAN),
        ("nan", None, NAN),
        ("-NaN", None, NAN),
        ("+nan", None, None),
        ("Infinity", None, INF),
        ("-infinity", None, -INF),
        ("+inf", None, INF),
        ("infin", None, None),
        ("1d", None, 1.0),
        ("1.5F", None, 1.5),
        ("NaNd", None, None),
        ("1e400", None, INF),
        ("1e-400", None, 0.0),
        ("0x1p3", None, 8.0),
        ("-0X1.8P+1d", None, -3.0),
        ("0x1p9999", None, INF),
        ("0x10", None, None),
        ("1e", None, None),
        ("true", None, None),
        (None, None, None),
    ],
)
def test_cast_of_text(text: str | None, integer: int | None, number: float | None) -> None:
    column = pa.array([text], pa.string())
    check("CAST(e.x AS BIGINT)", [integer], x=column)
    check("CAST(e.x AS DOUBLE)", [number], x=column)


def test_cast_of_other_values() -> None:
    numbers = [1.9, -1.9, NAN, INF, 1e19, 2.0**63, -(2.0**63), None]
    check("CAST(e.x AS BIGINT)", [1, -1, None, None, None, HIGH, LOW, None], x=numbers)
    check("CAST(e.x AS BIGINT)", [1, 0, None], x=[True, False, None])
    check("CAST(e.x AS DOUBLE)", [1.0, 0.0, None], x=[True, False, None])
    check("CAST(e.x AS DOUBLE)", [9007199254740992.0], x=[2**53 + 1])
    check("CAST(e.x AS DOUBLE)", [1.100000023841858], x=pa.array([1.1], pa.float32()))
    decimals = pa.array([Decimal("12.99"), Decimal("-12.99"), Decimal(10**20), None], pa.decimal128(30, 2))
    check("CAST(e.x AS BIGINT)", [12, -12, None, None], x=decimals)
    check("CAST(e.x AS DOUBLE)", [12.99, -12.99, 1e20, None], x=decimals)
    check("CAST(NULL AS BIGINT)", [None])


# Times

NOON = datetime(2024, 3, 31, 12, tzinfo=UTC)


def test_timestamps_of_all_units_and_zones_are_compared_as_moments() -> None:
    columns = {
        "s": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("s")),
        "ms": pa.array([NOON], pa.timestamp("ms", "Asia/Tokyo")),
        "us": pa.array([NOON], pa.timestamp("us", "Europe/Berlin")),
        "ns": pa.array([NOON], pa.timestamp("ns", "UTC")),
    }
    for left in columns:
        for right in columns:
            check(f"e.{left} = e.{right}", [True], **columns)
            check(f"e.{left} - e.{right} + 1 second", [timedelta(seconds=1)], **columns)
        check(f"e.{left} = TIMESTAMP '2024-03-31 14:00:00+02:00'", [True], **columns)


def test_moments_too_far_for_nanoseconds_are_still_compared() -> None:
    far = pa.array([datetime(9999, 12, 31), datetime(1, 1, 1), None], pa.timestamp("us"))
    near = pa.array([2**62, -(2**62), 0], pa.timestamp("ns"))
    check("e.far > e.near", [True, False, None], far=far, near=near)
    check("e.far < e.near", [False, True, None], far=far, near=near)
    check("e.far - e.near IS NULL", [True, True, True], far=far, near=near)
    check("GREATEST(e.far, e.near) IS NULL", [False, False, False], far=far, near=near)


def test_nanoseconds_are_not_lost() -> None:
    fine = pa.array([1, 1_000], pa.timestamp("ns"))
    check("e.fine > e.coarse", [True, False], fine=fine, coarse=pa.array([0, 1], pa.timestamp("us")))
    check("e.coarse + 1 ns > e.fine", [False, True], fine=fine, coarse=pa.array([0, 1], pa.timestamp("us")))


def test_times_and_durations() -> None:
    moments = pa.array([datetime(1969, 12, 31, 23, 59), None], pa.timestamp("us"))
    check("e.t + 2 minutes", [datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None], t=moments)
    check("e.t - 1 day", [datetime(1969, 12, 30, 23, 59, tzinfo=UTC), None], t=moments)
    check("2 minutes + e.t > e.t", [True, None], t=moments)
    check("e.t - TIMESTAMP '1970-01-01' < 0 - 30 seconds", [True, None], t=moments)
    check("-(e.t - TIMESTAMP '1970-01-01')", [timedelta(minutes=1), None], t=moments)
    check("1 hour + 30 minutes", [timedelta(minutes=90)])
    check("e.d > 1 minute", [True, False, None], d=pa.array([61, 60, None], pa.duration("s")))


def test_a_time_that_does_not_fit_is_null() -> None:
    check("e.t + 1 second IS NULL", [True], t=pa.array([HIGH], pa.timestamp("us")))
    check("e.t = e.t", [None], t=pa.array([HIGH], pa.timestamp("s")))


def test_a_date_is_midnight_utc() -> None:
    days, moments = [date(2024, 3, 31), date(1960, 1, 1), None], [NOON, datetime(1960, 1, 1, tzinfo=UTC), NOON]
    columns = {"d": pa.array(days), "t": pa.array(moments, pa.timestamp("us", "America/New_York"))}
    check("e.d < e.t", [True, False, None], **columns)
    check("e.d = e.t", [False, True, None], **columns)
    check("e.t - e.d", [timedelta(hours=12), timedelta(0), None], **columns)
    check("e.d + 12 hours = e.t", [True, False, None], **columns)
    check("e.d - DATE '2024-03-30'", [timedelta(days=1), timedelta(days=-23465), None], **columns)
    check("e.d = DATE '1960-01-01'", [False, True, None], **columns)
    check("COALESCE(e.d, e.t) = e.t", [False, True, True], **columns)


def test_parts_of_moments_are_those_of_utc() -> None:
    moments = [datetime(2024, 2, 29, 23, 59, 58, 999_999), datetime(1969, 12, 31, 23, 0, 1), None]
    for times in (
        pa.array(moments, pa.timestamp("us")),
        pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("ns", "Asia/Tokyo")),
    ):
        check("YEAR(e.t)", [2024, 1969, None], t=times)
        check("QUARTER(e.t)", [1, 4, None], t=times)
        check("MONTH(e.t)", [2, 12, None], t=times)
        check("DAY(e.t)", [29, 31, None], t=times)
        check("DAYOFWEEK(e.t)", [5, 4, None], t=times)
        check("WEEKDAY(e.t)", [3, 2, None], t=times)
        check("DAYOFYEAR(e.t)", [60, 365, None], t=times)
        check("WEEKOFYEAR(e.t)", [9, 1, None], t=times)
        check("HOUR(e.t)", [23, 23, None], t=times)
        check("MINUTE(e.t)", [59, 0, None], t=times)
        check("SECOND(e.t)", [58, 1, None], t=times)
        check("UNIX_TIMESTAMP(e.t)", [1709251198, -3599, None], t=times)
        check("TO_DATE(e.t)", [date(2024, 2, 29), date(1969, 12, 31), None], t=times)
        check("DATEDIFF(e.t, DATE '1970-01-01')", [19782, -1, None], t=times)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("millisecond", datetime(2024, 5, 16, 13, 45, 58, 999_000)),
        ("second", datetime(2024, 5, 16, 13, 45, 58)),
        ("minute", datetime(2024, 5, 16, 13, 45)),
        ("HOUR", datetime(2024, 5, 16, 13)),
        ("day", datetime(2024, 5, 16)),
        ("week", datetime(2024, 5, 13)),
        ("month", datetime(2024, 5, 1)),
        ("quarter", datetime(2024, 4, 1)),
        ("year", datetime(2024, 1, 1)),
    ],
)
def test_date_trunc(unit: str, expected: datetime) -> None:
    moments = pa.array([datetime(2024, 5, 16, 13, 45, 58, 999_999), None], pa.timestamp("us"))
    check(f"DATE_TRUNC('{unit}', e.t)", [expected.replace(tzinfo=UTC), None], t=moments)
    assert values_of("DATE_TRUNC('day', e.t)", t=pa.array([date(2024, 5, 16)])) == [datetime(2024, 5, 16, tzinfo=UTC)]


def test_rounding_takes_halves_away_from_zero() -> None:
    check("ROUND(e.x)", [3.0, -3.0, 0.0, 0.0, NAN, INF, None], x=[2.5, -2.5, -0.4, 0.0, NAN, INF, None])
    check("ROUND(e.x, 2)", [2.68, 1.01, -0.02, 1e17, 4503599627370496.5], x=[2.675, 1.005, -0.015, 1e17, 2.0**52 + 0.5])
    check("ROUND(e.x, 1)", [5, None], x=[5, None])
    check("ROUND(e.x, 1)", [Decimal("2.4"), Decimal("-10.0")], x=pa.array([Decimal("2.35"), Decimal("-9.95")]))


@given(some.lists(some.floats(-1e18, 1e18), min_size=1), some.integers(0, 12))
def test_rounding_is_that_of_the_shortest_text(numbers: list[float], digits: int) -> None:
    step = Decimal(1).scaleb(-digits)
    wide = Context(prec=60)
    expected = [float(Decimal(repr(number)).quantize(step, ROUND_HALF_UP, wide)) + 0.0 for number in numbers]
    check(f"ROUND(e.x, {digits})", expected, x=numbers)


def test_a_duration_next_to_a_number_is_its_seconds() -> None:
    check("e.x < 5 minutes", [True, False, None], x=[299, 300, None])
    check("e.x + 1.5 seconds", [11.5, None], x=[10, None])
    check("e.x = e.d", [True, False], x=[0.25, 1.0], d=pa.array([250, 999], pa.duration("ms")))
    check("e.x - 1 ns", [-1e-09], x=[0])


# Rows


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


@given(left=some.lists(some.none() | some.text(max_size=3), min_size=4, max_size=4), data=some.data())
def test_texts_agree_with_the_reference(left: list[str | None], data: some.DataObject) -> None:
    right = data.draw(some.permutations(left))
    rows = pa.table({"a": pa.array(left, pa.string()), "b": pa.array(right, pa.string())})
    for comparison in COMPARISONS:
        expected = [holds(one, comparison, other) for one, other in zip(left, right, strict=True)]
        expression = st.Comparison(comparison, st.Attribute(("a",)), st.Attribute(("b",)))
        assert is_true(expression, rows).tolist() == expected
