"""Numbers on their way from task to task: as few bytes as they need, and every bit comes back."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.runners.spark.blobs import narrow, widen

INT_COLUMNS = hs.lists(hs.integers(0, 300) | hs.integers(-(2**63), 2**63 - 1) | hs.none(), max_size=6)
FLOAT_COLUMNS = hs.lists(
    hs.integers(-30_000, 30_000).map(lambda cents: cents / 100)
    | hs.floats()
    | hs.sampled_from([0.0, -0.0, math.nan, math.inf, 2.0**53, 2.0**63, 0.1 + 0.2, 1e300])
    | hs.none(),
    max_size=6,
)


def bits_of(column: pa.Array) -> int:
    return 0 if pa.types.is_null(column.type) else column.type.bit_width


def travel(parts: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """The parts of a column, each turned round on its way."""
    orders = [np.arange(len(part))[::-1].copy() for part in parts]
    pairs = [narrow(part, order) for part, order in zip(parts, orders, strict=True)]
    return pa.concat_arrays(widen([column for column, _ in pairs], [scale for _, scale in pairs], kind).chunks)


def turned(parts: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays([part.take(pa.array(np.arange(len(part))[::-1])) for part in parts])


@pytest.mark.parametrize(
    ("numbers", "bits"),
    [
        ([5, 5, 5], 0),
        ([-(2**63)], 0),
        ([-(2**62), -(2**62) + 255], 8),
        ([0, 256], 16),
        ([-1, 2**16], 32),
        ([0, 3 * 86_400_000_000], 32),
        ([7, 7 + 86_400_000_000, 8], 64),
        ([-(2**63), 2**63 - 1], 64),
    ],
)
def test_whole_numbers_and_times(numbers: list[int], bits: int) -> None:
    for kind in (pa.int64(), pa.timestamp("us")):
        column = pa.array(numbers, pa.int64()).view(kind)
        assert bits_of(narrow(column, None)[0]) == bits
        assert travel([column], kind).equals(turned([column]))


@pytest.mark.parametrize(
    ("numbers", "bits"),
    [
        ([1.25, 1.25], 0),
        ([105.17, 105.2, 107.0], 8),
        ([0.0001, 0.01], 8),
        ([20.0, 543.21], 16),
        ([3.0, -4.0e9], 32),
        ([1.0, 2.0**40], 64),
        ([0.0, -0.0], 64),
        ([1.5, math.nan], 64),
        ([-math.inf, 1.5], 64),
        ([0.1 + 0.2, 0.25], 64),
        ([1 / 3] * 2, 64),
    ],
)
def test_floats_that_are_decimals(numbers: list[float], bits: int) -> None:
    column = pa.array(numbers, pa.float64())
    assert bits_of(narrow(column, None)[0]) == bits
    assert as_bits(travel([column], pa.float64())) == as_bits(turned([column]))


def test_floats_are_looked_at_to_the_end() -> None:
    column = pa.array([*(np.arange(5_000) / 100), 1 / 3])
    assert bits_of(narrow(column, None)[0]) == 64
    assert as_bits(travel([column], pa.float64())) == as_bits(turned([column]))


@examples(150)
@given(hs.lists(INT_COLUMNS, min_size=1, max_size=4))
def test_any_whole_numbers_side_by_side(columns: list[list[int | None]]) -> None:
    parts = [pa.array([0, *column], pa.int64()).slice(1) for column in columns]
    assert travel(parts, pa.int64()).to_pylist() == turned(parts).to_pylist()


@examples(150)
@given(hs.lists(FLOAT_COLUMNS, min_size=1, max_size=4))
def test_any_floats_side_by_side(columns: list[list[float | None]]) -> None:
    parts = [pa.array([0.0, *column], pa.float64()).slice(1) for column in columns]
    assert as_bits(travel(parts, pa.float64())) == as_bits(turned(parts))


def as_bits(column: pa.Array) -> list[int | None]:
    """Floats by their bits, so that -0.0 is not 0.0."""
    bits = np.asarray(column.fill_null(0.0)).view(np.int64).tolist()
    return [None if missing else one for one, missing in zip(bits, column.is_null().to_pylist(), strict=True)]
