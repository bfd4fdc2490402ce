"""`WITHIN w SLIDE s`: windows [i*s, i*s + w) for every integer i, counted from time 0."""

from __future__ import annotations

import random

import pytest

from tests.features.runs import stream, windows
from tests.reference.by_hand import A, B
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import plus, seq
from tests.reference.query import Query, Sliding, text
from tests.reference.results import rows


def counts(run, pattern, within, slide, events):
    return windows(run(f"RETURN COUNT(*) PATTERN {pattern} WITHIN {within} seconds SLIDE {slide} seconds", events))


def test_tumbling(run):
    # [0, 2): a0 a1; [2, 4): a2; [4, 6): nothing; [6, 8): a7
    assert counts(run, "A+", 2, 2, stream("a0 a1 a2 a7")) == {(0, 2): 3, (2, 4): 1, (6, 8): 1}


def test_sliding(run):
    # a1 and a2 are together in [-2, 3) to [1, 6).
    found = counts(run, "A+", 5, 1, stream("a1 a2"))
    assert found == {(-3, 2): 1, (-2, 3): 3, (-1, 4): 3, (0, 5): 3, (1, 6): 3, (2, 7): 1}


def test_a_slide_that_does_not_divide_the_length(run):
    # [-3, 2) [0, 5) [3, 8) over a1 a4: a1 in two, a4 in two, both in [0, 5).
    assert counts(run, "A+", 5, 3, stream("a1 a4")) == {(-3, 2): 1, (0, 5): 3, (3, 8): 1}


def test_the_start_is_inside_and_the_end_is_not(run):
    assert counts(run, "A", 4, 4, stream("a0 a4")) == {(0, 4): 1, (4, 8): 1}
    assert counts(run, "SEQ(A, B)", 4, 4, stream("a0 b4")) == {}
    assert counts(run, "SEQ(A, B)", 4, 4, stream("a0 b3")) == {(0, 4): 1}


def test_all_events_lie_inside_one_window(run):
    # a3 b4 are neighbours in time, but no tumbling window holds both.
    assert counts(run, "SEQ(A, B)", 4, 4, stream("a3 b4")) == {}
    # [0, 4) [2, 6): only the second holds both.
    assert counts(run, "SEQ(A, B)", 4, 2, stream("a3 b4")) == {(2, 6): 1}


def test_negative_times(run):
    assert counts(run, "A+", 4, 4, stream("a-5 a-4 a-1 a0")) == {(-8, -4): 1, (-4, 0): 3, (0, 4): 1}
    assert counts(run, "A+", 3, 2, stream("a-3 a-2")) == {(-4, -1): 3, (-2, 1): 1}


def test_larger_than_the_data(run):
    # Windows of 100 every 100; then of 100 every 40: a1 a2 a3 are in [-80, 20), [-40, 60), [0, 100).
    assert counts(run, "A+", 100, 100, stream("a1 a2 a3")) == {(0, 100): 7}
    assert counts(run, "A+", 100, 40, stream("a1 a2 a3")) == {(-80, 20): 7, (-40, 60): 7, (0, 100): 7}


def test_ties_at_a_border(run):
    # a4 and a4' begin the window together and are never in one trend; a3 is outside.
    assert counts(run, "A+", 4, 4, stream("a3 a4 a4 a5")) == {(0, 4): 1, (4, 8): 5}


def test_a_gap_in_the_data_has_no_rows(run):
    assert counts(run, "A", 1, 1, stream("a0 a1000000")) == {(0, 1): 1, (1_000_000, 1_000_001): 1}


def test_windows_without_a_trend_have_no_rows(run):
    assert counts(run, "SEQ(A, B)", 2, 2, stream("a0 b1 a2 a3 b4 a6 b7")) == {(0, 2): 1, (6, 8): 1}


def test_units(run):
    minute = "RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 30 seconds"
    assert windows(run(minute, stream("a10 a40"))) == {(-30, 30): 1, (0, 60): 3, (30, 90): 1}
    week = "RETURN COUNT(*) PATTERN A+ WITHIN 1 week SLIDE 7 days"
    assert windows(run(week, stream("a0 a604799 a604800"))) == {(0, 604_800): 3, (604_800, 1_209_600): 1}


def test_aggregates_in_windows(run):
    # [0, 4): a1 a3; [2, 6): a3 a5; [-2, 2) and [4, 8): one each.
    query = "RETURN COUNT(*), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A+ WITHIN 4 seconds SLIDE 2 seconds"
    found = run(query, stream("a1 a3 a5", x=[10, 20, 60]))
    assert_same_rows(
        [
            _row(-2, 1, 10, 10, 10, 10.0),
            _row(0, 3, 60, 10, 20, 15.0),
            _row(2, 3, 160, 20, 60, 40.0),
            _row(4, 1, 60, 60, 60, 60.0),
        ],
        found,
    )


def _row(start, trends, total, low, high, mean):
    edges = {"window_start": start, "window_end": start + 4}
    return edges | {"count": trends, "sum_A_x": total, "min_A_x": low, "max_A_x": high, "avg_A_x": mean}


def test_columns_and_order(run):
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN 2 seconds SLIDE 2 seconds", stream("a5 a1 a3"))
    assert list(found[0]) == ["window_start", "window_end", "count"]
    assert [row["window_start"] for row in found] == [0, 2, 4]


@pytest.mark.parametrize(("within", "slide"), [(1, 1), (3, 1), (5, 2), (7, 3), (8, 8), (40, 7)])
def test_against_the_twin(run, within, slide):
    # (SEQ(A+, B))+ over a stream with ties, gaps and negative times.
    chance = random.Random(within * 100 + slide)
    names = sorted((chance.choice("ab"), chance.randint(-12, 25)) for _ in range(14))
    events = stream(" ".join(f"{name}{time}" for name, time in names))
    query = Query(plus(seq(plus(A), B)), window=Sliding(within, slide))
    assert_same_rows(rows(query, events), run(text(query), events))
