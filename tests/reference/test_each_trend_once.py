"""Lists under `WITHIN w` alone, by hand (semantics, "Detection"): each trend once, absence with a time-out."""

from __future__ import annotations

from .by_hand import A, B, C, stream
from .pattern import Event, Not, Pattern, either, option, plus, seq, star
from .query import NEXT_MATCH, Aggregate, Attribute, Moving, Query
from .trend_rows import each_rows, shown, trend_rows

N = Event("N")


def once(pattern: Pattern, within: int, events: list[dict], complete: bool = False, **clauses: object) -> dict:
    """The trends as words, each with the time of its row."""
    listed = shown(Query(pattern, window=Moving(within), **clauses), events, complete)
    result = {
        " ".join(
            f"{events[index]['type'].lower()}{events[index]['time']}" for index, _ in found.trend
        ): found.window.end
        for found in listed
    }
    assert len(result) == len(listed)
    return result


def test_each_trend_comes_once_at_the_time_of_its_last_event():
    # a1 a5 would take as long as the window: too long.
    assert once(plus(A), 4, stream("a1 a2 a5")) == {"a1": 1, "a2": 2, "a1 a2": 2, "a5": 5, "a2 a5": 5}


def test_the_row_has_a_time():
    (row,) = trend_rows(Query(seq(A, B), window=Moving(9)), stream("a1 b3", x=[7, 8]), (Attribute("x"),))
    assert row["time"] == 3
    assert row["length"] == 2
    assert [event["x"] for event in row["events"]] == [7, 8]


def test_a_trailing_not_waits_for_the_end_of_the_window():
    # a1 is watched until 5, and b4 comes before that; a6 until 10, and b10 is no longer before that.
    assert once(seq(A, Not(B)), 4, stream("a1 b4 a6 b10")) == {"a6": 10}
    # The watch begins with the first event and not with the last: (a1, c4) until 6.
    assert once(seq(A, C, Not(B)), 5, stream("a1 c4 b6")) == {"a1 c4": 6}
    assert once(seq(A, C, Not(B)), 5, stream("a1 c4 b5")) == {}


def test_only_trends_whose_not_is_trailing_wait():
    pattern = seq(A, Not(N), option(B))
    assert once(pattern, 4, stream("a1 b2")) == {"a1": 5, "a1 b2": 2}
    assert once(pattern, 4, stream("a1 n2 b3")) == {}
    assert once(pattern, 4, stream("a1 b2 n3")) == {"a1 b2": 2}


def test_a_trend_with_a_reading_that_need_not_wait_does_not():
    pattern = either(seq(A, Not(N)), seq(Not(C), A))
    assert once(pattern, 4, stream("a1")) == {"a1": 1}
    # c1 forbids the second reading of a2; the first stays, and waits.
    assert once(pattern, 4, stream("c1 a2")) == {"a2": 6}
    assert once(pattern, 4, stream("c1 a2 n3")) == {}


def test_a_leading_not_guards_the_time_after_the_last_event_less_the_window():
    # Of (a4, b6) with five seconds: after 1, before 4. n1 is too early, n2 is not.
    assert once(seq(Not(N), A, B), 5, stream("n1 a4 b6")) == {"a4 b6": 6}
    assert once(seq(Not(N), A, B), 5, stream("n2 a4 b6")) == {}
    # The same n2 may be too early for a longer trend, and is not for a shorter one.
    assert once(seq(Not(N), A, plus(B)), 5, stream("n2 a4 b5 b7")) == {"a4 b7": 7, "a4 b5 b7": 7}


def test_a_not_between_two_events():
    assert once(seq(A, Not(N), B), 5, stream("a1 n2 a3 b4 n5")) == {"a3 b4": 4}


def test_complete_trends_are_part_of_no_other():
    assert once(plus(A), 4, stream("a1 a2 a5"), complete=True) == {"a1 a2": 2, "a2 a5": 5}
    # (a1, c2) is no trend, because of b3: a1 is complete.
    pattern = either(A, seq(A, C, Not(B)))
    assert once(pattern, 5, stream("a1 c2 b3"), complete=True) == {"a1": 1}
    assert once(pattern, 5, stream("a1 c2"), complete=True) == {"a1 c2": 6}


def test_complete_trends_of_a_partition():
    events = stream("a1 a2 a3", k=[1, 2, 1])
    assert once(plus(A), 9, events, complete=True, equivalence=(Attribute("k"),)) == {"a1 a3": 3, "a2": 2}


def test_strategies():
    assert once(seq(A, plus(B)), 4, stream("a1 b2 b3 b5"), strategy=NEXT_MATCH) == {"a1 b2": 2, "a1 b2 b3": 3}


def test_complete_each():
    query = Query(seq(A, star(B)), window=Moving(5), group_by=(Attribute("g"),))
    events = stream("a1 b2 b3", x=[1, 2, 4], g=["u", "u", "u"])
    outputs = (Aggregate("COUNT", "B"), Aggregate("SUM", "B", "x"), Aggregate("LAST", "B", "x"))
    assert each_rows(query, events, outputs, complete=True) == [
        {"time": 3, "g": "u", "count_B": 2, "sum_B_x": 6, "last_B_x": 4}
    ]
    assert len(each_rows(query, events, outputs)) == 4
