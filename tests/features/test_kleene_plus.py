"""`A+`: one or more, every choice of events a trend of its own."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, count, only, stream


def test_every_choice_of_events(run):
    assert_trends(run, "PATTERN A+", stream("a1 a2 a3"), "a1", "a2", "a3", "a1 a2", "a1 a3", "a2 a3", "a1 a2 a3")


@pytest.mark.parametrize("n", [1, 2, 5, 20, 62, 63, 64, 100])
def test_n_events_have_2_to_the_n_minus_1_trends(run, n):
    events = stream(" ".join(f"a{time}" for time in range(n)))
    assert count(run("RETURN COUNT(*) PATTERN A+", events)) == 2**n - 1


def test_one_event(run):
    assert_trends(run, "PATTERN A+", stream("a1"), "a1")


def test_no_event_of_the_type(run):
    assert run("RETURN COUNT(*) PATTERN A+", stream("b1 c2")) == []


def test_events_of_other_types_are_skipped(run):
    assert_trends(run, "PATTERN A+", stream("b0 a1 b2 z3 a4 c5"), "a1", "a4", "a1 a4")


def test_events_of_the_same_time_are_never_in_one_trend(run):
    # a1, a1', a2: (a1), (a1'), (a2), (a1 a2), (a1' a2)
    assert count(run("RETURN COUNT(*) PATTERN A+", stream("a1 a1 a2"))) == 5
    # Only one of each time: (1 + 3) * (1 + 2) - 1
    assert count(run("RETURN COUNT(*) PATTERN A+", stream("a1 a1 a1 a2 a2"))) == 11


def test_all_at_one_time(run):
    assert count(run("RETURN COUNT(*) PATTERN A+", stream("a1 a1 a1 a1"))) == 4


def test_the_order_of_rows_makes_no_difference(run):
    assert_trends(run, "PATTERN SEQ(A+, B)", stream("b3 a2 a1"), "a1 b3", "a2 b3", "a1 a2 b3")


@pytest.mark.parametrize("pattern", ["A+", "(A+)+", "((A)+)+", "(A OR A)+", "SEQ(A+)", "SEQ(A*, A)", "A{1,}"])
def test_other_spellings_of_the_same_trends_count_them_once(run, pattern):
    events = stream("a1 a2 b3 a4")
    assert_trends(run, f"PATTERN {pattern}", events, "a1", "a2", "a4", "a1 a2", "a1 a4", "a2 a4", "a1 a2 a4")


def test_kleene_plus_of_a_sequence(run):
    assert_trends(
        run, "PATTERN (SEQ(A, B))+", stream("a1 b2 a3 b4"), "a1 b2", "a1 b4", "a3 b4", "a1 b2 a3 b4"
    )  # fmt: skip


def test_nested_kleene_plus(run):
    # (SEQ(A+, B))+
    assert_trends(
        run, "PATTERN (SEQ(A+, B))+", stream("a1 a2 b3 a4 b5"),
        "a1 b3", "a2 b3", "a1 a2 b3",
        "a1 b5", "a2 b5", "a4 b5", "a1 a2 b5", "a1 a4 b5", "a2 a4 b5", "a1 a2 a4 b5",
        "a1 b3 a4 b5", "a2 b3 a4 b5", "a1 a2 b3 a4 b5",
    )  # fmt: skip


def test_kleene_plus_of_alternatives(run):
    assert_trends(
        run, "PATTERN (A OR B)+", stream("a1 b2 c3 a4"), "a1", "b2", "a4", "a1 b2", "a1 a4", "b2 a4", "a1 b2 a4"
    )  # fmt: skip


def test_two_variables_of_one_type_are_read_apart(run):
    # (A x OR A y)+ over a1 a2: each event is read in two ways.
    assert_trends(
        run, "PATTERN (A x OR A y)+", stream("a1 a2"),
        "x1", "y1", "x2", "y2", "x1 x2", "x1 y2", "y1 x2", "y1 y2", variables={"x": "A", "y": "A"},
    )  # fmt: skip


def test_the_variable_names_the_columns(run):
    found = only(run("RETURN COUNT(*), COUNT(s), SUM(s.x) PATTERN A s+", stream("a1 a2", x=[5, 7])))
    assert found == {"count": 3, "count_s": 4, "sum_s_x": 24}


def test_the_spelling_of_the_literature(run):
    found = only(run("RETURN COUNT(c) PATTERN A+ c[]", stream("a1 a2")))
    assert found == {"count_c": 4}
