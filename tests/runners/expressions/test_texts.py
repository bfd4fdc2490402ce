"""Texts and casts over Arrow columns: each rule by hand."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from tests.runners import row_expression
from tests.runners.expressions.values import FACE, HIGH, INF, LOW, NAN, check
from trendweave.expressions.arrow.evaluate import evaluate


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
