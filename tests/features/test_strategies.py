"""`SEMANTICS`: which events may be skipped between two neighbours of a trend."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, count, stream, windows

ANY = "SEMANTICS skip-till-any-match"
NEXT = "SEMANTICS skip-till-next-match"
CONTIGUOUS = "SEMANTICS contiguous"


def test_any_match_is_the_default(run):
    events = stream("a1 b2 c3 b4")
    found = ["a1 b2", "a1 b4", "a1 b2 b4"]
    assert_trends(run, "PATTERN SEQ(A, B+)", events, *found)
    assert_trends(run, f"PATTERN SEQ(A, B+) {ANY}", events, *found)


# ------------------------------------------------------------------------------------------------- skip-till-next-match


def test_next_match_skips_what_cannot_follow(run):
    # (a1 b4) would skip b2, which could follow; c3 could not.
    assert_trends(run, f"PATTERN SEQ(A, B+) {NEXT}", stream("a1 b2 c3 b4"), "a1 b2", "a1 b2 b4")


def test_next_match_of_a_repetition(run):
    assert_trends(run, f"PATTERN A+ {NEXT}", stream("a1 b2 a3 a4"), "a1", "a3", "a4", "a1 a3", "a3 a4", "a1 a3 a4")


def test_next_match_with_a_local_predicate(run):
    # b2 does not pass, so it could not follow.
    events = stream("a1 b2 b4", x=[0, 0, 1])
    assert_trends(run, f"PATTERN SEQ(A, B+) {NEXT} WHERE B.x > 0", events, "a1 b4")


def test_next_match_with_an_edge_predicate(run):
    # After 10, the next that is lower is 2; after 2 there is 1, whatever comes between.
    events = stream("a1 a2 a3 a4", x=[10, 2, 9, 1])
    assert_trends(
        run, f"PATTERN A+ {NEXT} WHERE A.x > NEXT(A).x", events,
        "a1", "a2", "a3", "a4", "a1 a2", "a2 a4", "a3 a4", "a1 a2 a4",
    )  # fmt: skip


def test_next_match_asks_every_transition(run):
    # SEQ(A, (B OR C)): b2 could follow a1, so c3 may not.
    assert_trends(run, f"PATTERN SEQ(A, (B OR C)) {NEXT}", stream("a1 b2 c3"), "a1 b2")
    # SEQ(A+, B): a2 could follow a1, so (a1 b3) skips it.
    assert_trends(run, f"PATTERN SEQ(A+, B) {NEXT}", stream("a1 a2 b3"), "a2 b3", "a1 a2 b3")


def test_next_match_and_ties(run):
    # b2 and b2' come at one time: neither is between a1 and the other.
    assert count(run(f"RETURN COUNT(*) PATTERN SEQ(A, B) {NEXT}", stream("a1 b2 b2 b3"))) == 2


def test_next_match_in_a_partition(run):
    # b2 has another k and is not in the way.
    events = stream("a1 b2 b3", k=[1, 2, 1])
    assert_trends(run, f"PATTERN SEQ(A, B) {NEXT}", events, "a1 b2")
    assert_trends(run, f"PATTERN SEQ(A, B) {NEXT} WHERE [k]", events, "a1 b3")


def test_next_match_in_windows(run):
    # Tumbling by 4: a0 b1 b2 | a4 b7. Nothing follows across the border.
    found = run(f"RETURN COUNT(*) PATTERN SEQ(A, B) {NEXT} WITHIN 4 seconds SLIDE 4 seconds", stream("a0 b1 b2 a4 b7"))
    assert windows(found) == {(0, 4): 1, (4, 8): 1}


# ----------------------------------------------------------------------------------------------------------- contiguous


def test_contiguous_skips_nothing(run):
    assert_trends(run, f"PATTERN A+ {CONTIGUOUS}", stream("a1 z2 a3 a4"), "a1", "a3", "a4", "a3 a4")


def test_contiguous_sees_events_that_fail_their_predicates(run):
    events = stream("a1 a2 a3 a4", x=[1, 0, 1, 1])
    assert_trends(run, f"PATTERN A+ {CONTIGUOUS} WHERE A.x > 0", events, "a1", "a3", "a4", "a3 a4")


def test_contiguous_in_a_partition(run):
    # z2 is of another k, so a1 and a3 are next to each other.
    events = stream("a1 z2 a3 a4", k=[1, 2, 1, 1])
    assert_trends(
        run, f"PATTERN A+ {CONTIGUOUS} WHERE [k]", events, "a1", "a3", "a4", "a1 a3", "a3 a4", "a1 a3 a4"
    )  # fmt: skip
    assert count(run(f"RETURN COUNT(*) PATTERN A+ {CONTIGUOUS} GROUP-BY k", [e for e in events if e["k"] == 1])) == 6


def test_contiguous_events_without_a_key_are_in_no_partition(run):
    events = stream("a1 z2 a3", k=[1, None, 1])
    assert_trends(run, f"PATTERN A+ {CONTIGUOUS} WHERE [k]", events, "a1", "a3", "a1 a3")


def test_contiguous_and_ties(run):
    # z1 and z2 come at the times of a1 and a2, not between them.
    assert_trends(run, f"PATTERN SEQ(A, A) {CONTIGUOUS}", stream("a1 z1 a2 z2"), "a1 a2")
    # Both a2's follow a1 directly; a3 follows both, not a1.
    assert count(run(f"RETURN COUNT(*) PATTERN SEQ(A, A) {CONTIGUOUS}", stream("a1 a2 a2 a3"))) == 4


def test_contiguous_with_an_edge_predicate(run):
    events = stream("a1 a2 a3", x=[3, 1, 2])
    assert_trends(run, f"PATTERN A+ {CONTIGUOUS} WHERE A.x > NEXT(A).x", events, "a1", "a2", "a3", "a1 a2")


def test_contiguous_sequence(run):
    assert_trends(run, f"PATTERN SEQ(A, B+, C) {CONTIGUOUS}", stream("a1 b2 b3 c4 a5 b6 z7 c8"), "a1 b2 b3 c4")


def test_contiguous_with_a_key_of_one_variable(run):
    # Only the partition counts for what is between: b2 of another k is in the way of a1 b3 all the same.
    events = stream("a1 b2 b3", k=[0, 1, 2])
    assert_trends(run, f"PATTERN SEQ(A, B+) {CONTIGUOUS} WHERE [B.k]", events, "a1 b2")


def test_contiguous_rows_that_are_no_events_are_not_in_the_way(run):
    events = [*stream("a1 a3"), {"time": 2, "type": None}]
    assert count(run(f"RETURN COUNT(*) PATTERN SEQ(A, A) {CONTIGUOUS}", events)) == 1


# ---------------------------------------------------------------------------------------------------------- all of them


@pytest.mark.parametrize(("strategy", "expected"), [(ANY, 2**20 - 1), (NEXT, 210), (CONTIGUOUS, 210)])
def test_twenty_events(run, strategy, expected):
    # Without anything to skip, next-match and contiguous leave the 20 * 21 / 2 stretches.
    events = stream(" ".join(f"a{time}" for time in range(20)))
    assert count(run(f"RETURN COUNT(*) PATTERN A+ {strategy}", events)) == expected


@pytest.mark.parametrize(("strategy", "expected"), [(ANY, 7), (NEXT, 6), (CONTIGUOUS, 4)])
def test_moving_windows(run, strategy, expected):
    # (0, 5]: a1 z2 a3 a4
    found = run(f"RETURN COUNT(*) PATTERN A+ {strategy} WITHIN 5 seconds", stream("a1 z2 a3 a4"))
    assert found[-1] == {"time": 4, "count": expected}
