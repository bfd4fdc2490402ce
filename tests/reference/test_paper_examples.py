"""The twin against the worked examples of the papers, by figure, table or example number.

Where a figure is an image whose stream or values are not in the text, the test says which part of them is ours.
"""

from __future__ import annotations

from .brute_force import trends
from .by_hand import A, B, C, D, E, count, moving_counts, names, one_second_apart, stream
from .comparer import assert_same_rows
from .detection import complete_trends
from .pattern import And, Event, Not, bounds, plus, seq, text
from .query import NEXT_MATCH, Arithmetic, Attribute, Column, Constant, Edge, Query, Sliding
from .results import rows

# ---------------------------------------------------------------------------------------------------------------- GRETA

FIGURE_4 = stream("a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9")


def test_greta_figure_4a():
    assert count(plus(A), FIGURE_4) == 15


def test_greta_figure_4b():
    assert count(seq(plus(A), B), FIGURE_4) == 23


def test_greta_figure_4c():
    assert count(plus(seq(plus(A), B)), FIGURE_4) == 43
    found = names(Query(plus(seq(plus(A), B))), FIGURE_4)
    assert len(found) == 43
    assert {"a1 b2", "a1 b2 a3 a4 b7 a8 b9"} <= found


def test_greta_figure_4d_and_example_2():
    # (SEQ(A+, NOT SEQ(C, NOT E, D), B))+: c2 is stopped by e3; (c5, d6) keeps a1, a3, a4 from b7 and b9.
    pattern = plus(seq(plus(A), Not(seq(C, Not(E), D)), B))
    assert text(pattern) == "(SEQ(A+, NOT SEQ(C, NOT E, D), B))+"
    assert count(pattern, FIGURE_4) == 13
    found = names(Query(pattern), FIGURE_4)
    assert "a1 b2" in found
    assert all(trend == "a1 b2" or trend.endswith("a8 b9") for trend in found)


def test_greta_figure_6():
    # The paper's windows begin with a1. Ours begin at 0, 3, 6, ...: the same stream one second earlier gives its two.
    events = [event | {"time": event["time"] - 1} for event in FIGURE_4]
    result = rows(Query(plus(seq(plus(A), B)), window=Sliding(10, 3)), events)
    assert_same_rows(
        [
            {"window_start": -6, "window_end": 4, "count": 1},
            {"window_start": -3, "window_end": 7, "count": 11},
            {"window_start": 0, "window_end": 10, "count": 43},
            {"window_start": 3, "window_end": 13, "count": 5},
            {"window_start": 6, "window_end": 16, "count": 1},
        ],
        result,
    )


def test_greta_figure_7():
    # A.attr < NEXT(A).attr leaves two edges between a's. The figure's values are not in the text; with ours the two are
    # a1-a3 and a4-a8. The counts along the graph, as in Section 4.2:
    a1 = 1
    b2 = a1
    a3 = 1 + a1 + b2
    a4 = 1 + b2
    b7 = a1 + a3 + a4
    a8 = 1 + b2 + b7 + a4
    b9 = a1 + a3 + a4 + a8
    events = stream("a1 b2 a3 a4 b7 a8 b9", attr=[5, 0, 6, 3, 0, 4, 0])
    edge = Edge("A", Column("attr"), "<", Column("attr", later=True))
    assert count(plus(seq(plus(A), B)), events, predicates=(edge,)) == b2 + b7 + b9 == 23


def test_greta_down_trend_of_section_2():
    events = stream(" ".join(f"s{t}" for t in range(1, 11)), price=[10, 2, 9, 8, 7, 1, 6, 5, 4, 3])
    down = Edge("S", Column("price"), ">", Column("price", later=True))
    prices = {
        tuple(events[index]["price"] for index, _ in found.trend)
        for found in trends(Query(plus(Event("Stock", "S")), predicates=(down,)), _stocks(events))
    }
    assert (10, 9, 8, 7, 6, 5, 4, 3) in prices
    # The paper lists (10,2), (9,8,7,1), (6,5,4,3). By our definition 2 may skip to 1: nothing between could follow it.
    next_match = Query(plus(Event("Stock", "S")), predicates=(down,), strategy=NEXT_MATCH)
    assert {
        tuple(events[index]["price"] for index, _ in found.trend)
        for found in complete_trends(trends(next_match, _stocks(events)))
    } == {(10, 2, 1), (9, 8, 7, 1), (6, 5, 4, 3)}


def _stocks(events: list[dict]) -> list[dict]:
    return [event | {"type": "Stock"} for event in events]


def test_greta_conjunction_of_section_9():
    # A+ AND A{2,}: 3 a's give 7 trends of A+, 4 of both. Ci = 3, Cj = 0, Cij = 4: 0 + 12 + 0 + 6.
    assert count(And(plus(A), bounds(A, 2, None)), stream("a1 a2 a3")) == 18
    assert count(And(A, B), stream("a1 b1 b2 a3")) == 4
    assert count(And(A, B), stream("a1 a3")) == 0


# ---------------------------------------------------------------------------------------------------------------- A-Seq


def test_aseq_example_1():
    assert moving_counts(seq(A, B, C), 5, stream("a1 b2 c3 c4 b6")) == {3: 1, 4: 2}


def test_aseq_figure_2():
    assert count(seq(A, B, C), one_second_apart("a b c a b c")) == 4


def test_aseq_figure_4():
    # Three a's and two (a, b): the next b makes five. (The figure's counts for C and D are not in the text.)
    assert count(seq(A, B), one_second_apart("a a b a")) == 2
    assert count(seq(A, B), one_second_apart("a a b a b")) == 5


def test_aseq_figure_6():
    events = one_second_apart("a b c a c b d c a d")
    assert moving_counts(seq(A, B, C, D), 7, events) == {7: 2, 10: 1}


def test_aseq_figure_7():
    # What comes between c1 and d1 is ours: the text says only that the result is 2 and has no (a1, b1, d1).
    events = one_second_apart("a b c a b d")
    pattern = seq(A, B, Not(C), D)
    assert count(pattern, events) == 2
    assert names(Query(pattern), events) == {"a1 b5 d6", "a4 b5 d6"}


def test_aseq_example_5():
    # [id], with a1 and a4 of id 1 as in the text; the other ids are ours.
    events = one_second_apart("a a b a b c d", id=[1, 2, 1, 1, 2, 1, 1])
    assert names(Query(seq(A, B, C, D), equivalence=(Attribute("id"),)), events) == {"a1 b3 c6 d7"}
    assert count(seq(A, B), events, equivalence=(Attribute("id"),)) == 2
    grouped = rows(Query(seq(A, B), group_by=(Attribute("id"),)), events)
    both = {"window_start": None, "window_end": None, "count": 1}
    assert_same_rows([both | {"id": 1}, both | {"id": 2}], grouped)


# --------------------------------------------------------------------------------------------------------------- HAMLET

BURSTS = "a a c b b b b a a c c c b b"


def test_hamlet_table_4():
    assert count(seq(A, plus(B)), one_second_apart(BURSTS)) == 30 + 34 + 68 == 132
    assert count(seq(C, plus(B)), one_second_apart(BURSTS)) == 15 + 19 + 38 == 72


def test_hamlet_table_5():
    # The edge (b4, b5) does not hold: y = 15 for the second query, so 11 trends end in the first burst, 15 + 30 later.
    marks = {"x": [0] * 14, "y": [0] * 14}
    marks["x"][4] = marks["y"][5] = 1
    edge = Edge("B", Arithmetic(Column("x"), "*", Column("y", later=True)), "<", Constant(1))
    assert count(seq(C, plus(B)), one_second_apart(BURSTS, **marks), predicates=(edge,)) == 11 + 15 + 30
