"""`A OR B`: either. A trend that both sides read counts once."""

from __future__ import annotations

from tests.features.runs import assert_trends, count, only, stream


def test_either_event(run):
    assert_trends(run, "PATTERN A OR B", stream("a1 b2 c3 a4"), "a1", "b2", "a4")


def test_a_repetition_or_a_sequence(run):
    assert_trends(
        run, "PATTERN A+ OR SEQ(B, C)", stream("a1 b2 a3 c4"), "a1", "a3", "a1 a3", "b2 c4"
    )  # fmt: skip


def test_both_sides_read_the_same_trend(run):
    # (a1) is a trend of A+ only, (a1 b2) of SEQ only; with A OR A+ both read (a1).
    assert_trends(run, "PATTERN A+ OR SEQ(A, B)", stream("a1 b2 a3"), "a1", "a3", "a1 a3", "a1 b2")
    assert_trends(run, "PATTERN A OR A+", stream("a1 a2"), "a1", "a2", "a1 a2")
    assert_trends(run, "PATTERN SEQ(A, B) OR SEQ(A, B)", stream("a1 b2"), "a1 b2")


def test_one_type_as_two_variables_is_two_trends(run):
    assert_trends(run, "PATTERN A x OR A y", stream("a1"), "x1", "y1", variables={"x": "A", "y": "A"})


def test_inside_a_sequence(run):
    assert_trends(
        run, "PATTERN SEQ(A, (B OR C), D)", stream("a1 b2 c3 d4 b5"), "a1 b2 d4", "a1 c3 d4"
    )  # fmt: skip


def test_with_longer_branches_inside_a_sequence(run):
    # SEQ(A, (B+ OR SEQ(C, B)), D)
    assert_trends(
        run, "PATTERN SEQ(A, (B+ OR SEQ(C, B)), D)", stream("a1 b2 c3 b4 d5"),
        "a1 b2 d5", "a1 b4 d5", "a1 b2 b4 d5", "a1 c3 b4 d5",
    )  # fmt: skip


def test_three_alternatives(run):
    assert_trends(run, "PATTERN SEQ((A OR B OR C), D)", stream("a1 b2 c3 d4"), "a1 d4", "b2 d4", "c3 d4")


def test_or_binds_weaker_than_the_quantifier(run):
    events = stream("a1 b2 b3")
    assert_trends(run, "PATTERN A OR B+", events, "a1", "b2", "b3", "b2 b3")
    assert_trends(run, "PATTERN (A OR B)+", events, "a1", "b2", "b3", "a1 b2", "a1 b3", "b2 b3", "a1 b2 b3")


def test_aggregates_of_a_variable_that_a_trend_does_not_have(run):
    # (a1), (b2): COUNT(A) and SUM(A.x) see only the first.
    query = "RETURN COUNT(*), COUNT(A), SUM(A.x), SUM(B.x) PATTERN A OR B"
    assert only(run(query, stream("a1 b2", x=[5, 7]))) == {"count": 2, "count_A": 1, "sum_A_x": 5, "sum_B_x": 7}
    assert only(run(query, stream("a1", x=[5]))) == {"count": 1, "count_A": 1, "sum_A_x": 5, "sum_B_x": None}


def test_alternatives_at_one_time(run):
    # SEQ((A OR B), C) over a1 b1 c2
    assert_trends(run, "PATTERN SEQ((A OR B), C)", stream("a1 b1 c2"), "a1 c2", "b1 c2")
    assert count(run("RETURN COUNT(*) PATTERN (A OR B)+", stream("a1 b1"))) == 2
