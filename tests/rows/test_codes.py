"""Codes of keys: equal values and only they share one, NULL is a value, and numbers count from 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.rows.test_hashing import VALUES
from trendweave.rows.codes import different_numbers, key_codes

FAR = [0, 1, 2**40, -(2**62), 2**63 - 1, -(2**63)]
KINDS = {**VALUES, pa.int64(): [*VALUES[pa.int64()], *FAR], pa.dictionary(pa.int32(), pa.float64()): [0.0, -0.0, 1.5]}


def canonical(value: Any) -> Any:
    """What two values that are one key have in common."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value + 0.0
        case dict():
            return tuple((name, canonical(inner)) for name, inner in value.items())
        case list() | tuple():
            return tuple(canonical(inner) for inner in value)
        case bool():
            return ("bool", value)
    return value


@given(hs.data(), hs.integers(0, 9), hs.integers(1, 3))
@examples(200)
def test_codes_number_the_different_keys(data: hs.DataObject, rows: int, columns: int) -> None:
    arrays, values = [], []
    for _ in range(columns):
        kind = data.draw(hs.sampled_from(list(KINDS)))
        values.append(data.draw(hs.lists(hs.sampled_from([None, *KINDS[kind]]), min_size=rows, max_size=rows)))
        cut = data.draw(hs.integers(0, rows))
        arrays.append(pa.chunked_array([values[-1][:cut], values[-1][cut:]], kind))

    codes = key_codes(arrays, rows).tolist()

    keys = [tuple(canonical(column[row]) for column in values) for row in range(rows)]
    assert len(set(zip(codes, keys, strict=True))) == len(set(codes)) == len(set(keys))
    assert sorted(set(codes)) == list(range(len(set(keys))))


@pytest.mark.parametrize("step", [1, 3, 2**20])
def test_many_whole_numbers_near_and_far(step: int) -> None:
    numbers = [None if row % 11 == 0 else (row * 7 % 1000 - 500) * step for row in range(3000)]
    seen: dict[int | None, int] = {}
    expected = [seen.setdefault(number, len(seen)) for number in numbers]

    assert key_codes([pa.chunked_array([numbers], pa.int64())], len(numbers)).tolist() == expected


def test_dictionaries_may_hold_duplicates_null_and_what_does_not_occur() -> None:
    one = pa.DictionaryArray.from_arrays(pa.array([3, 1, None, 2], pa.int8()), pa.array(["unused", None, "a", "a"]))
    two = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["b", "a"]))

    assert key_codes([pa.chunked_array([one, two])], 6).tolist() == [0, 1, 1, 0, 2, 0]


@given(hs.lists(hs.sampled_from(FAR) | hs.integers(-3, 3)))
def test_different_numbers(numbers: list[int]) -> None:
    assert different_numbers(np.array(numbers, np.int64)).tolist() == sorted(set(numbers))


@pytest.mark.parametrize("late", [[], [3], [None], [2, None, 0, 3]])
def test_values_that_first_occur_in_late_rows(late: list[int | None]) -> None:
    values = [2, 1, 2, 1, 1] * 50 + late + [1, 2] + late
    first = list(dict.fromkeys(values))
    codes = key_codes([pa.chunked_array([pa.array(values, pa.int64())])], len(values))
    assert codes.tolist() == [first.index(value) for value in values]
