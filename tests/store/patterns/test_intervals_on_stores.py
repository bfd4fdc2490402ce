"""Interval queries on random stores: what the coarse map leaves out changes no row."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.engines import as_table, full_text, planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Query
from tests.reference.intervals.streams import queries_and_events
from trendweave.store.event_store import EventStore


@given(queries_and_events(), hs.data())
@examples(40)
def test_rows_are_those_of_a_run_on_all_events(drawn: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, events = drawn
    engine = planned(query)
    if engine is None:
        return
    copies = data.draw(hs.integers(1, 3))
    apart = data.draw(hs.sampled_from([2, 30])) + max((abs(one["time"] or 0) for one in events), default=0) * 2
    quiet = [
        {**one, **{name: None for name in one if name != "time" and name.islower() and len(name) == 1}}
        for one in events
    ]
    many = [
        {**one, "time": None if one["time"] is None else one["time"] + number * apart}
        for number in range(copies)
        for one in (quiet if data.draw(hs.booleans()) else events)
    ]
    if data.draw(hs.booleans()):
        many.sort(key=lambda one: (one["time"] is None, one["time"]))
    table = as_table(query, many)
    low = data.draw(hs.sampled_from([None, None, 2]))
    high = data.draw(hs.sampled_from([None, None, 20]))
    kept = [
        (low is None or (time is not None and time >= low)) and (high is None or (time is not None and time < high))
        for time in table.column("time").to_pylist()
    ]
    expected = engine.run(table.filter(pa.array(kept, pa.bool_())))
    with TemporaryDirectory() as folder:
        cut = data.draw(hs.integers(0, len(many)))
        parts, size = (table.slice(0, cut), table.slice(cut)), data.draw(hs.integers(1, 3))
        keys = data.draw(hs.sampled_from([(), ("k",), ("g",), ("k", "g"), ("s",)]))
        if keys:
            folder = str(Path(folder) / "store")
            store = EventStore.create(
                folder, table.schema, type=None, keys=keys, buckets=data.draw(hs.integers(2, 4)), group_rows=size
            )
            for part in parts:
                store.append(part)
        else:
            for number, part in enumerate(parts):
                pq.write_table(part, Path(folder) / f"{number}.parquet", row_group_size=size)
            store = EventStore.over(folder)
        store = store.build_index() if data.draw(hs.integers(0, 3)) else store
        found = engine.run(store, using="index", between=(low, high))
        assert_same_rows(expected.to_pylist(), found.to_pylist(), full_text(query))


SIX = [(1, "a", 1), (2, "b", 0), (3, "c", 2), (4, "d", 0), (5, "e", 1), (6, "f", 0)]


def test_situations_of_several_buckets(tmp_path: Path) -> None:
    """Whatever lies in which bucket: conditions are about all events of a time."""
    table = pa.table(
        {name: list(values) for name, values in zip(("time", "k", "x"), zip(*SIX, strict=True), strict=True)}
    )
    store = EventStore.create(tmp_path / "store", table.schema, type=None, keys=["k"], buckets=2)
    store.append(table)
    assert len(store.files) == 2
    query = trendweave.query("FROM R DEFINE P AS x > 0, Q AS x > 1 PATTERN P before Q WITHIN 10 seconds")
    expected = query.run(table).to_pylist()
    assert len(expected) == 1
    for using in ("index", "auto", "replay"):
        assert query.run(store, using=using).to_pylist() == expected
    assert query.run(store, using="index", between=(4, 7)).num_rows == 0


def test_many_events_in_buckets_are_planned_and_explained(tmp_path: Path) -> None:
    """So many that reading all of them is worth a plan."""
    number = 400_000
    times = np.arange(number)
    busy = (times // 100) % 1000 == 7
    table = pa.table({"time": times, "k": times % 13, "x": np.where(busy, times % 5, 0)})
    store = EventStore.create(tmp_path / "store", table.schema, type=None, keys=["k"], buckets=4)
    store.append(table)
    query = trendweave.query("FROM R DEFINE P AS x > 0, Q AS x = 2 PATTERN P contains Q WITHIN 10 seconds")
    expected = query.run(table).to_pylist()
    assert expected
    for using in ("index", "auto"):
        assert_same_rows(expected, query.run(store, using=using).to_pylist())
    assert "light index" in query.explain(store)


def quiet_and_busy() -> pa.Table:
    """Busy from 100 to 109 and from 500 to 509, and quiet otherwise."""
    times = list(range(1000))
    values = [9 if 100 <= time < 110 or 500 <= time < 510 else 0 for time in times]
    return pa.table({"time": times, "x": values, "y": values[:300] + [0] * 700})


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("FROM S DEFINE A AS x > 5 RETURN SITUATIONS", 6),
        ("FROM S DEFINE A AS x > 5, B AS y > 5 PATTERN A starts; equals; meets B WITHIN 50 seconds", 3),
        ("FROM S DEFINE A AS x > 5, B AS y > 20 PATTERN A before B WITHIN 50 seconds", 0),
        ("FROM S PARTITION BY y DEFINE A AS x > 5 RETURN SITUATIONS", 91),
    ],
)
def test_quiet_times_are_not_read(tmp_path: Path, text: str, most: int) -> None:
    pq.write_table(quiet_and_busy(), tmp_path / "a.parquet", row_group_size=10)
    store = EventStore.over(tmp_path).build_index()
    query, metrics = trendweave.query(text), trendweave.Metrics()
    found = query.run(store, using="index", metrics=metrics)
    assert_same_rows(query.run(quiet_and_busy()).to_pylist(), found.to_pylist())
    assert metrics.get["row_groups_read"] <= most


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("FROM S DEFINE A AS x > PREV(x) RETURN SITUATIONS", "PREV"),
        ("RETURN COUNT(*) DEFINE A AS x > 5 PATTERN S s+ WHERE s DURING A WITHIN 9 seconds", "may still hold"),
    ],
)
def test_why_all_events_are_read(tmp_path: Path, text: str, why: str) -> None:
    pq.write_table(quiet_and_busy(), tmp_path / "a.parquet", row_group_size=10)
    store = EventStore.over(tmp_path, type=None).build_index()
    assert why in trendweave.query(text).explain(store)
