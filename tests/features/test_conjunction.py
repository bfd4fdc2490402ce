"""`P AND Q`: pairs of different trends, one of P and one of Q, of one window and partition (GRETA, Section 9)."""

from __future__ import annotations

import pytest

from tests.features.runs import codes, count, only, stream, windows
from trendweave.errors import PlanningError

COUNT = "RETURN COUNT(*) PATTERN "


def test_every_pair_whatever_the_order_and_time(run):
    assert count(run(COUNT + "A AND B", stream("a1 b1 b2 a3"))) == 4


def test_one_side_has_no_trend(run):
    assert run(COUNT + "A AND B", stream("a1 a3")) == []


def test_sides_that_share_no_trend(run):
    # A+ has 3, SEQ(B, C) has 2.
    assert count(run(COUNT + "A+ AND SEQ(B, C)", stream("a1 b2 c3 a4 c5"))) == 6


def test_sides_that_share_trends(run):
    # A+: 7. A{2,}: 4, all of them also of A+. Only one: 3; pairs 3 * 4 of one of each, and 4 * 3 / 2 of the shared.
    assert count(run(COUNT + "A+ AND A{2,}", stream("a1 a2 a3"))) == 18


def test_both_sides_the_same(run):
    # 3 trends on both sides: 3 unordered pairs of different ones.
    assert count(run(COUNT + "A+ AND A+", stream("a1 a2"))) == 3
    assert run(COUNT + "A AND A", stream("a1")) == []


def test_sides_that_overlap_in_part(run):
    # (A OR B): a1 b2. (B OR C): b2 c3. Pairs: a1-b2, a1-c3, b2-c3.
    assert count(run(COUNT + "(A OR B) AND (B OR C)", stream("a1 b2 c3"))) == 3


def test_in_windows(run):
    # [0, 2): a0 b1; [2, 4): a2 only; [4, 6): a4 b5 b5.
    found = run(COUNT + "A AND B WITHIN 2 seconds SLIDE 2 seconds", stream("a0 b1 a2 a4 b5 b5"))
    assert windows(found) == {(0, 2): 1, (4, 6): 2}


def test_in_partitions_and_groups(run):
    events = stream("a1 b2 a3 b4", k=[1, 2, 2, 2])
    # k = 1 has a1 alone; k = 2 has a3 with b2 and with b4.
    assert count(run(COUNT + "A AND B WHERE [k]", events)) == 2
    found = run(COUNT + "A AND B GROUP-BY k", stream("a1 b2 a3 b4", k=[1, 1, 2, 2]))
    assert sorted((row["k"], row["count"]) for row in found) == [(1, 1), (2, 1)]


def test_with_predicates_on_both_sides(run):
    # A.x < NEXT(A).x leaves (a1), (a2), (a3), (a1 a3), (a2 a3); B.x > 0 leaves b5.
    events = stream("a1 a2 a3 b4 b5", x=[2, 1, 3, 0, 1])
    assert count(run(COUNT + "A+ AND B WHERE A.x < NEXT(A).x AND B.x > 0", events)) == 5


def test_with_negation_on_one_side(run):
    # SEQ(A, NOT C, B): a3 b4 only, as c2 stands between a1 and b4. D: d5 d6.
    assert count(run(COUNT + "SEQ(A, NOT C, B) AND D", stream("a1 c2 a3 b4 d5 d6"))) == 2


def test_readings_that_differ_in_their_nots(run):
    # SEQ(A+, NOT C, A): (a1, a2) alone, as c3 stands before a4. A{2}: three pairs, of which one is (a1, a2) again.
    assert count(run(COUNT + "SEQ(A+, NOT C, A) AND A{2}", stream("a1 a2 c3 a4"))) == 2


def test_in_a_window_that_moves_with_the_stream(run):
    # At 1 there is a1 alone. At 2: a1-b2. At 4 (1, 4]: b2-a4. c5 ends nothing. At 9 (6, 9]: b9 alone.
    found = run(COUNT + "A AND B WITHIN 3 seconds", stream("a1 b2 a4 c5 b9"))
    assert [(row["time"], row["count"]) for row in found] == [(2, 1), (4, 1)]


def test_in_a_moving_window_of_groups(run):
    # Pairs are of one partition: k = 2 has none before a4 meets b3.
    events = stream("a1 b2 b3 a4", k=[1, 1, 2, 2])
    found = run("RETURN k, COUNT(*) PATTERN A AND B GROUP-BY k WITHIN 3 seconds", events)
    assert [(row["time"], row["k"], row["count"]) for row in found] == [(2, 1, 1), (4, 2, 1)]


def test_with_keys_of_one_variable(run):
    # A+ with one k: a1, a2, a3, (a1, a3). B: b4. Groups of a's of different k are no trends, whatever b they meet.
    events = stream("a1 a2 a3 b4", k=[1, 2, 1, 3])
    assert count(run(COUNT + "A+ AND B WHERE [A.k]", events)) == 4
    # A+ and A{2}: (a1, a3) is of both; it makes a pair with each of a1, a2, a3.
    assert count(run(COUNT + "A+ AND A{2} WHERE [A.k]", events)) == 3


def test_each_side_skips_what_it_cannot_read(run):
    # SEQ(A, C) skips b2, SEQ(A, B) ends with it.
    clauses = " SEMANTICS skip-till-next-match"
    assert count(run(COUNT + "SEQ(A, C) AND SEQ(A, B)" + clauses, stream("a1 b2 c3"))) == 1
    # (a1, c3) is a trend of SEQ(A, C), but not of SEQ(A, (B OR C)), where b2 comes first: so (a1, c3) meets (a1, b2).
    assert count(run(COUNT + "SEQ(A, C) AND SEQ(A, (B OR C))" + clauses, stream("a1 b2 c3"))) == 1
    # Without b2 both have (a1, c3) alone, and no pair of different trends.
    assert run(COUNT + "SEQ(A, C) AND SEQ(A, (B OR C))" + clauses, stream("a1 c3")) == []


def test_large_counts(run):
    # 2^100 - 1 trends on each side.
    events = stream(" ".join(f"a{time} b{time}" for time in range(100)))
    found = only(run(COUNT + "A+ AND B+", events, numbers="text"))
    assert found == {"count": str((2**100 - 1) ** 2)}


def test_only_counts_of_trends(run):
    with pytest.raises(PlanningError) as refused:
        run("RETURN COUNT(*), COUNT(A) PATTERN A AND B", stream("a1 b2"))
    assert codes(refused) == ["TW211"]
