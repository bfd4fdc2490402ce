"""The worked examples of the papers, on every runner: streams as in the twin's tests, numbers from the papers."""

from __future__ import annotations

import pytest

from tests.features.runs import assert_trends, count, stream, windows
from tests.reference.by_hand import one_second_apart
from tests.reference.comparer import assert_same_rows
from tests.reference.test_paper_examples import BURSTS, FIGURE_4

COUNT = "RETURN COUNT(*) PATTERN "

# ---------------------------------------------------------------------------------------------------------------- GRETA


@pytest.mark.parametrize(
    ("pattern", "trends"),
    [
        ("A+", 15),
        ("SEQ(A+, B)", 23),
        ("(SEQ(A+, B))+", 43),
        ("(SEQ(A+, NOT SEQ(C, NOT E, D), B))+", 13),
    ],
    ids=["4a", "4b", "4c", "4d"],
)
def test_greta_figure_4(run, pattern, trends):
    assert count(run(COUNT + pattern, FIGURE_4)) == trends


def test_greta_example_2(run):
    # c2 is stopped by e3; (c5, d6) keeps a1, a3 and a4 from b7 and b9. Trends: a1 b2, and those that end in a8 b9,
    # after any choice of a1 a3 a4 (8), or after a1 b2 and any choice of a3 a4 (4).
    choices = ["", "a1", "a3", "a4", "a1 a3", "a1 a4", "a3 a4", "a1 a3 a4", *(f"a1 b2 {c}" for c in ("", "a3", "a4"))]
    trends = ["a1 b2", "a1 b2 a3 a4 a8 b9", *(" ".join(f"{choice} a8 b9".split()) for choice in choices)]
    assert len(trends) == 13
    assert_trends(run, "PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+", FIGURE_4, *trends)


def test_greta_figure_6(run):
    # The paper's windows begin with a1. Ours begin at 0, 3, 6, ...: the same stream one second earlier gives its two.
    events = [event | {"time": event["time"] - 1} for event in FIGURE_4]
    found = run(f"{COUNT}(SEQ(A+, B))+ WITHIN 10 seconds SLIDE 3 seconds", events)
    assert windows(found) == {(-6, 4): 1, (-3, 7): 11, (0, 10): 43, (3, 13): 5, (6, 16): 1}


def test_greta_figure_7(run):
    # A.attr < NEXT(A).attr leaves the edges a1-a3 and a4-a8; the counts along the graph, as in Section 4.2. The values
    # of attr are ours.
    a1 = 1
    b2 = a1
    a3 = 1 + a1 + b2
    a4 = 1 + b2
    b7 = a1 + a3 + a4
    a8 = 1 + b2 + b7 + a4
    b9 = a1 + a3 + a4 + a8
    events = stream("a1 b2 a3 a4 b7 a8 b9", attr=[5, 0, 6, 3, 0, 4, 0])
    assert count(run(f"{COUNT}(SEQ(A+, B))+ WHERE A.attr < NEXT(A).attr", events)) == b2 + b7 + b9 == 23


def test_greta_conjunction_of_section_9(run):
    # Ci = 3, Cj = 0, Cij = 4.
    assert count(run(f"{COUNT}A+ AND A{{2,}}", stream("a1 a2 a3"))) == 3 * 0 + 3 * 4 + 0 * 4 + 4 * 3 // 2


# ---------------------------------------------------------------------------------------------------------------- A-Seq


def test_aseq_example_1(run):
    found = run(f"{COUNT}SEQ(A, B, C) WITHIN 5 seconds", stream("a1 b2 c3 c4 b6"))
    assert found == [{"time": 3, "count": 1}, {"time": 4, "count": 2}]


def test_aseq_figure_2(run):
    assert count(run(f"{COUNT}SEQ(A, B, C)", one_second_apart("a b c a b c"))) == 4


def test_aseq_figure_4(run):
    # Three a's and two (a, b): the next b makes five.
    assert count(run(f"{COUNT}SEQ(A, B)", one_second_apart("a a b a"))) == 2
    assert count(run(f"{COUNT}SEQ(A, B)", one_second_apart("a a b a b"))) == 5


def test_aseq_figure_6(run):
    found = run(f"{COUNT}SEQ(A, B, C, D) WITHIN 7 seconds", one_second_apart("a b c a c b d c a d"))
    assert found == [{"time": 7, "count": 2}, {"time": 10, "count": 1}]


def test_aseq_figure_7(run):
    # What comes between c1 and d1 is ours: the text says that the result is 2 and has no (a1, b1, d1).
    assert_trends(
        run, "PATTERN SEQ(A, B, NOT C, D)", one_second_apart("a b c a b d"), "a1 b5 d6", "a4 b5 d6"
    )  # fmt: skip


def test_aseq_example_5(run):
    # a1 and a4 have id 1 as in the text; the other ids are ours.
    events = one_second_apart("a a b a b c d", id=[1, 2, 1, 1, 2, 1, 1])
    assert_trends(run, "PATTERN SEQ(A, B, C, D) WHERE [id]", events, "a1 b3 c6 d7")
    assert_trends(run, "PATTERN SEQ(A, B) WHERE [id]", events, "a1 b3", "a2 b5")
    whole = {"window_start": None, "window_end": None, "count": 1}
    assert_same_rows([whole | {"id": 1}, whole | {"id": 2}], run(f"{COUNT}SEQ(A, B) GROUP-BY id", events))


# --------------------------------------------------------------------------------------------------------------- HAMLET


def test_hamlet_table_4(run):
    events = one_second_apart(BURSTS)
    assert count(run(f"{COUNT}SEQ(A, B+)", events)) == 30 + 34 + 68 == 132
    assert count(run(f"{COUNT}SEQ(C, B+)", events)) == 15 + 19 + 38 == 72


def test_hamlet_table_5(run):
    # The edge (b4, b5) does not hold: 11 trends of the second query end in the first burst, 15 and 30 later.
    marks = {"x": [0] * 14, "y": [0] * 14}
    marks["x"][4] = marks["y"][5] = 1
    events = one_second_apart(BURSTS, **marks)
    assert count(run(f"{COUNT}SEQ(C, B+) WHERE B.x * NEXT(B).y < 1", events)) == 11 + 15 + 30
