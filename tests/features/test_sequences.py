"""`SEQ(A, B, C)`: one after the other, strictly later."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, count, stream


def test_two_events(run):
    assert_trends(run, "PATTERN SEQ(A, B)", stream("a1 b2 a3 b4"), "a1 b2", "a1 b4", "a3 b4")


def test_three_events(run):
    assert_trends(
        run, "PATTERN SEQ(A, B, C)", stream("a1 b2 c3 a4 b5 c6"), "a1 b2 c3", "a1 b2 c6", "a1 b5 c6", "a4 b5 c6"
    )  # fmt: skip


def test_the_wrong_order(run):
    assert_trends(run, "PATTERN SEQ(A, B)", stream("b1 a2"))


def test_a_part_is_missing(run):
    assert_trends(run, "PATTERN SEQ(A, B, C)", stream("a1 b2 b3"))


def test_the_same_time_is_not_later(run):
    assert_trends(run, "PATTERN SEQ(A, B)", stream("a1 b1 b2"), "a1 b2")
    assert_trends(run, "PATTERN SEQ(A, B)", stream("b1 a1"))


def test_one_type_at_two_places_is_one_variable(run):
    # SEQ(A, B, A)
    assert_trends(run, "PATTERN SEQ(A, B, A)", stream("a1 b2 a3 a4"), "a1 b2 a3", "a1 b2 a4")
    assert_trends(run, "PATTERN SEQ(A, A)", stream("a1 a2 a3"), "a1 a2", "a1 a3", "a2 a3")


def test_one_type_as_two_variables(run):
    assert_trends(
        run, "PATTERN SEQ(A x, A y)", stream("a1 a2 a3"), "x1 y2", "x1 y3", "x2 y3", variables={"x": "A", "y": "A"}
    )  # fmt: skip


def test_kleene_plus_inside(run):
    # SEQ(A, B+, C)
    assert_trends(
        run, "PATTERN SEQ(A, B+, C)", stream("a1 b2 b3 c4 b5"), "a1 b2 c4", "a1 b3 c4", "a1 b2 b3 c4"
    )  # fmt: skip


def test_kleene_plus_at_both_ends(run):
    # SEQ(A+, B+): (2^2 - 1) choices of a1 a2 before (2^2 - 1) of b3 b4.
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A+, B+)", stream("a1 a2 b3 b4"))) == 9


def test_a_sequence_in_a_sequence(run):
    events = stream("a1 b2 c3 b4 c5")
    flat = ["a1 b2 c3", "a1 b2 c5", "a1 b4 c5"]
    for pattern in ("SEQ(A, B, C)", "SEQ(A, SEQ(B, C))", "SEQ(SEQ(A, B), C)", "SEQ(SEQ(A), SEQ(B, SEQ(C)))"):
        assert_trends(run, f"PATTERN {pattern}", events, *flat)


def test_the_same_trend_by_two_readings_counts_once(run):
    # SEQ(A+, A+) is A{2,}.
    assert_trends(run, "PATTERN SEQ(A+, A+)", stream("a1 a2 a3"), "a1 a2", "a1 a3", "a2 a3", "a1 a2 a3")


@pytest.mark.parametrize("length", [2, 10, 40])
def test_a_long_sequence_of_one_type(run, length):
    # SEQ(A, A, ...) over as many a's is one trend; over one more, as many as events can be left out.
    pattern = f"SEQ({', '.join(['A'] * length)})"
    events = stream(" ".join(f"a{time}" for time in range(length + 1)))
    assert count(run(f"RETURN COUNT(*) PATTERN {pattern}", events[1:])) == 1
    assert count(run(f"RETURN COUNT(*) PATTERN {pattern}", events)) == length + 1


def test_more_than_64_types(run):
    names = [f"T{number}" for number in range(70)]
    events = [{"time": time, "type": name} for time, name in enumerate(names)]
    assert count(run(f"RETURN COUNT(*) PATTERN SEQ({', '.join(names)})", events)) == 1
    assert run(f"RETURN COUNT(*) PATTERN SEQ({', '.join(names)})", events[:-1]) == []
