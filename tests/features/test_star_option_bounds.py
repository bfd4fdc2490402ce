"""`A*`, `A?`, `A{2}`, `A{2,}`, `A{2,4}`."""

from __future__ import annotations

from math import comb

import pytest

from tests.features.runs import assert_trends, codes, count, stream
from trendweave.errors import PlanningError


def test_star(run):
    assert_trends(
        run, "PATTERN SEQ(A, B*, C)", stream("a1 b2 b3 c4"), "a1 c4", "a1 b2 c4", "a1 b3 c4", "a1 b2 b3 c4"
    )  # fmt: skip


def test_option(run):
    assert_trends(run, "PATTERN SEQ(A, B?, C)", stream("a1 b2 b3 c4"), "a1 c4", "a1 b2 c4", "a1 b3 c4")


def test_optional_parts_at_both_ends(run):
    assert_trends(
        run, "PATTERN SEQ(A?, B, C?)", stream("a1 b2 c3"), "b2", "a1 b2", "b2 c3", "a1 b2 c3"
    )  # fmt: skip


def test_exactly(run):
    assert_trends(run, "PATTERN A{2}", stream("a1 a2 a3"), "a1 a2", "a1 a3", "a2 a3")


def test_at_least(run):
    assert_trends(run, "PATTERN A{2,}", stream("a1 a2 a3"), "a1 a2", "a1 a3", "a2 a3", "a1 a2 a3")
    assert_trends(run, "PATTERN A{3,}", stream("a1 a2 a3"), "a1 a2 a3")
    assert_trends(run, "PATTERN A{4,}", stream("a1 a2 a3"))


def test_from_to(run):
    assert_trends(run, "PATTERN A{1,2}", stream("a1 a2 a3"), "a1", "a2", "a3", "a1 a2", "a1 a3", "a2 a3")


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 3), (3, 5), (6, 6), (6, 9), (7, 9)])
def test_from_to_is_a_sum_of_binomials(run, low, high):
    events = stream("a1 a2 a3 a4 a5 a6")
    expected = sum(comb(6, size) for size in range(low, high + 1))
    assert count(run(f"RETURN COUNT(*) PATTERN A{{{low},{high}}}", events)) == expected


def test_at_least_three_in_other_words(run):
    events = stream("a1 a2 a3 a4")
    for pattern in ("A{3,}", "SEQ(A, A, A+)", "SEQ(A+, A+, A+)", "SEQ(A{2}, A+)", "SEQ(A, A{2,})"):
        assert_trends(
            run, f"PATTERN {pattern}", events,
            "a1 a2 a3", "a1 a2 a4", "a1 a3 a4", "a2 a3 a4", "a1 a2 a3 a4",
        )  # fmt: skip


def test_bounds_from_zero(run):
    assert_trends(run, "PATTERN SEQ(A{0,1}, B)", stream("a1 a2 b3"), "b3", "a1 b3", "a2 b3")
    assert_trends(run, "PATTERN SEQ(A{0,}, B)", stream("a1 a2 b3"), "b3", "a1 b3", "a2 b3", "a1 a2 b3")


def test_star_option_and_bounds_together(run):
    # SEQ(A*, B?, C{2,3})
    assert_trends(
        run, "PATTERN SEQ(A*, B?, C{2,3})", stream("a1 b2 c3 c4"), "c3 c4", "a1 c3 c4", "b2 c3 c4", "a1 b2 c3 c4"
    )  # fmt: skip


def test_bounds_of_a_sequence(run):
    events = stream("a1 b2 a3 b4 a5 b6")
    assert_trends(
        run, "PATTERN (SEQ(A, B)){2}", events,
        "a1 b2 a3 b4", "a1 b2 a3 b6", "a1 b2 a5 b6", "a1 b4 a5 b6", "a3 b4 a5 b6",
    )  # fmt: skip
    assert_trends(run, "PATTERN (SEQ(A, B)){3}", events, "a1 b2 a3 b4 a5 b6")


def test_bounds_of_alternatives(run):
    # (A OR SEQ(B, C)){2}
    assert_trends(
        run, "PATTERN (A OR SEQ(B, C)){2}", stream("a1 b2 c3 a4"), "a1 a4", "a1 b2 c3", "b2 c3 a4"
    )  # fmt: skip


def test_optional_repetition_of_what_is_optional_counts_once(run):
    for pattern in ("SEQ((A?)+, B)", "SEQ((A*)*, B)", "SEQ((A?){0,2}, B)", "SEQ(A*, A?, B)"):
        assert_trends(run, f"PATTERN {pattern}", stream("a1 a2 b3"), "b3", "a1 b3", "a2 b3", "a1 a2 b3")


@pytest.mark.parametrize("pattern", ["A*", "A?", "SEQ(A*, B?)", "A{0,3}", "(A OR B*)"])
def test_a_pattern_of_nothing_is_refused(pattern):
    import trendweave

    with pytest.raises(PlanningError) as refused:
        trendweave.query(f"RETURN COUNT(*) PATTERN {pattern}")
    assert codes(refused) == ["TW206"]
