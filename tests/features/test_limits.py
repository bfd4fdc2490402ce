"""Queries that would take all time or memory there is are refused, with the number, before anything is computed."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import as_table, codes, count, stream, windows
from trendweave.errors import ExecutionError

HUGE = "WITHIN 500 weeks SLIDE 1 second"
LETTERS = "(A a OR B b)"


@pytest.mark.parametrize("returned", ["COUNT(*)", "g, COUNT(*)", "TRENDS", "EACH FIRST(A.time) AS t"])
def test_windows_that_would_make_too_many_rows(run, returned):
    group = " GROUP-BY g" if returned.startswith("g,") else ""
    with pytest.raises(ExecutionError) as refused:
        run(f"RETURN {returned} PATTERN A{group} {HUGE}", stream("a1", g="u"))
    assert codes(refused) == ["TW481"]
    text = str(refused.value)
    assert f"each event lies in {500 * 7 * 86_400:,} windows of 3500 days" in text
    assert f"could be {500 * 7 * 86_400:,} rows; max_rows is 100,000,000" in text
    assert "use a longer SLIDE than 1 second" in text


def test_the_number_of_rows_is_an_option(run):
    events, query = stream("a1 a2 a3"), "RETURN COUNT(*) PATTERN A WITHIN 4 seconds SLIDE 1 second"
    # Each event lies in four windows; those of all are the six that begin from -2 on.
    assert len(windows(run(query, events, max_rows=6))) == 6
    # Where events come one by one, so do their windows.
    with pytest.raises(ExecutionError, match="max_rows is 3"):
        run(query, events, max_rows=3)
    with pytest.raises(ExecutionError, match="could be 6 rows; max_rows is 5"):
        trendweave.query(query).run(as_table(events), max_rows=5)


def test_events_of_a_group_share_their_windows():
    """A day of windows per event is no day of rows per event."""
    many = 3_000
    events = pa.table({"time": range(many), "type": ["A"] * many, "g": [row % 2 for row in range(many)]})
    query = "RETURN COUNT(*) AS n PATTERN A {} WITHIN 1 day SLIDE 1 second"
    spanned = 86_400 + many - 1
    assert trendweave.query(query.format("")).run(events, max_rows=spanned).num_rows == spanned
    with pytest.raises(ExecutionError, match="max_rows"):
        trendweave.query(query.format("GROUP-BY g")).run(events, max_rows=spanned)
    assert trendweave.query(query.format("GROUP-BY g")).run(events, max_rows=2 * spanned).num_rows > spanned
    # NULL is a group of its own.
    some = events.set_column(2, "g", pa.array([None if row % 2 else "u" for row in range(many)]))
    assert trendweave.query(query.format("GROUP-BY g")).run(some, max_rows=2 * spanned).num_rows > spanned


@pytest.mark.parametrize("pattern", ["A{9999}", "SEQ(A{5000}, NOT B, A{4000})"])
def test_templates_that_are_too_large_for_the_events(pattern):
    many = 12_000
    events = pa.table({"time": range(many), "type": ["A"] * many})
    with pytest.raises(ExecutionError) as refused:
        trendweave.query(f"RETURN COUNT(*) PATTERN {pattern}").run(events)
    assert codes(refused) == ["TW480"]
    assert "states and" in str(refused.value)
    assert "too many for 12,000 events" in str(refused.value)
    assert "transitions x events x states are" in str(refused.value)
    assert "max_work is 2.0e+10" in str(refused.value)


def test_few_events_reach_few_of_many_states():
    """States double with each repetition, and only those cost anything that so few events can reach."""
    query = trendweave.query(f"RETURN COUNT(*) PATTERN SEQ({LETTERS}*, A a, {LETTERS}{{12}})")
    times = " ".join(f"{'ab'[time % 2]}{time}" for time in range(14))
    # The thirteenth event from the end is an A: all but one of b1 to b13, from a0 on.
    assert query.run(as_table(stream(times)), max_work=4 * 10**6)["count"].to_pylist() == [13]
    with pytest.raises(ExecutionError) as refused:
        query.run(as_table(stream(times)), max_work=3 * 10**6)
    assert "8,192 states and 16,384 transitions, too many for 14 events" in str(refused.value)
    assert f"transitions x events x events are {16_384 * 14 * 14:.1e}" in str(refused.value)


def test_the_size_of_a_template_is_an_option(run):
    events, query = (
        stream("a1 b2 a3 b4 a5 b6 a7 b8 a9 b10"),
        f"RETURN COUNT(*) PATTERN SEQ({LETTERS}*, A a, {LETTERS}{{7}})",
    )
    with pytest.raises(ExecutionError) as refused:
        run(query, events, max_work=100)
    assert codes(refused) == ["TW480"]
    assert count(run(query, events)) == count(run(query, events, max_work=10**9)) > 0


def test_small_templates_are_never_refused():
    events = pa.table({"time": range(100), "type": ["A"] * 100})
    query = trendweave.query("RETURN COUNT(*) PATTERN A{99}")
    assert query.run(events, max_work=1)["count"].to_pylist() == [100]


@pytest.mark.parametrize(("name", "value"), [("max_rows", 0), ("max_work", "many"), ("max_work", -1)])
def test_limits_are_whole_numbers(name, value):
    with pytest.raises(ExecutionError, match=f"TW408: {name} is '{value}'"):
        trendweave.query("PATTERN A").run(as_table(stream("a1")), **{name: value})
