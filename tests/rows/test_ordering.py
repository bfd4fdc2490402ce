"""Rows by key and time, against a plain sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.segments import sort_by_key_and_time, take_rows

FIRST, LAST = -(2**63), 2**63 - 1
times = hs.one_of(hs.integers(-3, 3), hs.sampled_from([FIRST, FIRST + 1, LAST - 1, LAST]), hs.integers(FIRST, LAST))
rows = hs.lists(hs.tuples(hs.integers(0, 3), times), max_size=12)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    key, moment = (np.array([pair[part] for pair in pairs], np.int64) for part in (0, 1))
    moment.flags.writeable = False  # as Arrow gives it
    return key, moment


@given(rows, hs.booleans())
@examples(200)
def test_rows_come_by_key_and_time(pairs: list[tuple[int, int]], in_order_already: bool) -> None:
    if in_order_already:
        pairs = sorted(pairs)
    key, moment = arrays(pairs)

    order, starts, sorted_times = sort_by_key_and_time(key, moment, 4)

    taken = np.arange(key.size) if order is None else order
    assert taken.tolist() == sorted(range(len(pairs)), key=lambda row: pairs[row])
    assert starts.tolist() == [sum(pair[0] < number for pair in pairs) for number in range(5)]
    assert sorted_times.tolist() == [time for _, time in sorted(pairs)]
    assert (order is None) == (pairs == sorted(pairs))


@given(rows)
@examples(200)
def test_rows_of_a_key_stand_together(pairs: list[tuple[int, int]]) -> None:
    present = sorted({key for key, _ in pairs})
    key, moment = arrays([(present.index(pair[0]), pair[1]) for pair in pairs])

    order, starts, sorted_times = sort_by_key_and_time(key, moment, len(present), keys_in_order=False)

    taken = np.arange(key.size) if order is None else order
    runs = [taken[first:last] for first, last in pairwise(starts)]
    assert sorted(taken.tolist()) == list(range(key.size))
    assert sorted(int(key[run[0]]) for run in runs) == list(range(len(present)))
    assert sorted_times.tolist() == moment[taken].tolist()
    for run in runs:
        assert len(set(key[run].tolist())) == 1
        assert run.tolist() == sorted(run.tolist(), key=lambda row: (moment[row], row))


def test_rows_that_stand_together_are_left_where_they_are() -> None:
    key, moment = np.array([1, 1, 0, 2]), np.array([5, 6, 1, 1])

    order, starts, _ = sort_by_key_and_time(key, moment, 3, keys_in_order=False)

    assert order is None
    assert starts.tolist() == [0, 2, 3, 4]
    assert sort_by_key_and_time(key, moment, 3)[0] is not None


def spread(random: np.random.Generator, size: int) -> dict[str, np.ndarray]:
    """Times of many kinds: each takes another way through the sort."""
    even = random.integers(0, 86_400_000_000, size)
    late = np.sort(even)
    late[::7] -= 1_000_000
    return {
        "even": even,
        "late": late,
        "runs": np.concatenate([np.sort(part) for part in np.array_split(even, 8)]),
        "falling": np.sort(even)[::-1].copy(),
        "ties": random.integers(-3, 3, size),
        "one far away": np.where(np.arange(size) == size // 2, LAST, even % 1000),
        "crowded": np.where(even % 2 == 0, even, even % 5),
        "all of 64 bits": random.integers(FIRST, LAST, size, endpoint=True),
        "both ends": random.choice(np.array([FIRST, FIRST + 1, -1, 0, LAST - 1, LAST]), size),
        "in order": np.sort(even),
    }


@pytest.mark.parametrize("kind", spread(np.random.default_rng(0), 10))
@pytest.mark.parametrize(("size", "count"), [(1, 1), (25, 1), (300, 2), (4_000, 3), (50_000, 1), (9_000, 700)])
def test_runs_of_any_length_and_kind_of_time_are_sorted(kind: str, size: int, count: int) -> None:
    random = np.random.default_rng([size, count])
    key, moment = random.integers(0, count, size), spread(random, size)[kind]

    order, starts, sorted_times = sort_by_key_and_time(key, moment, count)

    expected = np.lexsort((moment, key))
    assert np.array_equal(np.arange(size) if order is None else order, expected)
    assert np.array_equal(sorted_times, moment[expected])
    assert np.array_equal(starts, np.searchsorted(key[expected], np.arange(count + 1)))


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.float64(), pa.timestamp("us"), pa.date32(), pa.string()])
@given(
    values=hs.lists(hs.one_of(hs.none(), hs.integers(0, 100)), min_size=1, max_size=20),
    cut=hs.integers(0, 20),
    data=hs.data(),
)
@examples(40)
def test_rows_are_taken_as_arrow_takes_them(
    kind: pa.DataType, values: list[int | None], cut: int, data: hs.DataObject
) -> None:
    if kind == pa.string():
        array = pa.array([None, *values, None], pa.int64()).cast(kind)
    else:
        array = pa.array([None, *values, None], kind)
    column = pa.chunked_array([array.slice(1, cut), array.slice(1 + cut)])  # without its first value
    order = np.array(data.draw(hs.lists(hs.integers(0, len(column) - 1), max_size=30)), np.int64)
    taken = take_rows(column, order)
    taken.validate(full=True)
    assert taken.equals(column.take(pa.array(order)))
