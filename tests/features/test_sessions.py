"""`WITHIN SESSION g`: a window is a run of events of a partition, of any type, that a pause of g ends."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, stream, windows
from tests.reference.comparer import assert_same_rows
from trendweave.errors import DataError, PlanningError


def test_a_pause_ends_a_session(run):
    # A+ in sessions a1 a3 and a8: three trends, then one.
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN SESSION 4 seconds", stream("a1 a3 a8"))
    assert windows(found) == {(1, 7): 3, (8, 12): 1}


def test_neighbours_are_less_than_the_gap_apart(run):
    query = "RETURN COUNT(*) PATTERN A+ WITHIN SESSION 3 seconds"
    assert windows(run(query, stream("a1 a3"))) == {(1, 6): 3}
    assert windows(run(query, stream("a1 a4"))) == {(1, 4): 1, (4, 7): 1}


def test_events_of_any_type_keep_a_session_alive(run):
    # SEQ(A, B): the x4 between them, which the pattern does not name, joins both.
    query = "RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN SESSION 4 seconds"
    assert windows(run(query, stream("a1 x4 b7"))) == {(1, 11): 1}
    assert windows(run(query, stream("a1 b7"))) == {}


def test_events_that_cannot_be_read_keep_it_alive_too(run):
    events = stream("a1 a4 b7", x=[1, 0, 0])
    found = run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x > 0 WITHIN SESSION 4 seconds", events)
    assert windows(found) == {(1, 11): 1}


def test_sessions_belong_to_a_partition(run):
    # u: a1 a2, v: a2 and a7. Those of u and v at 2 are two sessions.
    events = stream("a1 a2 a2 a7", k=["u", "u", "v", "v"])
    found = run("RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN SESSION 3 seconds", events)
    rows = sorted((row["window_start"], row["window_end"], row["count"]) for row in found)
    assert rows == [(1, 5, 3), (2, 5, 1), (7, 10, 1)]


def test_equal_times_of_two_partitions_are_two_rows(run):
    events = stream("a1 a1", k=["u", "v"])
    found = run("RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN SESSION 3 seconds", events)
    assert_same_rows([{"window_start": 1, "window_end": 4, "count": 1}] * 2, found)


def test_groups(run):
    events = stream("a1 a2 a9", g=["u", "v", "u"])
    found = run("RETURN g, COUNT(*) PATTERN A+ GROUP-BY g WITHIN SESSION 3 seconds", events)
    assert_same_rows(
        [
            {"window_start": 1, "window_end": 4, "g": "u", "count": 1},
            {"window_start": 2, "window_end": 5, "g": "v", "count": 1},
            {"window_start": 9, "window_end": 12, "g": "u", "count": 1},
        ],
        found,
    )


def test_groups_of_one_variable_share_the_session(run):
    events = stream("a1 a2 b3", g=["u", "v", None])
    found = run("RETURN A.g, COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.g WITHIN SESSION 3 seconds", events)
    assert_same_rows(
        [
            {"window_start": 1, "window_end": 6, "g": "u", "count": 1},
            {"window_start": 1, "window_end": 6, "g": "v", "count": 1},
        ],
        found,
    )


def test_aggregates(run):
    query = "RETURN COUNT(*), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A WITHIN SESSION 3 seconds"
    found = run(query, stream("a1 a2 a9", x=[5, 7, 1]))
    assert [tuple(row.values()) for row in found] == [(1, 5, 2, 12, 5, 7, 6.0), (9, 12, 1, 1, 1, 1, 1.0)]


def test_not_at_the_ends_guards_the_session(run):
    # SEQ(A, NOT B): a1 is followed by b2, a9 by nothing before its session ends.
    found = run("RETURN COUNT(*) PATTERN SEQ(A, NOT B) WITHIN SESSION 3 seconds", stream("a1 b2 a9 b20"))
    assert windows(found) == {(9, 12): 1}
    found = run("RETURN COUNT(*) PATTERN SEQ(NOT B, A) WITHIN SESSION 3 seconds", stream("b1 a2 a9"))
    assert windows(found) == {(9, 12): 1}


def test_trends(run):
    found = run("RETURN COMPLETE TRENDS PATTERN A+ WITHIN SESSION 3 seconds", stream("a1 a3 a9"))
    assert [(row["window_start"], row["window_end"], row["length"]) for row in found] == [(1, 6, 2), (9, 12, 1)]


def test_each_and_limit(run):
    events = stream("a1 a2 a1", k=["u", "u", "v"])
    query = "RETURN EACH COUNT(A) PATTERN A+ WHERE [k] WITHIN SESSION 3 seconds"
    assert len(run(query, events)) == 4
    assert len(run(f"{query} LIMIT 1", events)) == 2
    longest = run(f"{query} LONGEST 1", events)
    assert sorted((row["window_end"], row["count_A"]) for row in longest) == [(4, 1), (5, 2)]


@pytest.mark.parametrize("strategy", ["skip-till-next-match", "contiguous"])
def test_strategies(run, strategy):
    # SEQ(A, B): only a2 is followed by b3 at once; b9 is another session.
    found = run(f"RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS {strategy} WITHIN SESSION 3 s", stream("a1 a2 b3 b9"))
    assert windows(found) == {(1, 6): 2 if strategy == "skip-till-next-match" else 1}


def test_conjunction(run):
    found = run("RETURN COUNT(*) PATTERN A AND B WITHIN SESSION 3 seconds", stream("a1 b2 a3 b9"))
    assert windows(found) == {(1, 6): 2}


def test_in_situations(run):
    # A DURING P: x is above 3 from r2 to r6; a5 lies there, a8 does not, and r keeps the session alive.
    query = (
        "RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A DURING P WITHIN SESSION 3 seconds "
        "FROM R DEFINE P AS x > 3 AT LEAST 2 seconds"
    )
    events = stream("r2 r4 a5 r6 r7 a8 b9 b20", x=[5, 5, 0, 5, 0, 0, 0, 0])
    assert windows(run(query, events)) == {(2, 12): 1}


def test_sessions_do_not_slide():
    with pytest.raises(PlanningError) as refused:
        trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN SESSION 3 seconds SLIDE 1 second")
    assert codes(refused) == ["TW233"]


def test_the_end_must_be_a_time(run):
    with pytest.raises(DataError) as refused:
        run("RETURN COUNT(*) PATTERN A+ WITHIN SESSION 2500 ms", stream("a1"))
    assert codes(refused) == ["TW309"]


def test_a_session_ends_without_further_events_of_its_key():
    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string()})
    session = trendweave.query("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k WITHIN SESSION 3 s").push(schema)
    for time, key in ((1, "u"), (2, "u"), (4, "v")):
        assert session.send({"time": time, "type": "A", "k": key}) == []
    (row,) = session.send({"time": 5, "type": "A", "k": "v"})
    assert (row["window_start"], row["window_end"], row["k"], row["count"]) == (1, 5, "u", 3)
    (row,) = session.finish().to_pylist()
    assert (row["window_start"], row["window_end"], row["k"], row["count"]) == (4, 8, "v", 3)


def test_rows_of_open_sessions_are_all_that_is_kept():
    schema = pa.schema({"time": pa.int64(), "type": pa.string()})
    engine = trendweave.query("RETURN COUNT(*) PATTERN A+ WITHIN SESSION 3 s").incremental(schema)
    events = pa.table({"time": [1, 2, 9, 10], "type": ["A"] * 4}, schema)
    state, rows = engine.push(engine.start(), events, 10)
    assert [row["count"] for row in rows.to_pylist()] == [3]
    assert state.rows.num_rows == 1
    assert state.carry["open sessions"].num_rows == 1
    assert [row["count"] for row in engine.finish(engine.read(state.to_bytes())).to_pylist()] == [3]


def test_matches_are_chosen_per_session(run):
    # A+ with skip-till-next-match: the longest of each beginning, and then none that overlaps with a taken one.
    events = stream("a1 a2 a3 a9 a10")
    query = "RETURN EACH COUNT(A) PATTERN A+ SEMANTICS skip-till-next-match WITHIN SESSION 3 s"
    longest = run(f"{query} LONGEST PER START", events)
    assert sorted((row["window_start"], row["count_A"]) for row in longest) == [(1, 1), (1, 2), (1, 3), (9, 1), (9, 2)]
    found = run(f"{query} AFTER MATCH SKIP PAST LAST EVENT", events)
    assert sorted((row["window_start"], row["count_A"]) for row in found) == [(1, 3), (9, 2)]


def test_complete_trends_of_sessions_are_aggregated(run):
    events = stream("a1 a2 a1 a9", k=["u", "u", "v", "u"])
    found = run("RETURN COMPLETE COUNT(*), COUNT(A) PATTERN A+ WHERE [k] WITHIN SESSION 3 seconds", events)
    rows = sorted((row["window_start"], row["window_end"], row["count"], row["count_A"]) for row in found)
    assert rows == [(1, 4, 1, 1), (1, 5, 1, 2), (9, 12, 1, 1)]


@pytest.mark.parametrize("choice", ["LIMIT 1", "LONGEST 1", "SAMPLE 1"])
def test_one_of_the_complete_trends_of_each_session(run, choice):
    # SEQ(A, A?, B) reads A at two places; u and v have sessions of equal times, with two complete trends each.
    events = stream("a1 b2 b2 a1 b2 b2", k=["u", "u", "u", "v", "v", "v"])
    query = f"RETURN COMPLETE TRENDS PATTERN SEQ(A, A?, B) WHERE [k] WITHIN SESSION 3 seconds {choice}"
    assert [(row["window_start"], row["window_end"]) for row in run(query, events)] == [(1, 5), (1, 5)]


def test_rows_of_sessions(run):
    found = run("RETURN ROWS PATTERN SEQ(A, B) WITHIN SESSION 3 seconds", stream("a1 b2 a9 b10"))
    assert [(row["window_start"], row["match"], row["variable"]) for row in found] == [
        (1, 1, "A"),
        (1, 1, "B"),
        (9, 1, "A"),
        (9, 1, "B"),
    ]
