"""Rows by key and time, against a plain sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.rows.ordering import sort_by_key_and_time

rows = hs.lists(hs.tuples(hs.integers(0, 3), hs.integers(-3, 3)), max_size=12)


@given(rows, hs.booleans())
@examples(200)
def test_rows_come_by_key_and_time(pairs: list[tuple[int, int]], in_order_already: bool) -> None:
    if in_order_already:
        pairs = sorted(pairs)
    key, moment = (np.array([pair[part] for pair in pairs], np.int64) for part in (0, 1))

    order, starts = sort_by_key_and_time(key, moment, 4)

    taken = np.arange(key.size) if order is None else order
    assert taken.tolist() == sorted(range(len(pairs)), key=lambda row: pairs[row])
    assert starts.tolist() == [sum(pair[0] < number for pair in pairs) for number in range(5)]
    assert (order is None) or not in_order_already or not pairs


@given(rows)
@examples(200)
def test_rows_of_a_key_stand_together(pairs: list[tuple[int, int]]) -> None:
    present = sorted({key for key, _ in pairs})
    key = np.array([present.index(pair[0]) for pair in pairs], np.int64)
    moment = np.array([pair[1] for pair in pairs], np.int64)

    order, starts = sort_by_key_and_time(key, moment, len(present), keys_in_order=False)

    taken = np.arange(key.size) if order is None else order
    runs = [taken[first:last] for first, last in pairwise(starts)]
    assert sorted(taken.tolist()) == list(range(key.size))
    assert sorted(int(key[run[0]]) for run in runs) == list(range(len(present)))
    for run in runs:
        assert len(set(key[run].tolist())) == 1
        assert run.tolist() == sorted(run.tolist(), key=lambda row: (moment[row], row))


def test_rows_that_stand_together_are_left_where_they_are() -> None:
    key, moment = np.array([1, 1, 0, 2]), np.array([5, 6, 1, 1])

    order, starts = sort_by_key_and_time(key, moment, 3, keys_in_order=False)

    assert order is None
    assert starts.tolist() == [0, 2, 3, 4]
    assert sort_by_key_and_time(key, moment, 3)[0] is not None
