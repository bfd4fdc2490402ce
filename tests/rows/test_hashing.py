"""Hashes of rows: equal keys have equal hashes however they are stored and cut, and others have others."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.codes import key_codes
from trendweave.rows.hashing import hash_rows

START = 0x9E3779B97F4A7C15  # the fraction of the golden ratio
FLOATS = [0.0, -0.0, math.nan, -math.nan, 1.5, -1.5, math.inf, -math.inf]
INTEGERS = [0, -1, 1, 2**31 - 1, -(2**31), 300]
TEXTS = ["", "a", "b", "\0", "a\0", "12345678", "123456789", "ä" * 9, "x" * 17, "x" * 16 + "y"]
DAYS = [datetime.date(1970, 1, 1), datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]
TIMES = [datetime.datetime(1970, 1, 1), datetime.datetime(1815, 12, 10, 1), datetime.datetime(2024, 2, 29, 1, 2, 3)]
VALUES: dict[pa.DataType, list[Any]] = {
    pa.float64(): FLOATS,
    pa.float32(): FLOATS,
    pa.int64(): [*INTEGERS, 2**63 - 1, -(2**63)],
    pa.int32(): INTEGERS,
    pa.uint8(): [0, 1, 255],
    pa.uint64(): [0, 1, 2**64 - 1],
    pa.bool_(): [True, False],
    pa.string(): TEXTS,
    pa.large_string(): TEXTS,
    pa.string_view(): TEXTS,
    pa.binary(): [text.encode() for text in TEXTS],
    pa.binary(2): [b"ab", b"\0\0", b"\0a"],
    pa.dictionary(pa.int8(), pa.string()): TEXTS,
    pa.decimal128(9, 2): [Decimal("1.00"), Decimal("-1.00"), Decimal("0.01")],
    pa.decimal256(50, 0): [Decimal(0), Decimal(2**100), Decimal(-(2**100))],
    pa.date32(): DAYS,
    pa.timestamp("us"): TIMES,
    pa.timestamp("ns", "UTC"): TIMES,
    pa.time32("s"): [datetime.time(1), datetime.time(2)],
    pa.duration("ms"): [datetime.timedelta(1), datetime.timedelta(-1)],
    pa.null(): [],
    pa.list_(pa.int64()): [[], [0], [0, 0], [None], [1, 2]],
    pa.list_(pa.float64(), 2): [[0.0, 1.0], [-0.0, 1.0], [math.nan, 1.0]],
    pa.struct({"x": pa.float64(), "y": pa.string()}): [{"x": x, "y": y} for x in (0.0, -0.0, None) for y in ("", None)],
    pa.map_(pa.string(), pa.int64()): [[], [("a", 1)], [("a", 2)], [("a", 1), ("b", 1)]],
}


@hs.composite
def columns(draw: hs.DrawFn) -> list[list[pa.ChunkedArray]]:
    """The same one or two columns twice, as slices of other arrays, cut in two ways."""
    rows = draw(hs.integers(0, 8))
    stored: list[list[pa.ChunkedArray]] = [[], []]
    for _ in range(draw(hs.integers(1, 2))):
        kind = draw(hs.sampled_from(list(VALUES)))
        value = hs.sampled_from([None, *VALUES[kind]])
        values = draw(hs.lists(value, min_size=rows, max_size=rows))
        for side in stored:
            cut, before, after = draw(hs.integers(0, rows)), draw(hs.lists(value, max_size=3)), draw(hs.lists(value))
            parts = [pa.array([*before, *part, *after], kind) for part in (values[:cut], values[cut:])]
            sizes = [cut, rows - cut]
            side.append(pa.chunked_array([p.slice(len(before), n) for p, n in zip(parts, sizes, strict=True)], kind))
    return stored


@given(columns())
@examples(300)
def test_equal_keys_and_only_they_have_equal_hashes(stored: list[list[pa.ChunkedArray]]) -> None:
    one, other = (hash_rows(side, len(side[0])) for side in stored)

    assert one.dtype == np.uint64
    assert one.tolist() == other.tolist()
    codes = key_codes(stored[0], len(stored[0][0]))
    assert len(set(zip(codes.tolist(), one.tolist(), strict=True))) == len(set(codes.tolist()))
    assert len(set(one.tolist())) == len(set(codes.tolist()))


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        (TEXTS, [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]),
        (INTEGERS[:2], [pa.int8(), pa.int16(), pa.int32(), pa.int64()]),
        ([0, 7], [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int64()]),
        (FLOATS, [pa.float32(), pa.float64()]),
        ([[1], [1, 2]], [pa.list_(pa.int32()), pa.large_list(pa.int64())]),
        ([[1, 2]], [pa.list_(pa.int32()), pa.list_(pa.int32(), 2)]),
    ],
)
def test_how_wide_a_value_is_stored_does_not_matter(values: list[Any], kinds: list[pa.DataType]) -> None:
    hashes = [hash_rows([pa.array([None, *values], kind)], len(values) + 1).tolist() for kind in kinds]

    assert all(other == hashes[0] for other in hashes)


def test_dictionaries_with_duplicates_and_null_hash_like_their_values() -> None:
    dictionary = pa.array(["a", None, "a", "b"])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), dictionary)

    expected = hash_rows([pa.array(["a", None, "a", "b", None])], 5)

    assert hash_rows([array], 5).tolist() == expected.tolist()


def test_the_order_of_columns_matters() -> None:
    one, two = pa.array([1, 2]), pa.array([2, 1])

    assert hash_rows([one, two], 2)[0] == hash_rows([two, one], 2)[1] != hash_rows([two, one], 2)[0]
    assert hash_rows([], 2).tolist() == hash_rows([], 2).tolist()


@pytest.mark.parametrize("values", [range(40_000), range(0, 40_000 << 20, 1 << 20), map(str, range(40_000))])
def test_any_bits_of_a_hash_deal_rows_out_evenly(values: Any) -> None:
    hashes = hash_rows([pa.array(list(values))], 40_000)

    assert np.unique(hashes).size == 40_000
    for bucket in (hashes % 64, hashes >> 58, hashes % 63, (hashes >> 20) % 64):
        counts = np.bincount(bucket.astype(np.int64))
        assert counts.size >= 63
        assert counts.min() > 625 * 0.6
        assert counts.max() < 625 * 1.8


def twin_mix(number: int) -> int:
    """The finishing steps of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = (number ^ (number >> 33)) * factor % 2**64
    return number ^ (number >> 33)


def twin_text(text: str) -> int:
    data = text.encode()
    result = START ^ len(data) * 0xFF51AFD7ED558CCD % 2**64
    for place in range(0, len(data) // 8 * 8 + 1, 8):
        result = twin_mix(result ^ int.from_bytes(data[place : place + 8], "little"))
    return result


@given(hs.text(), hs.integers(-(2**63), 2**63 - 1))
def test_hashes_are_those_of_murmur_in_every_process(text: str, number: int) -> None:
    expected = twin_mix(twin_mix(START ^ twin_text(text)) ^ number % 2**64)

    assert hash_rows([pa.array([text]), pa.array([number])], 1).tolist() == [expected]
