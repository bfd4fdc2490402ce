"""Random queries on random stores: by indexes, whichever are asked, the rows are those of a run on all events."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.query import Query
from tests.reference.streams import crossed_cases, queries_and_streams
from tests.runners.reference_tables import rows_of
from tests.runners.test_crossed_against_reference import list_text
from tests.runners.test_local_against_reference import planned
from tests.runners.test_trends_against_reference import counted
from tests.runners.test_trends_against_reference import planned as list_planned
from tests.store.patterns.layouts import Layout, chosen_at_random, far_apart, read_all, stores
from trendweave.errors import TrendweaveError


def check(query: trendweave.Query, events: list[dict], data: hs.DataObject) -> None:
    """Run a query on a store of events in several ways, and on all of them at once."""
    layout = data.draw(stores(data.draw(far_apart(events))))
    low = data.draw(hs.sampled_from([None, None, -2, 3, 7]))
    high = data.draw(hs.sampled_from([None, None, 8, 30, 60]))
    table = read_all(layout)
    kept = [
        (low is None or (time is not None and time >= low)) and (high is None or (time is not None and time < high))
        for time in table.column("time").to_pylist()
    ]
    try:
        expected = query.run(table.filter(pa.array(kept, pa.bool_())))
    except TrendweaveError:
        return  # it is refused on these events, wherever they are
    with TemporaryDirectory() as folder:
        store = layout.write(Path(folder))
        for using in ("index", "auto", "replay"):
            with chosen_at_random(data):
                found = query.run(store, between=(low, high), using=using)
            assert found.schema.equals(expected.schema), using
            if query.lists_trends:
                assert counted(rows_of(found)) == counted(rows_of(expected)), using
            else:
                assert_same_rows(rows_of(expected), rows_of(found), f"{using}: {query}")


@given(queries_and_streams(empty=False), hs.data())
@examples(80)
def test_aggregates(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(queries_and_streams(negation=True, empty=False, nots=True), hs.data())
@examples(40)
def test_negation(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(crossed_cases(lists=False), hs.data())
@examples(40)
def test_features_of_matches(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(planned(query), events, data)


@given(crossed_cases(lists=True), hs.data())
@examples(40)
def test_lists(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    query, events = case
    check(list_planned(list_text(query)), events, data)


def test_the_comparison_can_fail() -> None:
    """A store that has lost two events gives other rows."""
    query = trendweave.query("RETURN COUNT(*) PATTERN A a+ WITHIN 4 seconds SLIDE 4 seconds")
    events = [{"time": time, "type": "A", "x": 1, "y": 1.0, "s": "p", "k": 1, "g": "u"} for time in range(8)]
    whole, lost = Layout([events], [2], 1, [], []), Layout([events[:6]], [2], 1, [], [])
    with TemporaryDirectory() as folder:
        assert rows_of(query.run(lost.write(Path(folder)))) != rows_of(query.run(read_all(whole)))
