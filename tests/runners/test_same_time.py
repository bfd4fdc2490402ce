"""Events with the same timestamp: how many a run counts, everywhere, and when it warns of them."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.features.places import dealing_everything_out
from tests.profiles import examples
from tests.streaming.simulated import SimulatedStream
from trendweave.runners.nothing_found import tell_again

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.int64(), "x": pa.int64(), "n": pa.int64()})
#: Queries, with the keys of their partitions; the last two read events of all types.
QUERIES = [
    ("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 6 seconds SLIDE 3 seconds", ""),
    ("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 6 seconds", "k"),
    (
        "RETURN k, COUNT(*) PATTERN SEQ(A a, B b+) WHERE b.x < NEXT(b).x GROUP-BY k WITHIN 4 seconds SLIDE 4 seconds",
        "k?",
    ),
    ("RETURN TRENDS PATTERN SEQ(A a, B b) SEMANTICS skip-till-next-match WHERE [k] WITHIN 5 seconds", "k"),
    ("RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [k] WITHIN SESSION 3 seconds", "k*"),
    ("RETURN EACH LENGTH PATTERN SEQ(A a, B b+) SEMANTICS contiguous WHERE [k] WITHIN 6 seconds SLIDE 6 seconds", "k*"),
]
EVENTS = hs.lists(
    hs.fixed_dictionaries(
        {
            "time": hs.none() | hs.integers(0, 14),
            "type": hs.none() | hs.sampled_from("AABBZ"),
            "k": hs.none() | hs.integers(0, 1),
            "x": hs.integers(0, 2),
            "n": hs.none() | hs.integers(0, 1),
        }
    ),
    max_size=24,
)


def expected(events: list[dict[str, Any]], keys: str, ordered: bool) -> int:
    """Events that share time, key and what orders them with another one, of those that a query reads."""
    types = ("A", "B", "Z") if keys == "k*" else ("A", "B")
    read = [event for event in events if event["time"] is not None and event["type"] in types]
    read = [event for event in read if keys not in ("k", "k*") or event["k"] is not None]
    names = ["time", *(["k"] if keys else []), *(["n"] if ordered else [])]
    places = [tuple(event[name] for name in names) for event in read]
    counts = Counter(places)
    return sum(counts[place] > 1 for place in places)


@given(EVENTS, hs.sampled_from(QUERIES), hs.booleans(), hs.data())
@examples(60)
def test_counts_are_the_same_everywhere(
    events: list[dict[str, Any]], asked: tuple[str, str], ordered: bool, data: hs.DataObject
) -> None:
    text, keys = asked
    query, table = trendweave.query(text), pa.Table.from_pylist(events, SCHEMA)
    options: Any = {"order_by": "n"} if ordered else {}
    number = expected(events, keys, ordered)
    metrics = trendweave.Metrics()
    query.run(table, metrics=metrics, **options)
    assert metrics.get["same_time"] == number
    with dealing_everything_out():
        query.run(table, metrics=metrics, device="threads", **options)
    assert metrics.get["same_time"] == number
    in_order = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    engine = query.incremental(SCHEMA, **options)
    state, waiting = engine.start(), in_order
    while waiting:
        cut = data.draw(hs.integers(1, len(waiting)))
        piece, waiting = waiting[:cut], waiting[cut:]
        watermark = waiting[0]["time"] if waiting else None
        state, _ = engine.push(engine.read(state.to_bytes()), pa.Table.from_pylist(piece, SCHEMA), watermark)
    assert counted(engine.finish(state)) == number
    session = query.push(SCHEMA, **options)
    for event in in_order:
        session.send(event)
    assert counted(session.finish()) == number
    if not ordered:
        stream = SimulatedStream(query, delay=0, schema=SCHEMA)
        cut = data.draw(hs.integers(0, len(in_order)))
        while 0 < cut < len(in_order) and in_order[cut]["time"] == in_order[cut - 1]["time"]:
            cut += 1  # an event at the very watermark is in time, but not one behind it
        for piece in (in_order[:cut], in_order[cut:], [{"time": 1000, "type": "A", "k": 9, "x": 0, "n": 0}]):
            stream.push(piece)
            stream.advance()
        assert stream.same_time == number


def counted(rows: pa.Table) -> int:
    return json.loads(rows.schema.metadata[b"trendweave.metrics"]).get("same_time", 0)


@given(EVENTS)
@examples(20)
def test_workloads_and_stores(events: list[dict[str, Any]]) -> None:
    """Of queries with several kinds of partitions, those of each kind; of a store, those that are read."""
    table = pa.Table.from_pylist(events, SCHEMA)
    rules = {str(number): text for number, (text, _) in enumerate(QUERIES[:5])}
    metrics = trendweave.Metrics()
    trendweave.workload(rules).run(table, metrics=metrics)
    assert metrics.get["same_time"] == sum(expected(events, keys, False) for keys in ("", "k?", "k*"))
    with TemporaryDirectory() as folder:
        store = trendweave.EventStore.create(Path(folder) / "store", SCHEMA, keys=["k"], buckets=2)
        store.append(table)
        for text, keys in QUERIES[:2]:
            trendweave.query(text).run(store, metrics=metrics, using="replay")
            assert metrics.get["same_time"] == expected(events, keys, False)


TIED = pa.table({"time": [i // 2 for i in range(200)], "type": ["A", "B"] * 100, "k": [i % 2 for i in range(200)]})
UNTIED = [TIED.set_column(0, "time", pa.array(range(first, first + 200))) for first in range(200, 800, 200)]
PAIRS = "RETURN COUNT(*) PATTERN SEQ(A a, B b) {} WITHIN 10 seconds SLIDE 10 seconds"


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "order_by" in record.getMessage()]


@pytest.mark.parametrize("host", ["run", "iter", "threads", "push", "incremental", "workload", "store"])
def test_a_query_that_could_join_many_is_told_once(caplog: pytest.LogCaptureFixture, tmp_path: Path, host: str) -> None:
    tell_again()
    query = trendweave.query(PAIRS.format(""))
    with caplog.at_level(logging.WARNING, "trendweave"):
        for again in range(2):
            match host:
                case "run":
                    query.run(TIED)
                case "iter":
                    list(query.iter(TIED))
                case "threads":
                    query.run(TIED, device="threads")
                case "push":
                    session = query.push(TIED)
                    session.send_table(TIED)
                    session.finish()
                case "incremental":
                    engine = query.incremental(TIED)
                    engine.finish(engine.push(engine.start(), TIED, 90)[0])
                case "workload":
                    trendweave.workload({"pairs": query, "other": PAIRS.format("WHERE [k]")}).run(TIED)
                case "store":
                    store = trendweave.EventStore.create(tmp_path / str(again), TIED.schema)
                    store.append(TIED)
                    query.run(store)
    (message,) = told(caplog)
    assert "200 of 200 events have the time of others that they could follow" in message or host in (
        "push",
        "incremental",
    )
    assert "unless order_by= names a column that orders them" in message


@pytest.mark.parametrize(
    ("text", "events"),
    [
        pytest.param(PAIRS.format("WHERE [k]"), TIED, id="in other partitions"),
        pytest.param(PAIRS.format("").replace("B b", "C c"), TIED, id="of types that do not follow each other"),
        pytest.param("RETURN COUNT(*) PATTERN (A a OR B b)", TIED, id="where nothing follows"),
        pytest.param(PAIRS.format("WHERE a.k = 1"), TIED, id="that a condition leaves out"),
        pytest.param(PAIRS.format(""), TIED.slice(0, 18), id="of which there are few"),
        pytest.param(
            PAIRS.format(""),
            pa.concat_tables([TIED.slice(0, 24), *UNTIED]),
            id="which are a small part",
        ),
    ],
)
def test_others_are_not_told_of(caplog: pytest.LogCaptureFixture, text: str, events: pa.Table) -> None:
    tell_again()
    with caplog.at_level(logging.WARNING, "trendweave"):
        trendweave.query(text).run(events)
    assert told(caplog) == []


def test_nothing_is_told_where_a_column_orders_them(caplog: pytest.LogCaptureFixture) -> None:
    tell_again()
    with caplog.at_level(logging.WARNING, "trendweave"):
        trendweave.query(PAIRS.format("")).run(TIED, order_by="type")
    assert told(caplog) == []


def test_a_workload_warns_once_for_all_its_queries(caplog: pytest.LogCaptureFixture) -> None:
    tell_again()
    queries = {str(least): PAIRS.format(f"WHERE a.k >= {least}") for least in (-2, -1, 0)}
    with caplog.at_level(logging.WARNING, "trendweave"):
        trendweave.workload(queries).run(TIED)
    (message,) = told(caplog)
    assert "200 of 200 events have the time of others that they could follow in one of 3 queries" in message
