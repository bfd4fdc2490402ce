"""Contiguous trends by steps from row to row, against the reference twin: few ties, small blocks, small buffers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import variable_types
from tests.reference.query import CONTIGUOUS, COUNT_ALL, Aggregate, Attribute, Query, text
from tests.reference.results import rows
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import each_rows, shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_trends_against_reference import counted, planned
from trendweave.programs.trends.lists import contiguous as lists
from trendweave.programs.trends.lists import walking

V_SHAPE = (
    "PATTERN SEQ(Stock A, Stock B+, Stock C+) SEMANTICS contiguous WHERE [k] AND A.x > B.x AND B.x > NEXT(B).x "
    "AND B.x < C.x AND C.x < NEXT(C).x"
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "ROWS_AT_ONCE", 4)
    monkeypatch.setattr(walking, "TRENDS_AT_ONCE", 3)
    monkeypatch.setattr(walking, "VERTICES_AT_ONCE", 5)


@hs.composite
def contiguous(draw: hs.DrawFn, moving: bool = False, **more: bool) -> tuple[Query, list[dict]]:
    """Most streams have no ties, with gaps of several sizes."""
    query, events = draw(queries_and_streams(negation=False, empty=False, conjunction=False, moving=moving, **more))
    if draw(hs.integers(0, 3)):
        time = 0
        for place, event in enumerate(events):
            if event["time"] is not None:
                time += draw(hs.sampled_from((1, 1, 1, 2, 7)))
                events[place] = event | {"time": time}
    return replace(query, strategy=CONTIGUOUS), events


@given(contiguous())
@examples(80)
def test_trends(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    shown = (Attribute("x"), Attribute("s"))
    asked = planned(shown_text(query, "TRENDS(x, s)"))
    batches = asked.iter(table_of(events))
    found = [row for batch in batches for row in batch.to_pylist()]
    assert counted(found) == counted(trend_rows(query, events, shown)), str(asked)
    assert batches.trends == len(found)


@given(contiguous())
@examples(50)
def test_one_row_per_trend(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    variables = sorted(variable_types(query.pattern))
    one, other = variables[0], variables[-1]
    outputs = (
        Aggregate("FIRST", one, "s"), Aggregate("LAST", other, "y"), Aggregate("COUNT", one),
        Aggregate("SUM", one, "x"), Aggregate("SUM", other, "y", "sum_of_doubles"), Aggregate("AVG", other, "x"),
        Aggregate("MIN", one, "y"), Aggregate("MAX", other, "x"),
    )  # fmt: skip
    listed = [
        f"{a.function}({a.variable}{'' if a.attribute is None else '.' + a.attribute})"
        + ("" if a.name is None else f" AS {a.name}")
        for a in outputs
    ]
    asked = planned(shown_text(query, f"EACH {', '.join(listed)}"))
    assert counted(rows_of(asked.run(table_of(events)))) == counted(each_rows(query, events, outputs)), str(asked)


@given(contiguous())
@examples(80)
def test_counts(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    query = replace(query, aggregates=(COUNT_ALL,))
    planned(shown_text(query, "COUNT(*)"))
    asked = trendweave.query(text(query))
    assert_same_rows(rows(query, events), rows_of(asked.run(table_of(events))), text(query))


@given(contiguous(choice=True))
@examples(80)
def test_trends_that_are_taken(case: tuple[Query, list[dict]]) -> None:
    """AFTER MATCH SKIP, LONGEST and SHORTEST PER START."""
    query, events = case
    asked = planned(shown_text(query, "TRENDS(x, s)"))
    found = rows_of(asked.run(table_of(events)))
    assert counted(found) == counted(trend_rows(query, events, (Attribute("x"), Attribute("s")))), str(asked)


@given(contiguous(session=True))
@examples(60)
def test_trends_in_sessions(case: tuple[Query, list[dict]]) -> None:
    query, events = case
    asked = planned(shown_text(query, "TRENDS(x, s)"))
    found = rows_of(asked.run(table_of(events)))
    assert counted(found) == counted(trend_rows(query, events, (Attribute("x"), Attribute("s")))), str(asked)


@given(contiguous(moving=True), hs.data())
@examples(60)
def test_each_trend_once(case: tuple[Query, list[dict]], data: hs.DataObject) -> None:
    """Under WITHIN alone, in one run and piece by piece."""
    query, events = case
    asked = planned(shown_text(query, "TRENDS(x, s)"))
    expected = counted(trend_rows(query, events, (Attribute("x"), Attribute("s"))))
    assert counted(rows_of(asked.run(table_of(events)))) == expected, str(asked)
    if query.window is None:
        return
    in_order = sorted((event for event in events if event["time"] is not None), key=lambda event: event["time"])
    pieces = asked.incremental(table_of(events).schema)
    state, found = pieces.start(), []
    while in_order:
        cut = data.draw(hs.integers(1, len(in_order)))
        piece, in_order = in_order[:cut], in_order[cut:]
        state, closed = pieces.push(state, table_of(piece), watermark=in_order[0]["time"] if in_order else None)
        found += rows_of(closed)
    assert counted(found + rows_of(pieces.finish(state))) == expected, str(asked)


def walks(count: int, values: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    x = random.integers(0, values, count).astype(float)
    x[random.integers(0, count, count // 20)] = np.nan
    columns: dict[str, Any] = {
        "time": np.arange(count), "type": ["Stock"] * count, "k": random.integers(0, 7, count),
        "x": pa.array(x, mask=random.integers(0, 30, count) == 0),
    }  # fmt: skip
    return pa.table(columns)


@pytest.mark.parametrize(
    "window", ["", "WITHIN 90 seconds SLIDE 90 seconds", "WITHIN 90 seconds SLIDE 20 seconds", "WITHIN 90 seconds"]
)
def test_as_many_as_the_graph_has(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN, NULL and zeros among the values; the general way gives the same rows."""
    events = walks(2_000, 30, seed=7)
    each = f"RETURN EACH FIRST(A.x) AS top, LAST(B.x) AS low, SUM(C.x) AS rise, COUNT(C) AS n {V_SHAPE} {window}"
    counting = f"RETURN COUNT(*) {V_SHAPE} {window}"
    asked = [trendweave.query(query) for query in (each, counting)]
    quick = [rows_of(query.run(events)) for query in asked]
    monkeypatch.setattr(lists, "has_ties", lambda rows: True)
    slow = [rows_of(query.run(events)) for query in asked]
    assert len(quick[0]) > 100
    assert counted(quick[0]) == counted(slow[0])
    assert quick[1] == slow[1]


def test_more_windows_than_are_listed_go_the_general_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "_RANGES_PER_ROW", 1)
    events = pa.table({"time": [0, 10, 20], "type": ["A", "A", "A"]})
    found = trendweave.query("RETURN TRENDS PATTERN A SEMANTICS contiguous WITHIN 4 seconds SLIDE 1 second").run(events)
    assert Counter(row["events"][0]["time"] for row in found.to_pylist()) == {0: 4, 10: 4, 20: 4}


def test_numbers_beyond_floats_are_counted_in_blocks() -> None:
    events = pa.table({"time": list(range(70)), "type": ["A"] * 70})
    query = "PATTERN (A a OR A b)+ SEMANTICS contiguous"
    (row,) = rows_of(trendweave.query(f"RETURN COUNT(*) {query}").run(events))
    # 2^n readings of each run of n events.
    assert row["count"] == sum(2**n * (70 - n + 1) for n in range(1, 71))
    with pytest.raises(trendweave.TrendweaveError, match="TW412"):
        trendweave.query(f"RETURN TRENDS {query}").run(events)
