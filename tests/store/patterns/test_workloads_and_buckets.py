"""Workloads on stores, whose queries share what is read, and stores whose files are buckets of keys."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import Event, seq
from tests.reference.streams import event_streams
from tests.runners.reference_tables import rows_of, table_of
from tests.store.patterns.layouts import chosen_at_random, far_apart, read_all, stores
from trendweave.store.event_store import EventStore

A, B, C = (Event(name, name.lower()) for name in "ABC")
STREAMS = event_streams(seq(A, B, C), max_events=10)
QUERIES = (
    "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE a.x > 1 WITHIN 6 seconds SLIDE 2 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A a+, C c) WHERE [k] AND c.x < 0 WITHIN 8 seconds SLIDE 8 seconds",
    "RETURN COUNT(*), SUM(a.x) PATTERN SEQ(NOT C c, A a, B b) WHERE a.x >= 2 WITHIN 6 seconds SLIDE 3 seconds",
    "RETURN COUNT(*) PATTERN SEQ(A a, B b?) SEMANTICS contiguous WHERE a.s = 'p' WITHIN 5 seconds SLIDE 5 seconds",
    "RETURN k, COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS skip-till-next-match WHERE b.y > 0.5 GROUP-BY k "
    "WITHIN 9 seconds SLIDE 3 seconds",
    "RETURN COUNT(*) PATTERN (A a OR SEQ(B b, C c)) WHERE a.x IN (1, 3) AND c.x BETWEEN 0 AND 1 WITHIN 4 seconds "
    "SLIDE 2 seconds",
    "RETURN COUNT(*) PATTERN B b+ WHERE [k] AND b.x IS NULL WITHIN SESSION 3 seconds",
)


@given(STREAMS, hs.lists(hs.sampled_from(QUERIES), min_size=2, max_size=4, unique=True), hs.data())
@examples(20)
def test_workloads(events: list[dict[str, Any]], texts: list[str], data: hs.DataObject) -> None:
    workload = trendweave.workload(texts)
    layout = data.draw(stores(data.draw(far_apart(events))))
    expected = workload.run(read_all(layout))
    with TemporaryDirectory() as folder:
        store = layout.write(Path(folder))
        for using in ("index", "auto"):
            with chosen_at_random(data):
                found = workload.run(store, using=using)
            assert found.schema.equals(expected.schema)
            assert_same_rows(rows_of(expected), rows_of(found), using)


def write_buckets(folder: Path, events: list[dict[str, Any]], size: int, keys: tuple[str, ...] = ("k",)) -> EventStore:
    """A file per remainder of k, as `append` would name them."""
    for bucket in range(3):
        inside = [event for event in events if (event["k"] or 0) % 3 == bucket]
        pq.write_table(table_of(inside), folder / f"bucket-{bucket}-of-3-0.parquet", row_group_size=size)
    return EventStore.over(folder, time="time", type="type", keys=keys).build_index(["x", "type"])


@given(STREAMS, hs.sampled_from(QUERIES), hs.integers(1, 4), hs.data())
@examples(20)
def test_buckets(events: list[dict[str, Any]], text: str, size: int, data: hs.DataObject) -> None:
    query = trendweave.query(text)
    events = data.draw(far_apart(events))
    expected = query.run(table_of(events))
    with TemporaryDirectory() as folder:
        store = write_buckets(Path(folder), events, size)
        assert [file.bucket for file in store.files] == [(0, 3), (1, 3), (2, 3)]
        with chosen_at_random(data):
            found = query.run(store, using="index")
        assert_same_rows(rows_of(expected), rows_of(found))


def events_of_keys() -> list[dict[str, Any]]:
    """Each second an A of key 1 and, far later, a B of key 2: no trend."""
    kinds = [("A", 1, time) for time in range(10)] + [("B", 2, time) for time in range(10)]
    return [{"time": time, "type": kind, "x": 1, "y": 1.0, "s": "p", "k": k, "g": "u"} for kind, k, time in kinds]


@pytest.mark.parametrize(("condition", "read"), [("[k]", 0), ("[g]", 10)])
def test_buckets_are_looked_at_one_by_one_where_keys_are_equal(tmp_path: Path, condition: str, read: int) -> None:
    store = write_buckets(tmp_path, events_of_keys(), 2)
    query = trendweave.query(
        f"RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE {condition} WITHIN 5 seconds SLIDE 5 seconds"
    )
    metrics = trendweave.Metrics()
    query.run(store, using="index", metrics=metrics)
    assert metrics.get["row_groups_read"] == read


def test_intervals_beside_trends_are_read_in_full(tmp_path: Path) -> None:
    store = write_buckets(tmp_path, events_of_keys(), 2)
    intervals = "FROM A DEFINE X AS x > 0 RETURN SITUATIONS"
    workload = trendweave.workload({"trends": QUERIES[0], "situations": intervals})
    metrics = trendweave.Metrics()
    found = workload.run(store, metrics=metrics)
    assert metrics.get["row_groups_skipped"] == 0
    assert_same_rows(rows_of(workload.run(store.read())), rows_of(found))
    assert "all events are read" in workload.explain(store)


def test_options_of_stores_are_checked(tmp_path: Path) -> None:
    store = write_buckets(tmp_path, events_of_keys(), 2)
    query = trendweave.query(QUERIES[0])
    with pytest.raises(trendweave.errors.OptionError, match="using is one of auto, index, replay"):
        query.run(store, using="guess")  # type: ignore[arg-type]
    with pytest.raises(trendweave.errors.OptionError, match="only stores take the options between"):
        query.run(table_of([]), between=(1, 2))
    with pytest.raises(trendweave.errors.OptionError, match="between takes two"):
        query.run(store, between=3)  # type: ignore[arg-type]
    with pytest.raises(trendweave.errors.OptionError, match="laid out by the time column time, not x"):
        query.run(store, time="x")
    with pytest.raises(trendweave.errors.OptionError, match="explain takes the options using with a store"):
        query.explain(using="index")
    assert pa.types.is_int64(query.schema(store).field("window_start").type)
