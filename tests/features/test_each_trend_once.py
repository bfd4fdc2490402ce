"""Lists under `WITHIN w` alone: each trend once, at the time of its last event, or where a NOT at its end times out."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, stream
from trendweave.errors import DataError, PlanningError


def names(rows):
    """`[(time, "a1 b2"), ...]`."""
    return [
        (row["time"], " ".join(f"{event['type'].lower()}{event['time']}" for event in row["events"])) for row in rows
    ]


def listed(run, clauses, events, returned="TRENDS"):
    return sorted(names(run(f"RETURN {returned} {clauses}", events)))


# ------------------------------------------------------------------------------------------------------------ each once


def test_a_trend_comes_once_and_not_with_every_later_window(run):
    # SEQ(A, B): (a1 b2) is still inside of (-5, 5] when (a1 b5) and (a3 b5) end.
    assert listed(run, "PATTERN SEQ(A, B) WITHIN 10 seconds", stream("a1 b2 a3 b5")) == [
        (2, "a1 b2"),
        (5, "a1 b5"),
        (5, "a3 b5"),
    ]


def test_the_events_of_a_trend_are_less_than_the_window_apart(run):
    assert listed(run, "PATTERN SEQ(A, B) WITHIN 3 seconds", stream("a1 b3 b4")) == [(3, "a1 b3")]
    # A length between whole seconds: 3 seconds apart is within 3.5.
    assert listed(run, "PATTERN SEQ(A, B) WITHIN 3500 ms", stream("a1 b4 b5")) == [(4, "a1 b4")]


def test_each(run):
    found = run("RETURN EACH FIRST(A.time) AS a, COUNT(B) PATTERN SEQ(A, B+) WITHIN 5 seconds", stream("a1 b2 b3"))
    assert sorted((row["time"], row["a"], row["count_B"]) for row in found) == [(2, 1, 1), (3, 1, 1), (3, 1, 2)]


def test_with_slide_lists_stay_per_window(run):
    found = run("RETURN TRENDS PATTERN SEQ(A, B) WITHIN 4 seconds SLIDE 2 seconds", stream("a2 b3"))
    assert [row["window_start"] for row in found] == [0, 2]


def test_a_leading_not_guards_the_time_since_the_window_began(run):
    # SEQ(NOT N, A, B) WITHIN 4: for (a3 b5) the window is (1, 5], n2 is in it; for (a6 b7) it is (3, 7].
    assert listed(run, "PATTERN SEQ(NOT N, A, B) WITHIN 4 seconds", stream("n2 a3 b5 a6 b7")) == [(7, "a6 b7")]


def test_limit_chooses_among_the_trends_of_a_time(run):
    found = listed(run, "PATTERN A+ WITHIN 9 seconds LIMIT 1", stream("a1 a2 a3"))
    assert [time for time, _ in found] == [1, 2, 3]
    found = listed(run, "PATTERN A+ WITHIN 9 seconds LONGEST 1", stream("a1 a2 a3"))
    assert found == [(1, "a1"), (2, "a1 a2"), (3, "a1 a2 a3")]


# -------------------------------------------------------------------------------------------------------------- absence


def test_absence_times_out(run):
    # SEQ(A, NOT B) WITHIN 4: b2 answers a1; nobody answers a5 before 9, as b9 is too late.
    assert listed(run, "PATTERN SEQ(A, NOT B) WITHIN 4 seconds", stream("a1 b2 a5 b9")) == [(9, "a5")]


def test_absence_is_counted_from_the_first_event(run):
    # SEQ(A, B, NOT C) WITHIN 5: the window of (a1 b3) ends at 6.
    assert listed(run, "PATTERN SEQ(A, B, NOT C) WITHIN 5 seconds", stream("a1 b3 c6")) == [(6, "a1 b3")]
    assert listed(run, "PATTERN SEQ(A, B, NOT C) WITHIN 5 seconds", stream("a1 b3 c5")) == []


def test_absence_per_key(run):
    events = stream("a1 a2 b3", k=["u", "v", "u"])
    found = run("RETURN EACH FIRST(A.time) AS a PATTERN SEQ(A, NOT B) WHERE [k] GROUP-BY k WITHIN 4 seconds", events)
    assert found == [{"time": 6, "k": "v", "a": 2}]


def test_of_a_sequence_that_must_not_follow(run):
    # SEQ(A, NOT SEQ(B, C)) WITHIN 6: b2 c4 follows a1; after a3 there is no b.
    assert listed(run, "PATTERN SEQ(A, NOT SEQ(B, C)) WITHIN 6 seconds", stream("a1 b2 a3 c4")) == [(9, "a3")]


def test_not_at_both_ends(run):
    # SEQ(NOT N, A, B, NOT N) WITHIN 5: before (a2 b3) nothing after -2; n1 is before a2, n9 after b8.
    query = "PATTERN SEQ(NOT N, A, B, NOT N) WITHIN 5 seconds"
    assert listed(run, query, stream("n1 a2 b3")) == []
    assert listed(run, query, stream("a7 b8 n9")) == []
    assert listed(run, query, stream("n1 a5 b6 n10")) == [(10, "a5 b6")]


def test_only_some_trends_wait(run):
    # (SEQ(A, NOT B) OR SEQ(A, C)) WITHIN 5: (a1 c2) is there at 2, (a1) at 6.
    query = "PATTERN (SEQ(A, NOT B) OR SEQ(A, C)) WITHIN 5 seconds"
    assert listed(run, query, stream("a1 c2")) == [(2, "a1 c2"), (6, "a1")]


def test_the_end_of_the_window_must_be_a_time(run):
    with pytest.raises(DataError) as refused:
        run("RETURN TRENDS PATTERN SEQ(A, NOT B) WITHIN 2500 ms", stream("a1"))
    assert codes(refused) == ["TW309"]


@pytest.mark.parametrize("returned", ["COUNT(*)", "COUNT(A), SUM(A.time)"])
def test_aggregates_cannot_wait(returned):
    with pytest.raises(PlanningError) as refused:
        trendweave.query(f"RETURN {returned} PATTERN SEQ(A, NOT B) WITHIN 5 seconds")
    assert codes(refused) == ["TW230"]


#: Nothing more comes of key u; another key moves the watermark.
SILENT = "RETURN EACH FIRST(A.time) AS a PATTERN SEQ(A, NOT B) WHERE [k] GROUP-BY k WITHIN 5 seconds"


def test_a_key_without_further_events_in_a_session():
    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string()})
    session = trendweave.query(SILENT).push(schema)
    assert session.send({"time": 1, "type": "A", "k": "u"}) == []
    assert session.send({"time": 5, "type": "C", "k": "v"}) == []
    assert session.send({"time": 6, "type": "C", "k": "v"}) == [{"time": 6, "k": "u", "a": 1}]
    assert session.send({"time": 7, "type": "B", "k": "u"}) == []
    assert session.finish().num_rows == 0


def test_a_key_without_further_events_in_pieces():
    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string()})
    engine = trendweave.query(SILENT).incremental(schema)
    first = pa.Table.from_pylist([{"time": 1, "type": "A", "k": "u"}], schema)
    state, rows = engine.push(engine.start(), first, 5)
    assert rows.num_rows == 0
    state, rows = engine.push(engine.read(state.to_bytes()), schema.empty_table(), 6)
    assert rows.to_pylist() == [{"time": 6, "k": "u", "a": 1}]
    state, rows = engine.push(state, schema.empty_table(), 60)
    assert rows.num_rows == 0
    assert state.rows.num_rows == 0


# ------------------------------------------------------------------------------------------------------------- complete


def test_complete_trends_are_no_part_of_one_that_ends_later(run):
    # SEQ(A, B+) WITHIN 5: (a1 b2) is part of (a1 b2 b4); b7 is too late for a1.
    events = stream("a1 b2 b4 b7")
    assert listed(run, "PATTERN SEQ(A, B+) WITHIN 5 seconds", events, "COMPLETE TRENDS") == [(4, "a1 b2 b4")]


def test_complete_trends_of_overlapping_windows(run):
    # A+ WITHIN 3: neither of the two is part of the other, a3 alone is part of both.
    events = stream("a1 a3 a4")
    assert listed(run, "PATTERN A+ WITHIN 3 seconds", events, "COMPLETE TRENDS") == [(3, "a1 a3"), (4, "a3 a4")]


def test_complete_trends_of_variables_at_several_places(run):
    events = stream("a1 a3 a4 b5")
    query = "PATTERN SEQ(A+, A, B?) WITHIN 4 seconds"
    assert listed(run, query, events, "COMPLETE TRENDS") == [(4, "a1 a3 a4"), (5, "a3 a4 b5")]


def test_complete_trends_that_wait(run):
    # SEQ(A+, NOT B) WITHIN 4: (a3) is part of (a1 a3), which waits until 5; b6 comes before 7 but after 5.
    query = "PATTERN SEQ(A+, NOT B) WITHIN 4 seconds"
    assert listed(run, query, stream("a1 a3 b6"), "COMPLETE TRENDS") == [(5, "a1 a3")]


def test_longest_of_complete_trends(run):
    # (a1 a3) and (a3 a4) stand at times of their own, and one of each is chosen.
    events = stream("a1 a3 a4")
    for choice in ("LONGEST 1", "SAMPLE 1"):
        found = listed(run, f"PATTERN A+ WITHIN 3 seconds {choice}", events, "COMPLETE TRENDS")
        assert found == [(3, "a1 a3"), (4, "a3 a4")]


def test_a_time_out_after_the_end_of_time_is_told():
    query = trendweave.query("RETURN EACH LENGTH PATTERN SEQ(A, NOT B) WITHIN 5 seconds")
    for kind, step in ((pa.int64(), 1), (pa.timestamp("ns"), 10**9)):
        latest = 2**63 - 1 - 5 * step
        events = pa.table({"time": pa.array([latest], kind), "type": ["A"]})
        assert query.run(events)["time"].cast(pa.int64()).to_pylist() == [2**63 - 1]
        with pytest.raises(DataError) as refused:
            query.run(events.set_column(0, "time", pa.array([latest + 1], kind)))
        assert codes(refused) == ["TW310"]
