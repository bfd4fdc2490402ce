"""Rows that are dealt out and gathered again: all of them, each once, whole keys together."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from trendweave.programs.program import TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.spark.blobs import Buckets, _spark_hash
from trendweave.runners.spark.chunks import number_rows
from trendweave.runners.spark.exchange import Deal, Gathered
from trendweave.runners.spark.tasks import Limits

UNLIMITED = Limits(10**9, 10**9)
KEYS = (("key",), ("inner", "part"))
SCHEMA = pa.schema(
    {
        TIME: pa.timestamp("us", tz="UTC"),
        "key": pa.string(),
        "inner": pa.struct({"part": pa.float64()}),
        "wide": pa.int64(),
        "letters_0": pa.int64(),
        "known": pa.bool_(),
        "price": pa.decimal128(20, 3),
    }
)
FLOATS = hs.sampled_from([0.0, -0.0, 1.5, math.nan, None])
ROW = hs.fixed_dictionaries(
    {
        TIME: hs.integers(-(2**55), 2**55) | hs.integers(0, 100),
        "key": hs.sampled_from(["a", "b", "c" * 30, "", None]),
        "inner": hs.none() | hs.fixed_dictionaries({"part": FLOATS}),
        "wide": hs.none() | hs.integers(-(2**63), 2**63 - 1) | hs.integers(0, 300),
        "letters_0": hs.integers(0, 3) | hs.integers(-(2**63), 2**63 - 1),
        "known": hs.none() | hs.booleans(),
        "price": hs.none() | hs.decimals(-1000, 1000, places=3),
    }
)


def as_batches(rows: list[dict[str, Any]], cuts: list[int]) -> list[pa.RecordBatch]:
    """The rows in batches, cut anywhere; slices of one table, so that offsets are not 0."""
    whole = pa.Table.from_pylist(rows, SCHEMA)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    return [batch for low, high in pairwise(edges) for batch in whole.slice(low, high - low).to_batches()]


def travelled(
    dealt: Iterator[pa.RecordBatch], tasks: int, limits: Limits, keys: tuple[tuple[str, ...], ...], in_memory: int
) -> list[list[pa.Table]]:
    """The tables of each task: blobs go to tasks by the number of their bucket."""
    with ExitStack() as stack:
        gathered = [stack.enter_context(Gathered(in_memory)) for _ in range(tasks)]
        for batch in dealt:
            for row in range(batch.num_rows):
                gathered[batch.column("bucket")[row].as_py() % tasks].add(batch.slice(row, 1))
        return [list(one.tables(limits, keys, refuse)) for one in gathered]


def refuse(row: pa.Table) -> None:
    raise LookupError(row.to_pylist())


def texts(table: pa.Table) -> list[str]:
    return [repr(row) for row in table.to_pylist()]


def key_of(row: dict[str, Any]) -> str:
    part = None if row["inner"] is None else row["inner"]["part"]
    return repr((row["key"], None if part is None else part + 0.0))


@examples(150)
@given(
    hs.lists(ROW, min_size=1, max_size=60),
    hs.lists(hs.integers(0, 60), max_size=3),
    hs.integers(1, 5),
    hs.integers(1, 40),
    hs.sampled_from([0, 5_000, 10**9]),
)
def test_every_row_arrives_once_and_keys_stay_together(
    rows: list[dict[str, Any]], cuts: list[int], tasks: int, at_once: int, in_memory: int
) -> None:
    deal = Deal(Buckets(tasks), KEYS, None, SCHEMA.field(TIME).type)
    dealt = (deal.deal(pa.Table.from_batches([batch])) for batch in as_batches(rows, cuts) if batch.num_rows)
    tables = [
        table for of_task in travelled(dealt, tasks, Limits(at_once, 10**9), KEYS, in_memory) for table in of_task
    ]
    assert Counter(text for table in tables for text in texts(table)) == Counter(
        texts(pa.Table.from_pylist(rows, SCHEMA))
    )
    assert all(table.schema == SCHEMA for table in tables)
    places = [{key_of(row) for row in table.to_pylist()} for table in tables]
    assert sum(map(len, places)) == len(set().union(*places))
    assert all(table.num_rows <= at_once or len(keys) == 1 for table, keys in zip(tables, places, strict=True))


@examples(60)
@given(hs.lists(ROW, min_size=1, max_size=40), hs.integers(1, 50), hs.integers(0, 49), hs.booleans())
def test_chunks_of_time_by_arrow(rows: list[dict[str, Any]], length: int, beyond: int, before: bool) -> None:
    moment = SCHEMA.field(TIME).type
    beyond = min(beyond, length)
    cut = TimeCut(length, before=beyond) if before else TimeCut(length, after=beyond)
    numbered = number_rows(pa.Table.from_pylist(rows, SCHEMA), cut, moment)
    expected = []
    for row in rows:
        own, offset = divmod(row[TIME], length)
        expected.append((row[TIME], own))
        if offset < beyond if not before else offset >= length - beyond:
            expected.append((row[TIME], own + (1 if before else -1)))
    times = numbered.column(TIME).cast(pa.int64()).to_pylist()
    assert list(zip(times, numbered.column(CHUNK).to_pylist(), strict=True)) == expected


def test_each_bucket_has_a_task_of_its_own() -> None:
    for count in (1, 2, 3, 8, 200, 1000):
        assert sorted(_spark_hash(Buckets(count).numbers()) % count) == list(range(count))


def test_the_hash_is_the_one_of_spark() -> None:
    """SELECT hash(0), hash(1), hash(-1), hash(42)"""
    numbers = np.array([0, 1, -1, 42], np.int32)
    assert _spark_hash(numbers).tolist() == [933211791, -559580957, -1604776387, 29417773]


def many_rows(count: int, keys: int) -> pa.Table:
    numbers = np.arange(count)
    return pa.table({TIME: numbers, "key": numbers * 7919 % keys, "x": numbers / 2})


@pytest.mark.parametrize(("tasks", "keys"), [(1, 50), (3, 50), (3, 1)])
def test_a_bucket_beyond_memory_waits_in_a_file_that_has_no_name(
    tasks: int, keys: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path / 'missing'},{tmp_path}")
    rows = many_rows(20_000, keys)
    deal = Deal(Buckets(tasks), (("key",),), None, pa.int64())
    with Gathered(in_memory=10_000) as gathered:
        for batch in rows.to_batches(max_chunksize=1_000):
            gathered.add(deal.deal(pa.Table.from_batches([batch])))
        assert gathered.has_spilled
        assert os.listdir(tmp_path) == []
        tables = list(gathered.tables(Limits(1_000, 10**9), (("key",),), refuse))
    found = [set(table.column("key").to_pylist()) for table in tables]
    assert sum(map(len, found)) == keys
    assert all(table.num_rows <= 1_000 or len(one) == 1 for table, one in zip(tables, found, strict=True))
    assert pa.concat_tables(tables).sort_by(TIME).equals(rows)
    # Rows that came in order stay in order, so that nothing has to be sorted by time.
    assert all(table.column(TIME).to_pylist() == sorted(table.column(TIME).to_pylist()) for table in tables)


def test_blobs_of_tasks_that_end_in_any_order_are_gathered_by_time() -> None:
    rows = many_rows(9_000, 10)
    deal = Deal(Buckets(1), (("key",),), None, pa.int64())
    pieces = [rows.slice(low, 3_000) for low in (6_000, 0, 3_000)]
    with Gathered(10**9) as gathered:
        for piece in pieces:
            gathered.add(deal.deal(piece))
        (table,) = gathered.tables(UNLIMITED, (("key",),), refuse)
    assert table.equals(rows)


@pytest.mark.parametrize("keys", [(("key",),), ()])
def test_a_key_with_too_many_rows_is_refused(keys: tuple[tuple[str, ...], ...]) -> None:
    rows = pa.table({TIME: np.arange(300), "key": np.where(np.arange(300) % 3, 7, np.arange(300))})
    dealt = Deal(Buckets(2), keys, None, pa.int64()).deal(rows)
    with Gathered(10**9) as gathered:
        gathered.add(dealt)
        with pytest.raises(LookupError, match="'key': 7" if keys else "'time': 0,"):
            list(gathered.tables(Limits(10, 150), keys, refuse))
    with Gathered(10**9) as gathered:
        gathered.add(dealt)
        if keys:
            assert sum(table.num_rows for table in gathered.tables(Limits(10, 200), keys, refuse)) == 300


def test_a_task_without_rows_has_nothing_to_deal_and_nothing_to_compute() -> None:
    empty = pa.RecordBatch.from_pylist([], SCHEMA)
    assert list(Deal(Buckets(4), KEYS, None, SCHEMA.field(TIME).type)([empty])) == []
    with Gathered(10**9) as gathered:
        assert list(gathered.tables(UNLIMITED, KEYS, refuse)) == []
