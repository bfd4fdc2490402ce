"""A store in an object store: no renames, no memory maps, and only what is needed travels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from tests.operators.running import assert_tables
from tests.store.object_server import Objects, serve
from trendweave.store.event_store import EventStore

SCHEMA = pa.schema({"time": pa.timestamp("us"), "key": pa.string(), "x": pa.float64()})


@pytest.fixture
def bucket() -> Iterator[tuple[pafs.S3FileSystem, Objects]]:
    with serve() as (address, objects):
        yield pafs.S3FileSystem(
            access_key="somebody", secret_key="something", endpoint_override=address, scheme="http",
            region="us-east-1", connect_timeout=5, request_timeout=20,
        ), objects  # fmt: skip


def events(first: int) -> pa.Table:
    times = first * 10**9 + np.arange(6_000)[::-1] * 10**5
    keys = [f"key {number % 3}" for number in range(times.size)]
    return pa.table({"time": times, "key": keys, "x": np.arange(times.size) / 3}).cast(SCHEMA)


def test_a_store_in_a_bucket(bucket: tuple[pafs.S3FileSystem, Objects]) -> None:
    system, objects = bucket
    store = EventStore.create(
        "lake/quotes", SCHEMA, keys=["key"], index=["x"], buckets=2, group_rows=500, filesystem=system
    )
    for first in range(3):
        assert store.append(events(first)) == 6_000
        assert store.append(events(first), batch=("stream", 7)) == (6_000 if first == 0 else 0)

    opened = EventStore.open("lake/quotes", filesystem=system)
    assert opened.read().num_rows == 24_000
    question = ("COUNT(*), SUM(x), MIN(x)", "10 minutes", "10 minutes")
    expected = opened.aggregate(*question, using="replay")
    before = objects.bytes_read
    fresh = EventStore.open("lake/quotes", filesystem=system)
    assert_tables(fresh.aggregate(*question, using="index"), expected)
    assert objects.bytes_read - before < sum(file.size for file in fresh.files) / 3, "data was read"
    assert fresh.lookup("x", "<", 1).time.size == 12

    store.refresh().compact()
    assert len(store.files) == 2
    assert_tables(EventStore.open("lake/quotes", filesystem=system).aggregate(*question), expected)
    assert store.verify(deep=True).is_well
    assert store.vacuum("0 seconds")
    own = {key for key in objects.stored if key.endswith(".parquet")}
    assert own == {f"lake/quotes/{file.name}" for file in store.files}
    assert store.read().num_rows == 24_000
