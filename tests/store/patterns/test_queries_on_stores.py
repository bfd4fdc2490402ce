"""Random queries on random stores: by indexes, whichever are asked, the rows are those of a run on all events."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.features.places import dealing_everything_out
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query, text
from tests.reference.streams import crossed_cases, queries_and_streams
from tests.runners.reference_tables import rows_of
from tests.runners.test_crossed_against_reference import list_text
from tests.runners.test_expressions_in_aggregates import MORE_REFUSED, expressions, of_columns, of_expression
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import counted
from tests.runners.test_trends_against_reference import planned as list_planned
from tests.store.patterns.layouts import Layout, chosen_at_random, far_apart, read_all, stores
from trendweave.errors import TrendweaveError
from trendweave.store.event_store import EventStore


def check(query: trendweave.Query, events: list[dict], data: hs.DataObject) -> None:
    """Run a query on a store of events in several ways, and on all of them at once."""
    layout = data.draw(stores(data.draw(far_apart(events))))
    low = data.draw(hs.sampled_from([None, None, -2, 3, 7]))
    high = data.draw(hs.sampled_from([None, None, 8, 30, 60]))
    order = data.draw(hs.sampled_from([None, None, None, "x", ["s", "x"]]), label="order_by")
    table = read_all(layout)
    kept = [
        (low is None or (time is not None and time >= low)) and (high is None or (time is not None and time < high))
        for time in table.column("time").to_pylist()
    ]
    try:
        expected = query.run(table.filter(pa.array(kept, pa.bool_())), order_by=order)
    except TrendweaveError:
        return  # it is refused on these events, wherever they are
    with TemporaryDirectory() as folder:
        store = layout.write(Path(folder))
        for using in ("index", "auto", "replay"):
            with chosen_at_random(data):
                found = query.run(store, between=(low, high), using=using, order_by=order)
            assert found.schema.equals(expected.schema), using
            if query.lists_trends:
                assert counted(rows_of(found)) == counted(rows_of(expected)), using
            else:
                assert_same_rows(rows_of(expected), rows_of(found), f"{using}: {query}")


@given(queries_and_streams(empty=False), hs.data())
@examples(50)
def test_aggregates(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(queries_and_streams(negation=True, empty=False, nots=True), hs.data())
@examples(25)
def test_negation(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(crossed_cases(lists=False), hs.data())
@examples(25)
def test_features_of_matches(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(crossed_cases(lists=True), hs.data())
@examples(25)
def test_lists(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(list_planned(list_text(query)), events, data)


@given(queries_and_streams(empty=False, conjunction=False, calculated=True, ordered=True), hs.data())
@examples(15)
def test_ordered_and_calculated_rows(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(queries_and_streams(empty=False, conjunction=False, calculated=True), expressions, hs.data())
@examples(15)
def test_aggregates_of_expressions(case: tuple[Query, list[dict]], expression: str, data: hs.DataObject) -> None:
    query, events = case
    check(list_planned(of_expression(text(of_columns(query)), expression), MORE_REFUSED), events, data)


@given(
    crossed_cases(lists=True), hs.sampled_from(["LIMIT 1", "LIMIT 3", "LONGEST 1", "LONGEST 2", "SAMPLE 2"]), hs.data()
)
@examples(25)
def test_chosen_trends(case: tuple[Query, list[dict]], choice: str, data: hs.DataObject) -> None:
    query, events = case
    try:
        asked = trendweave.query(f"{list_text(query)} {choice}")
    except TrendweaveError:
        return  # not every list can be chosen from
    check(asked, events, data)


@pytest.mark.parametrize(
    "kind",
    [pa.int32(), pa.float64(), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("ns")],
    ids=str,
)
def test_every_kind_of_time(kind: pa.DataType, tmp_path: Path) -> None:
    seconds = [1, 2, 3, 1_000, 1_001, 5_000, 5_003, 5_009]
    table = pa.table(
        {
            "time": pa.array(seconds, pa.timestamp("s") if pa.types.is_timestamp(kind) else kind).cast(kind),
            "type": ["A", "B", "A", "A", "B", "A", "A", "B"],
            "x": [1, 1, 9, 9, 1, 9, 9, 1],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    store = EventStore.over(tmp_path, type="type").build_index(["x"])
    for window in ("WITHIN 5 seconds SLIDE 5 seconds", "WITHIN 7 seconds", "WITHIN SESSION 5 seconds", ""):
        query = trendweave.query(f"RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE a.x > 5 {window}")
        assert query.run(store, using="index").equals(query.run(store.read()))
    metrics = trendweave.Metrics()
    trendweave.query("RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE a.x > 5 WITHIN 5 seconds SLIDE 5 seconds").run(
        store, using="index", metrics=metrics
    )
    assert metrics.get["row_groups_skipped"] > 0


@pytest.mark.parametrize("using", ["index", "auto", "replay"])
def test_events_of_any_type_and_lists_of_them(using: str, tmp_path: Path) -> None:
    """Blocks without an a, and types that nobody names, hold events of a match."""
    table = pa.table(
        {
            "time": range(0, 16),
            "type": ["A", "P", "P", "Q", "C", "Z", "Z", "Z", "Z", "Z", "A", "Q", "Q", "P", "C", "Z"],
            "x": range(16),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    store = EventStore.over(tmp_path, type="type").build_index(["type", "x"])
    query = trendweave.query(
        "RETURN EACH COLLECT_LIST(e.type) AS types, MEDIAN(e.x) AS middle, e[2].x AS second "
        "PATTERN SEQ(A a, ANY e+, C c) SEMANTICS contiguous WITHIN 6 seconds"
    )
    assert query.run(store, using=using).to_pylist() == [
        {"time": 4, "types": ["P", "P", "Q"], "middle": 2.0, "second": 2},
        {"time": 14, "types": ["Q", "Q", "P"], "middle": 12.0, "second": 12},
    ]
    alone = trendweave.query("RETURN COUNT(*) PATTERN ANY e WHERE e.x > 12 WITHIN 100 seconds SLIDE 100 seconds")
    assert [row["count"] for row in alone.run(store, using=using).to_pylist()] == [3]


@pytest.mark.parametrize("window", ["WITHIN 5 seconds", "WITHIN 6 seconds SLIDE 2 seconds", "WITHIN SESSION 3 seconds"])
def test_threads_share_out_stretches_of_time(window: str, tmp_path: Path) -> None:
    """They are numbered as the chunks of time are that threads make."""
    seconds = [100 * pause + second for pause in range(12) for second in range(4)]
    events = {
        "time": seconds,
        "type": ["A", "B", "B", "N"] * 12,
        "x": [pause % 3 for pause in range(12) for _ in "1234"],
    }
    pq.write_table(pa.table(events), tmp_path / "a.parquet", row_group_size=4)
    store = EventStore.over(tmp_path, type="type").build_index(["x"])
    query = trendweave.query(
        f"RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE a.x = 0 SEMANTICS skip-till-next-match {window}"
    )
    with dealing_everything_out():
        found = query.run(store, using="index", device="threads")
    assert found.equals(query.run(store.read()))


def test_the_comparison_can_fail() -> None:
    """A store that has lost two events gives other rows."""
    query = trendweave.query("RETURN COUNT(*) PATTERN A a+ WITHIN 4 seconds SLIDE 4 seconds")
    events = [{"time": time, "type": "A", "x": 1, "y": 1.0, "s": "p", "k": 1, "g": "u"} for time in range(8)]
    whole, lost = Layout([events], [2], 1, [], []), Layout([events[:6]], [2], 1, [], [])
    with TemporaryDirectory() as folder:
        assert rows_of(query.run(lost.write(Path(folder)))) != rows_of(query.run(read_all(whole)))
