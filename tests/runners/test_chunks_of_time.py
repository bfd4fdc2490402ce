"""Chunks of time take their rows out of slices, whatever order these stand in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trendweave
from tests.runners.test_threads import Watched, in_some_order, watched
from trendweave import operators as ops
from trendweave.programs.program import TimeCut
from trendweave.rows.times import time_type
from trendweave.runners.threads.dealing import LEAST_ROWS, _Chunks, _share_out, _Timed, count_parts

__all__ = ["watched"]
TIMES = st.lists(st.lists(st.integers(-20, 40), min_size=1, max_size=12), min_size=1, max_size=4)


def _read(times: list[int]) -> _Timed:
    return _Timed.of(pa.table({"time": np.array(times)}), time_type(pa.int64()))


@given(TIMES, st.booleans(), st.integers(1, 15), st.integers(0, 7), st.integers(0, 7), st.booleans())
def test_a_chunk_reads_what_it_reaches_into(
    times: list[list[int]], in_order: bool, length: int, before: int, after: int, last_step: bool
) -> None:
    times = [sorted(some) for some in times] if in_order else times
    slices = [_read(some) for some in times]
    every = [time for some in times for time in some]
    cut = TimeCut(length, before, after, last_step)
    chunks = _Chunks(slices, cut, min(every), max(every), across=True)
    for number in range((min(every) - after) // length, (max(every) + before) // length + 1):
        low, high = number * length - before, (number + 1) * length + after
        edges = chunks.edges(number)
        expected = [time for time in every if low <= time < high]
        counts = sum(int(one.count(np.array(edges[:1]), np.array(edges[1:]))[0]) for one in slices)
        assert counts == len(expected)
        earlier = max((time for time in every if time < low), default=None) if last_step else None
        if expected:
            found = chunks.fetch(number)
            assert found["time"].to_pylist() == [time for time in every if low <= time < high or time == earlier]
            assert set(found["chunk"].to_pylist()) == {number}


@pytest.mark.parametrize("blocks", [(0, 1, 2, 3, 4, 5), (5, 4, 3, 2, 1, 0), (0, 2, 1, 3, 5, 4)])
def test_slices_that_stand_in_order_and_not_among_each_other(blocks: tuple[int, ...], watched: Watched) -> None:
    time = np.concatenate([np.arange(50) + 50 * block for block in blocks])
    events = pa.table({"time": time, "type": np.where(time % 3 == 0, "A", "B"), "v": time * 1.5})
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 20 seconds SLIDE 10 seconds")
    found = query.run(events, device="threads")
    assert watched.way == "time"
    assert in_some_order(found) == in_some_order(query.run(events))
    for condition in ("v > 30", "v > 400", "v >= 0", "v < 0", "v > 0 AND time != 7"):
        kept = ops.filter(condition)
        assert kept.run(events, device="threads").equals(kept.run(events))


def test_as_many_parts_as_cores_or_twice_as_many() -> None:
    """Of a number between these, most cores would wait for those that compute a second part."""
    assert [count_parts(rows * LEAST_ROWS, 16) for rows in (0, 1, 15)] == [1, 1, 15]
    assert {count_parts(rows, 16) for rows in range(16 * LEAST_ROWS, 100_000_000, 997_001)} == {16, 32}


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 8))
def test_hashes_are_shared_out_to_the_smallest_part(counts: list[int], parts: int) -> None:
    part_of, sizes = _share_out(np.array(counts), parts)
    found = np.bincount(part_of, np.array(counts), minlength=parts)
    assert sorted(size for size in found if size) == sorted(sizes)
    assert not found[len(sizes) :].any(), "parts without rows come last"
    expected = [0] * parts
    for count in sorted(counts, reverse=True):
        expected[expected.index(min(expected))] += count
    assert sorted(found) == sorted(expected)


def test_no_chunk_is_lost_beyond_all_numbers() -> None:
    """Edges are kept near the rows: a chunk may be as long as all times that there are."""
    slices = [_read([0, 5, 2**61])]
    chunks = _Chunks(slices, TimeCut(2**62, 2**62, 2**62), 0, 2**61, across=False)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(chunks.fetch, 0).result()["time"].to_pylist() == [0, 5, 2**61]
