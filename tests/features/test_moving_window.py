"""`WITHIN w` alone: at each time at which a trend ends, a row over all trends inside (t - w, t]."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tests.features.runs import as_table, stream
from tests.reference.by_hand import A, B
from tests.reference.comparer import assert_same_rows
from tests.reference.pattern import plus, seq
from tests.reference.query import Moving, Query, text
from tests.reference.results import rows


def counts(run, pattern, within, events):
    found = run(f"RETURN COUNT(*) PATTERN {pattern} WITHIN {within} seconds", events)
    return {row["time"]: row["count"] for row in found}


def test_a_row_at_each_end_of_a_trend(run):
    # SEQ(A, B) in (t - 4, t]: at 2 (a1 b2); at 5 (a3 b5), a1 is gone.
    assert counts(run, "SEQ(A, B)", 4, stream("a1 b2 a3 b5")) == {2: 1, 5: 1}


def test_trends_that_ended_earlier_count_too(run):
    # At 3 the window (-2, 3] holds (a1 b2) and (a1 b3).
    assert counts(run, "SEQ(A, B)", 5, stream("a1 b2 b3")) == {2: 1, 3: 2}


def test_kleene_plus(run):
    # At 3: a1 is at the open end of (0, 3], so a1 and a3 are in. At 4: (1, 4] has a3 a4.
    assert counts(run, "A+", 3, stream("a1 a3 a4")) == {1: 1, 3: 3, 4: 3}


def test_the_beginning_is_outside_and_the_end_inside(run):
    assert counts(run, "SEQ(A, B)", 3, stream("a1 b4")) == {}
    assert counts(run, "SEQ(A, B)", 3, stream("a1 b3")) == {3: 1}


def test_no_row_where_no_trend_ends(run):
    # At 3 something happens, but nothing ends; (a1 b2) is not repeated.
    assert counts(run, "SEQ(A, B)", 10, stream("a1 b2 a3 c4")) == {2: 1}


def test_no_row_where_trends_end_only_outside_of_the_window(run):
    # b6 ends no trend inside (2, 6], although (a1 b6) would be one and (a3 c4) lies inside.
    assert counts(run, "SEQ(A, B) OR SEQ(D, C)", 4, stream("a1 d3 c4 b6")) == {4: 1}


def test_ties_have_one_row(run):
    assert counts(run, "SEQ(A, B)", 5, stream("a1 b2 b2")) == {2: 2}
    assert counts(run, "A+", 5, stream("a1 a1")) == {1: 2}


def test_negative_times(run):
    assert counts(run, "A+", 2, stream("a-3 a-2 a-1")) == {-3: 1, -2: 3, -1: 3}


def test_one_row_per_group(run):
    # At 3 group u ends (a1 a3); group v has no row there.
    events = stream("a1 a2 a3", g=["u", "v", "u"])
    found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g WITHIN 10 seconds", events)
    assert_same_rows(
        [{"time": 1, "g": "u", "count": 1}, {"time": 2, "g": "v", "count": 1}, {"time": 3, "g": "u", "count": 3}], found
    )
    assert list(found[0]) == ["time", "g", "count"]


def test_partitions_of_a_group_have_one_row(run):
    # Group u: (a1) of k 1 and (a2) of k 2; a row at 2 for the whole group.
    events = stream("a1 a2", g=["u", "u"], k=[1, 2])
    found = run("RETURN COUNT(*) PATTERN A+ WHERE [k] GROUP-BY g WITHIN 10 seconds", events)
    assert_same_rows([{"time": 1, "g": "u", "count": 1}, {"time": 2, "g": "u", "count": 2}], found)


def test_aggregates(run):
    query = "RETURN COUNT(*), SUM(A.x), MIN(A.x), MAX(A.x), AVG(A.x) PATTERN A+ WITHIN 2 seconds"
    found = run(query, stream("a1 a2 a4", x=[10, 20, None]))
    assert_same_rows(
        [
            {"time": 1, "count": 1, "sum_A_x": 10, "min_A_x": 10, "max_A_x": 10, "avg_A_x": 10.0},
            {"time": 2, "count": 3, "sum_A_x": 60, "min_A_x": 10, "max_A_x": 20, "avg_A_x": 15.0},
            {"time": 4, "count": 1, "sum_A_x": None, "min_A_x": None, "max_A_x": None, "avg_A_x": None},
        ],
        found,
    )


def test_a_length_that_is_no_whole_number_of_steps(run):
    # (t - 1.5, t] of whole seconds holds two of them.
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN 1500 milliseconds", stream("a1 a2 a3"))
    assert found == [{"time": 1, "count": 1}, {"time": 2, "count": 3}, {"time": 3, "count": 3}]


def test_fractions_of_a_second(run):
    events = as_table(stream("a1 a2 a3")).set_column(0, "time", pa.array([0.1, 0.3, 0.4]))
    found = run("RETURN COUNT(*) PATTERN A+ WITHIN 200 milliseconds", events)
    assert found == [{"time": 0.1, "count": 1}, {"time": 0.3, "count": 1}, {"time": 0.4, "count": 3}]


def test_edge_predicates(run):
    # Falling: (a1); then also (a2), (a1 a2); then also (a3), (a1 a3).
    events = stream("a1 a2 a3", x=[9, 1, 5])
    found = run("RETURN COUNT(*) PATTERN A+ WHERE A.x > NEXT(A).x WITHIN 4 seconds", events)
    assert found == [{"time": 1, "count": 1}, {"time": 2, "count": 3}, {"time": 3, "count": 5}]


@pytest.mark.parametrize("within", [1, 2, 5, 9, 50])
def test_against_the_twin(run, within):
    # SEQ(A+, B)
    chance = random.Random(within)
    events = stream(" ".join(f"{chance.choice('ab')}{chance.randint(-8, 20)}" for _ in range(14)))
    query = Query(seq(plus(A), B), window=Moving(within))
    assert_same_rows(rows(query, events), run(text(query), events))
