"""ANY (or `_`) as the type of a pattern: the variable takes events of every type."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import assert_trends, codes, count, only, stream, table
from tests.reference.comparer import assert_same_rows
from trendweave.errors import PlanningError

WHOLE = {"window_start": None, "window_end": None}


@pytest.mark.parametrize("pattern", ["SEQ(A a, ANY x, C c)", "SEQ(A a, any x, C c)", "SEQ(A a, _ x, C c)"])
def test_an_event_of_any_type(run, pattern):
    events = stream("a1 b2 z3 c4")
    found = run(f"RETURN TRENDS(time) PATTERN {pattern}", events)
    assert sorted(event["time"] for row in found for event in row["events"] if event["variable"] == "x") == [2, 3]
    assert count(run(f"RETURN COUNT(*) PATTERN {pattern}", events)) == 2


def test_events_of_named_types_are_of_any_type_too(run):
    # Of a1 b2: a1, b2, a1 b2 as x; no event is left out.
    assert count(run("RETURN COUNT(*) PATTERN ANY x+", stream("a1 b2"))) == 3
    # a1 is an a or an x.
    assert only(run("RETURN COUNT(*), COUNT(a) AS a, COUNT(x) AS x PATTERN (A a OR ANY x)", stream("a1 b2"))) == {
        "count": 3,
        "a": 1,
        "x": 2,
    }


def test_without_a_variable_it_is_named_any(run):
    events = stream("a1 b2", v=[3, 4])
    assert only(run("RETURN SUM(ANY.v) AS s PATTERN ANY", events)) == {"s": 7}
    assert only(run("RETURN SUM(_.v) AS s PATTERN _", events)) == {"s": 7}


def test_shown_events_have_their_own_types(run):
    events = stream("a1 b2 z3", v=[3, None, 5])
    (row,) = run("RETURN COMPLETE TRENDS(v) PATTERN SEQ(A a, ANY x+)", events)
    assert row["events"] == [
        {"variable": "a", "time": 1, "type": "A", "v": 3},
        {"variable": "x", "time": 2, "type": "B", "v": None},
        {"variable": "x", "time": 3, "type": "Z", "v": 5},
    ]
    found = run("RETURN ROWS(v) PATTERN ANY x{3} SEMANTICS contiguous", events)
    assert [(row["time"], row["type"]) for row in found] == [(1, "A"), (2, "B"), (3, "Z")]
    assert only(run("RETURN EACH COLLECT_LIST(x.type) AS types PATTERN ANY x{3}", events)) == {"types": ["A", "B", "Z"]}


def test_conditions_of_any_event(run):
    events = stream("a1 b2 z3", v=[1, 5, 9])
    assert count(run("RETURN COUNT(*) PATTERN ANY x+ WHERE x.v > 1 AND x.type != 'Z'", events)) == 1
    assert count(run("RETURN COUNT(*) PATTERN ANY x{2} WHERE x.v + 4 = NEXT(x).v", events)) == 2
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A a, ANY x) WHERE x.v > a.v + 4", events)) == 1


def test_contiguous(run):
    # b2 is in the way of SEQ(A, C), and is what ANY stands for.
    events = stream("a1 b2 c3")
    assert run("RETURN COUNT(*) PATTERN SEQ(A a, C c) SEMANTICS contiguous", events) == []
    assert_trends(
        run,
        "PATTERN SEQ(A a, ANY x*, C c) SEMANTICS contiguous",
        events,
        "a1 x2 c3",
        variables={"a": "A", "x": "B", "c": "C"},
    )


def test_skip_till_next_match_takes_the_next_event(run):
    events = stream("a1 b2 c3 z4 c5")
    query = "RETURN EACH x.time AS x, c.time AS c PATTERN SEQ(A a, ANY x, C c) SEMANTICS skip-till-next-match"
    assert_same_rows([WHOLE | {"x": 2, "c": 3}], run(query, events))
    query = "RETURN EACH COLLECT_LIST(x.time) AS x PATTERN SEQ(A a, ANY x+, C c) SEMANTICS skip-till-next-match LONGEST"
    assert_same_rows([WHOLE | {"x": [2, 3, 4]}], run(query, events))


def test_not_any(run):
    # Nothing at all may lie between.
    query = "RETURN EACH a.time AS a, b.time AS b PATTERN SEQ(A a, NOT ANY n, B b)"
    assert_same_rows([WHOLE | {"a": 4, "b": 5}], run(query, stream("a1 z2 b3 a4 b5")))
    # A log-in after which nothing happens for five seconds.
    query = "RETURN EACH a.time AS a PATTERN SEQ(A a, NOT ANY) WITHIN 5 seconds"
    assert_same_rows([{"time": 15, "a": 10}], run(query, stream("a1 z3 a10")))
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A a, !ANY, B b)", stream("a1 b2"))) == 1


def test_keys_groups_and_windows(run):
    events = stream("a1 b2 a3 z4 b11", k=["u", "v", "u", "v", "u"])
    query = "RETURN k, COUNT(*), COUNT(x) AS x PATTERN ANY x+ WHERE [k] GROUP-BY k WITHIN 10 s SLIDE 10 s"
    assert_same_rows(
        [
            {"window_start": 0, "window_end": 10, "k": "u", "count": 3, "x": 4},
            {"window_start": 0, "window_end": 10, "k": "v", "count": 3, "x": 4},
            {"window_start": 10, "window_end": 20, "k": "u", "count": 1, "x": 1},
        ],
        run(query, events),
    )
    query = "RETURN COUNT(*) PATTERN SEQ(A a, ANY x) WHERE [k] GROUP-BY k WITHIN SESSION 5 seconds"
    assert_same_rows([{"window_start": 1, "window_end": 8, "k": "u", "count": 1}], run(query, events))
    query = "RETURN COUNT(*) PATTERN ANY x{2} WITHIN 3 seconds"
    assert_same_rows([{"time": 2, "count": 1}, {"time": 3, "count": 3}, {"time": 4, "count": 3}], run(query, events))


def test_conjunction(run):
    assert count(run("RETURN COUNT(*) PATTERN A a AND ANY x", stream("a1 b2"))) == 2


def test_rows_without_a_type_are_no_events(run):
    events = table("a1 b2").set_column(1, "type", pa.array(["A", None]))
    assert count(run("RETURN COUNT(*) PATTERN ANY x+", events)) == 1


def test_without_a_column_of_types(run):
    events = pa.table({"time": [1, 2], "v": [3, 4]})
    assert only(run("RETURN SUM(x.v) AS s PATTERN ANY x", events, type=None)) == {"s": 7}
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A a, ANY x)", events, type=None)) == 1
    (row,) = run("RETURN TRENDS PATTERN ANY x{2}", events, type=None)
    assert [event["type"] for event in row["events"]] == [None, None]


def test_in_back_quotes_it_is_a_type_of_that_name(run):
    events = pa.table({"time": [1, 2, 3], "type": ["ANY", "_", "B"]})
    assert count(run("RETURN COUNT(*) PATTERN `ANY` x", events)) == 1
    assert count(run("RETURN COUNT(*) PATTERN `_`", events)) == 1
    assert count(run("RETURN COUNT(*) PATTERN ANY x", events)) == 3
    assert str(trendweave.query("RETURN COUNT(*) PATTERN SEQ(`any` a, _, ANY+, B `any`)")) == (
        "RETURN COUNT(*)\nPATTERN SEQ(`any` a, ANY _, ANY+, B any)"
    )


def test_explained():
    text = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A a, ANY x) WHERE x.v > 1").explain()
    assert "  x      any   -       yes" in text
    assert "  any  v" in text


def test_one_variable_means_one_type():
    with pytest.raises(PlanningError) as refused:
        trendweave.query("RETURN COUNT(*) PATTERN SEQ(A x, ANY x)")
    assert codes(refused) == ["TW202"]
    assert "give ANY a variable of its own" in refused.value.problems[0].hint


def test_events_of_all_types_are_counted_as_asked_for(caplog):
    trendweave.query("RETURN COUNT(*) PATTERN SEQ(ANY x, Nothing n)").run(table("a1 b2"))
    assert "no event is of type Nothing; the types in type are A, B" in caplog.text
