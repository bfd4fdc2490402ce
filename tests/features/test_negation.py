"""`NOT N`, which guards the gap it stands in: strictly between the events around it, or up to the window's end."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, codes, count, stream, windows
from trendweave.errors import PlanningError

# --------------------------------------------------------------------------------------------------------- inside a SEQ


def test_between_two_events(run):
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("a1 c2 a3 b4"), "a3 b4")
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("a1 b2 c3 b4"), "a1 b2")
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("a1 c2 b3"))


def test_before_and_after_the_gap(run):
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("c0 a1 b2 c3"), "a1 b2")


def test_the_ends_of_the_gap_are_not_in_it(run):
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("a1 c1 b3"), "a1 b3")
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", stream("a1 c3 b3"), "a1 b3")


def test_after_a_repetition_only_its_last_event_counts(run):
    # c2 lies between a1 and a3, where no NOT stands.
    assert_trends(run, "PATTERN SEQ(A+, NOT C, B)", stream("a1 c2 a3 b4"), "a3 b4", "a1 a3 b4")


def test_before_a_repetition_only_its_first_event_counts(run):
    assert_trends(run, "PATTERN SEQ(A, NOT C, B+)", stream("a1 b2 c3 b4"), "a1 b2", "a1 b2 b4")


def test_inside_a_repetition(run):
    # (SEQ(A, NOT C, B))+: no NOT stands between b2 and a4.
    assert_trends(
        run, "PATTERN (SEQ(A, NOT C, B))+", stream("a1 b2 c3 a4 b5"), "a1 b2", "a4 b5", "a1 b2 a4 b5"
    )  # fmt: skip


def test_several_gaps(run):
    # SEQ(A, NOT C, B, NOT E, D)
    pattern = "PATTERN SEQ(A, NOT C, B, NOT E, D)"
    assert_trends(run, pattern, stream("a1 e2 b3 c4 d5"), "a1 b3 d5")
    assert_trends(run, pattern, stream("a1 c2 b3 d5"))
    assert_trends(run, pattern, stream("a1 b3 e4 d5"))


def test_other_spellings(run):
    for pattern in ("SEQ(A, NOT C, B)", "SEQ(A, !C, B)", "SEQ(A, not C x, B)", "SEQ(A !C B)"):
        assert_trends(run, f"PATTERN {pattern}", stream("a1 c2 a3 b4"), "a3 b4")


# ------------------------------------------------------------------------------------------------------ what is negated


def test_a_negated_sequence_lies_wholly_in_the_gap(run):
    pattern = "PATTERN SEQ(A, NOT SEQ(C, D), B)"
    assert_trends(run, pattern, stream("a1 c2 d3 b4"))
    assert_trends(run, pattern, stream("c0 a1 d2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("a1 c2 b3 d4"), "a1 b3")
    assert_trends(run, pattern, stream("a1 d2 c3 b4"), "a1 b4")
    assert_trends(run, pattern, stream("a1 c1 d2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("a1 c2 d2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("a1 c2 d3 b3"), "a1 b3")


def test_negated_alternatives_and_repetitions(run):
    events = stream("a1 c2 b3 a4 d5 b6 a7 b8")
    assert_trends(run, "PATTERN SEQ(A, NOT (C OR D), B)", events, "a7 b8")
    assert_trends(run, "PATTERN SEQ(A, NOT C+, B)", stream("a1 c2 c3 b4 a5 b6"), "a5 b6")
    # Two c's are needed.
    assert_trends(run, "PATTERN SEQ(A, NOT C{2}, B)", stream("a1 c2 a3 c4 b5"), "a3 b5")


def test_negated_events_have_local_predicates(run):
    events = stream("a1 c2 b3 c4 b5", x=[0, 1, 0, 9, 0])
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE C.x > 5", events, "a1 b3")
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE C.x > 9", events, "a1 b3", "a1 b5")
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE C.x IS NULL", events, "a1 b3", "a1 b5")


def test_negated_events_have_edge_predicates(run):
    pattern = "PATTERN SEQ(A, NOT SEQ(C, D), B) WHERE C.x < D.x"
    assert_trends(run, pattern, stream("a1 c2 d3 b4", x=[0, 1, 2, 0]))
    assert_trends(run, pattern, stream("a1 c2 d3 b4", x=[0, 2, 1, 0]), "a1 b4")
    assert_trends(run, pattern, stream("a1 c2 d3 b4", x=[0, 2, None, 0]), "a1 b4")
    # Rising c's, three of them.
    rising = "PATTERN SEQ(A, NOT C{3}, B) WHERE C.x < NEXT(C).x"
    assert_trends(run, rising, stream("a1 c2 c3 c4 c5 b6", x=[0, 1, 5, 2, 3, 0]))
    assert_trends(run, rising, stream("a1 c2 c3 c4 c5 b6", x=[0, 3, 5, 2, 4, 0]), "a1 b6")


def test_negated_events_have_equivalences_of_their_own(run):
    # Two c's of one k.
    pattern = "PATTERN SEQ(A, NOT C{2}, B) WHERE [C.k]"
    assert_trends(run, pattern, stream("a1 c2 c3 b4", k=[0, 1, 2, 0]), "a1 b4")
    assert_trends(run, pattern, stream("a1 c2 c3 b4", k=[0, 1, 1, 0]))
    assert_trends(run, pattern, stream("a1 c2 c3 b4", k=[0, None, None, 0]), "a1 b4")


def test_negated_events_share_the_partition(run):
    events = stream("a1 c2 b3", k=[1, 2, 1])
    assert_trends(run, "PATTERN SEQ(A, NOT C, B)", events)
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE [k]", events, "a1 b3")
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) GROUP-BY k", events)) == 1
    # A key of A alone does not bind c2.
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE [A.k]", events)
    # An event with a NULL key is in no partition, a NULL group is one.
    nulls = stream("a1 c2 b3", k=[None, None, None])
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE [k]", nulls)
    assert run("RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) GROUP-BY k", nulls) == []
    assert_trends(run, "PATTERN SEQ(A, NOT C, B) WHERE [k]", stream("a1 c2 b3", k=[1, None, 1]), "a1 b3")


# ---------------------------------------------------------------------------------------------------------- leading and
# trailing


def test_leading(run):
    assert_trends(run, "PATTERN SEQ(NOT C, A)", stream("a1 c2 a3"), "a1")
    assert_trends(run, "PATTERN SEQ(NOT C, A)", stream("c1 a1 a2"), "a1")
    assert_trends(run, "PATTERN SEQ(NOT C, A+)", stream("a1 c2 a3"), "a1", "a1 a3")
    assert_trends(run, "PATTERN SEQ(NOT SEQ(C, D), A)", stream("c1 a2 d3 a4"), "a2")


def test_trailing(run):
    assert_trends(run, "PATTERN SEQ(A, NOT C)", stream("a1 c2 a3"), "a3")
    assert_trends(run, "PATTERN SEQ(A, NOT C)", stream("a1 a2 c2"), "a2")
    assert_trends(run, "PATTERN SEQ(A+, NOT C)", stream("a1 c2 a3"), "a3", "a1 a3")
    assert_trends(run, "PATTERN SEQ(A, NOT SEQ(C, D))", stream("a1 c2 a3 d4"), "a3")


def test_leading_and_trailing(run):
    assert_trends(run, "PATTERN SEQ(NOT C, A, B, NOT D)", stream("a1 b2 c3 a4 b5 d6 b7"), "a1 b7")


def test_leading_inside_a_repetition_looks_back_to_the_event_before(run):
    # (SEQ(NOT C, A, B))+: c3 keeps a4 from beginning a trend, and from following b2.
    assert_trends(run, "PATTERN (SEQ(NOT C, A, B))+", stream("a1 b2 c3 a4 b5"), "a1 b2", "a1 b5")
    # c0 keeps every a from beginning; nothing is left to follow.
    assert_trends(run, "PATTERN (SEQ(NOT C, A, B))+", stream("c0 a1 b2 a3 b4"))


def test_leading_begins_with_the_window(run):
    # SEQ(NOT C, A), windows [-2, 2) [0, 4) [2, 6): c1 is in the way of a3 in [0, 4) only.
    query = "RETURN COUNT(*) PATTERN SEQ(NOT C, A) WITHIN 4 seconds SLIDE 2 seconds"
    assert windows(run(query, stream("c1 a3"))) == {(2, 6): 1}
    # c2 is the first moment of [2, 6).
    assert windows(run(query, stream("c2 a3"))) == {}


def test_trailing_ends_with_the_window(run):
    # SEQ(A, NOT C), windows [-2, 2) [0, 4): c3 comes after a1 in [0, 4) only.
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT C) WITHIN 4 seconds SLIDE 2 seconds"
    assert windows(run(query, stream("a1 c3"))) == {(-2, 2): 1}
    # c4 is the first moment after [0, 4).
    assert windows(run(query, stream("a1 c4"))) == {(-2, 2): 1, (0, 4): 1}


def test_a_trailing_match_is_wholly_inside_the_window(run):
    # SEQ(A, NOT SEQ(C, D)), windows [0, 4) and [4, 8): d4 is outside of the first.
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D)) WITHIN 4 seconds SLIDE 4 seconds"
    assert windows(run(query, stream("a1 c2 d4 a5"))) == {(0, 4): 1, (4, 8): 1}
    assert windows(run(query, stream("a1 c2 d3 a5"))) == {(4, 8): 1}


def test_leading_in_a_moving_window(run):
    # SEQ(NOT C, A) WITHIN 3: at 3 the window (0, 3] has c1 before a3; at 5 it is (2, 5].
    found = run("RETURN COUNT(*) PATTERN SEQ(NOT C, A) WITHIN 3 seconds", stream("c1 a3 a5"))
    assert found == [{"time": 5, "count": 2}]


def test_trailing_in_a_moving_window(run):
    # SEQ(A, NOT C) WITHIN 3: at the moment at which a trend ends nothing can have followed it.
    with pytest.raises(PlanningError) as refused:
        run("RETURN COUNT(*) PATTERN SEQ(A, NOT C) WITHIN 3 seconds", stream("a1 c2 a3"))
    assert codes(refused) == ["TW230"]


def test_inside_in_windows(run):
    # SEQ(A, NOT C, B), tumbling: a1 b3 in [0, 4) has c2 between; a5 b7 in [4, 8) has not; c4 is before it.
    query = "RETURN COUNT(*) PATTERN SEQ(A, NOT C, B) WITHIN 4 seconds SLIDE 4 seconds"
    assert windows(run(query, stream("a1 c2 b3 c4 a5 b7"))) == {(4, 8): 1}


# ------------------------------------------------------------------------------------------------------------- optional
# neighbours


def test_an_optional_event_after_the_gap(run):
    # SEQ(A, NOT N, B?, C): without a b the gap is from a to c.
    pattern = "PATTERN SEQ(A, NOT N, B?, C)"
    assert_trends(run, pattern, stream("a1 b2 n3 c4"), "a1 b2 c4")
    assert_trends(run, pattern, stream("a1 n2 b3 c4"))
    assert_trends(run, pattern, stream("a1 b2 c3 n4"), "a1 c3", "a1 b2 c3")


def test_an_optional_event_before_the_gap(run):
    # SEQ(A, B*, NOT N, C): the gap begins with the last b, or with a.
    pattern = "PATTERN SEQ(A, B*, NOT N, C)"
    assert_trends(run, pattern, stream("a1 n2 b3 c4"), "a1 b3 c4")
    assert_trends(run, pattern, stream("a1 b2 n3 c4"))
    assert_trends(run, pattern, stream("a1 b2 n3 b4 c5"), "a1 b4 c5", "a1 b2 b4 c5")


def test_an_optional_beginning(run):
    # SEQ(A?, NOT C, B): without an a the gap begins with the window.
    pattern = "PATTERN SEQ(A?, NOT C, B)"
    assert_trends(run, pattern, stream("c1 a2 b3"), "a2 b3")
    assert_trends(run, pattern, stream("a1 b2 c3"), "b2", "a1 b2")
    assert_trends(run, pattern, stream("c1 b2"))


def test_an_optional_end(run):
    # SEQ(A, NOT C, B?): without a b the gap ends with the window.
    pattern = "PATTERN SEQ(A, NOT C, B?)"
    assert_trends(run, pattern, stream("a1 b2 c3"), "a1 b2")
    assert_trends(run, pattern, stream("a1 c2 b3"))
    assert_trends(run, pattern, stream("a1 b2"), "a1", "a1 b2")


# ----------------------------------------------------------------------------------------------------------------
# nested


def test_nested(run):
    # NOT SEQ(C, NOT E, D): c ... d with no e between is in the way.
    pattern = "PATTERN SEQ(A, NOT SEQ(C, NOT E, D), B)"
    assert_trends(run, pattern, stream("a1 c2 d3 b4"))
    assert_trends(run, pattern, stream("a1 c2 e3 d4 b5"), "a1 b5")
    assert_trends(run, pattern, stream("a1 c2 e2 d4 b5"))
    assert_trends(run, pattern, stream("a1 e2 c3 d4 b5"))
    # (c4, d5) has no e between, although (c2, d5) has.
    assert_trends(run, pattern, stream("a1 c2 e3 c4 d5 b6"))


def test_nested_twice(run):
    # f4 spoils (e3, g5), so nothing keeps (c2, d6) from being in the way.
    pattern = "PATTERN SEQ(A, NOT SEQ(C, NOT SEQ(E, NOT F, G), D), B)"
    assert_trends(run, pattern, stream("a1 c2 e3 g5 d6 b7"), "a1 b7")
    assert_trends(run, pattern, stream("a1 c2 e3 f4 g5 d6 b7"))


def test_nested_behind_an_optional_part(run):
    # NOT SEQ(C?, NOT E, D): without a c, a d is in the way only if no e came before it in the window.
    pattern = "PATTERN SEQ(A, NOT SEQ(C?, NOT E, D), B)"
    assert_trends(run, pattern, stream("a1 d2 b3"))
    assert_trends(run, pattern, stream("e0 a1 d2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("e0 a1 c2 d3 b4"))
    # [0, 4) knows e0, [1, 5) does not; [2, 6) has no a.
    counted = "RETURN COUNT(*) " + pattern + " WITHIN 4 seconds SLIDE 1 second"
    assert windows(run(counted, stream("e0 a1 d2 b3"))) == {(0, 4): 1}


def test_nested_before_an_optional_part(run):
    # NOT SEQ(D, NOT E, C?): without a c, a d is in the way only if no e comes after it in the window.
    pattern = "PATTERN SEQ(A, NOT SEQ(D, NOT E, C?), B)"
    assert_trends(run, pattern, stream("a1 d2 b3"))
    assert_trends(run, pattern, stream("a1 d2 b3 e4"), "a1 b3")
    counted = "RETURN COUNT(*) " + pattern + " WITHIN 4 seconds SLIDE 1 second"
    assert windows(run(counted, stream("a1 d2 b3 e4"))) == {(1, 5): 1}
    # In a window that moves, nothing comes after its time: at 3 there is no e, at 5 it is (1, 5], without a1.
    assert run("RETURN COUNT(*) " + pattern + " WITHIN 4 seconds", stream("a1 d2 b3 e4 b5")) == []
    found = run("RETURN COUNT(*) " + pattern + " WITHIN 9 seconds", stream("a1 d2 b3 e4 b5"))
    assert [(row["time"], row["count"]) for row in found] == [(5, 2)]


def test_nested_in_an_optional_part(run):
    # The inner NOT stands between c and d, wherever there is a c.
    pattern = "PATTERN SEQ(A, NOT SEQ((SEQ(C, NOT E))?, D), B)"
    assert_trends(run, pattern, stream("a1 c2 e3 b5"), "a1 b5")
    assert_trends(run, pattern, stream("a1 c2 e3 d4 b5"))


def test_nested_and_leading(run):
    pattern = "PATTERN SEQ(NOT SEQ(C, NOT E, D), A)"
    assert_trends(run, pattern, stream("c1 e2 d3 a4"), "a4")
    assert_trends(run, pattern, stream("c1 a2 d3 a4"), "a2")


# -------------------------------------------------------------------------------------------------------------- several
# readings


def test_one_clean_reading_is_enough(run):
    pattern = "PATTERN (SEQ(A, NOT C, B) OR SEQ(A, NOT D, B))"
    assert_trends(run, pattern, stream("a1 c2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("a1 d2 b3"), "a1 b3")
    assert_trends(run, pattern, stream("a1 c2 d3 b4"))
    assert_trends(run, pattern, stream("a1 b2"), "a1 b2")


def test_readings_whose_nots_stand_in_different_gaps(run):
    # SEQ(A+, NOT C, A): the last gap is clean, whatever the ones before.
    pattern = "PATTERN SEQ(A+, NOT C, A)"
    assert_trends(run, pattern, stream("a1 a2 c3 a4"), "a1 a2")
    assert_trends(run, pattern, stream("a1 c2 a3 a4"), "a3 a4", "a1 a3 a4")
    # (a1, a2, b4): the first gap is clean, so the second may be dirty; (a1, a3, b4) has c2 in the first and needs none.
    pattern = "PATTERN (SEQ(A, NOT C, A, B) OR SEQ(A, A, NOT D, B))"
    assert_trends(run, pattern, stream("a1 a2 d3 b4"), "a1 a2 b4")
    assert_trends(run, pattern, stream("a1 c2 a3 b4"), "a1 a3 b4")
    assert_trends(run, pattern, stream("a1 c2 a3 d4 b5"))


def test_readings_that_go_on_differently(run):
    # After (a1, b3) with c2 between them only an e can follow.
    pattern = "PATTERN (SEQ(A, NOT C, B, D) OR SEQ(A, B, E))"
    assert_trends(run, pattern, stream("a1 c2 b3 d4 e5"), "a1 b3 e5")
    assert_trends(run, pattern, stream("a1 b3 d4 e5"), "a1 b3 d4", "a1 b3 e5")


def test_readings_that_begin_differently(run):
    # c1 keeps a2 from beginning with b3, not with d4; the window [2, 6) does not know it.
    pattern = "PATTERN (SEQ(NOT C, A, B) OR SEQ(A, D))"
    assert_trends(run, pattern, stream("c1 a2 b3 d4"), "a2 d4")
    assert_trends(run, pattern, stream("a2 b3 d4"), "a2 b3", "a2 d4")
    found = run("RETURN COUNT(*) " + pattern + " WITHIN 4 seconds SLIDE 2 seconds", stream("c1 a2 b3 d4"))
    assert windows(found) == {(2, 6): 2}


def test_readings_that_begin_and_end_differently(run):
    # Clean before, or clean after: c1 is in the way up to [1, 5), d4 from there on.
    pattern = "PATTERN (SEQ(NOT C, A) OR SEQ(A, NOT D))"
    assert_trends(run, pattern, stream("c1 a2"), "a2")
    assert_trends(run, pattern, stream("a2 d3"), "a2")
    assert_trends(run, pattern, stream("c1 a2 d3"))
    found = run("RETURN COUNT(*) " + pattern + " WITHIN 4 seconds SLIDE 1 second", stream("c1 a2 d4"))
    assert windows(found) == {(-1, 3): 1, (0, 4): 1, (2, 6): 1}


def test_what_a_not_has_ruled_out_is_still_not_skipped(run):
    # After c2 the trend (a1, b3) cannot go on with d4, but d4 could follow the word: e5 skips it.
    clauses = "PATTERN (SEQ(A, NOT C, B, D) OR SEQ(A, B, E)) SEMANTICS skip-till-next-match"
    assert_trends(run, clauses, stream("a1 c2 b3 d4 e5"))
    assert_trends(run, clauses, stream("a1 c2 b3 e4 d5"), "a1 b3 e4")
    assert_trends(run, clauses, stream("a1 b2 d3 e4"), "a1 b2 d3")
    clauses = "PATTERN (SEQ(NOT C, A, B) OR SEQ(A, D)) SEMANTICS skip-till-next-match"
    assert_trends(run, clauses, stream("c1 a2 b3 d4"))
    assert_trends(run, clauses, stream("c1 a2 d3 b4"), "a2 d3")


# -------------------------------------------------------------------------------------------------------------- several
# NOTs


def test_several_nots_in_one_gap(run):
    pattern = "PATTERN SEQ(A, NOT C, NOT D, B)"
    assert_trends(run, pattern, stream("a1 c2 b3 a4 d5 b6 a7 b8"), "a7 b8")
    assert_trends(run, pattern, stream("a1 c2 d3 b4"))
    assert_trends(run, pattern, stream("c1 a2 b3 d4"), "a2 b3")


def test_several_nots_at_the_edges(run):
    pattern = "PATTERN SEQ(NOT C, NOT D, A, NOT C, NOT E)"
    assert_trends(run, pattern, stream("e1 a2 d3"), "a2")
    assert_trends(run, pattern, stream("d1 a2"))
    assert_trends(run, pattern, stream("a1 e2"))
    # The same in two steps: C before, E after.
    assert_trends(run, "PATTERN SEQ(NOT C, SEQ(NOT D, A), NOT E)", stream("e1 a2 c3"), "a2")


# ---------------------------------------------------------------------------------------------------------------- other
# features


def test_with_skip_till_next_match_negation_plays_no_part_in_what_could_follow(run):
    # b3 could follow a1 although c2 is in the way: (a1, b4) skips it.
    clauses = "PATTERN SEQ(A, NOT C, B) SEMANTICS skip-till-next-match"
    assert_trends(run, clauses, stream("a1 c2 b3 b4"))
    assert_trends(run, clauses, stream("a1 b2 c3 b4"), "a1 b2")


def test_with_contiguous(run):
    clauses = "PATTERN SEQ(NOT C, A, B) SEMANTICS contiguous"
    assert_trends(run, clauses, stream("a1 b2 c3 a4 b5"), "a1 b2")


def test_with_edge_predicates_and_aggregates(run):
    # SEQ(A+, NOT C, B) with rising a's: a1 and a3 rise, c2 keeps a1 alone from b5.
    events = stream("a1 c2 a3 a4 b5", x=[1, 0, 3, 2, 0])
    clauses = "PATTERN SEQ(A+, NOT C, B) WHERE A.x < NEXT(A).x"
    assert_trends(run, clauses, events, "a3 b5", "a4 b5", "a1 a3 b5", "a1 a4 b5")


def test_the_negated_type_does_not_occur(run):
    assert_trends(run, "PATTERN SEQ(NOT C, A, NOT C, B, NOT C)", stream("a1 b2"), "a1 b2")
