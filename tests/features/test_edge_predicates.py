"""`S.price > NEXT(S).price`, `A.x < B.y`: what holds between direct neighbours of a trend."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.features.runs import assert_trends, count, stream, table

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("comparison", "pairs"),
    [
        ("A.x < NEXT(A).x", ["a1 a2", "a1 a3", "a1 a4", "a3 a4"]),
        ("A.x <= NEXT(A).x", ["a1 a2", "a1 a3", "a1 a4", "a2 a4", "a3 a4"]),
        ("A.x > NEXT(A).x", ["a2 a3", "a4 a5", "a1 a5", "a2 a5", "a3 a5"]),
        ("A.x >= NEXT(A).x", ["a2 a3", "a2 a4", "a4 a5", "a1 a5", "a2 a5", "a3 a5"]),
        ("A.x = NEXT(A).x", ["a2 a4"]),
        ("A.x != NEXT(A).x", ["a1 a2", "a1 a3", "a1 a4", "a1 a5", "a2 a3", "a2 a5", "a3 a4", "a3 a5", "a4 a5"]),
        ("NEXT(A).x > A.x", ["a1 a2", "a1 a3", "a1 a4", "a3 a4"]),
    ],
)
def test_each_comparison_on_pairs(run, comparison, pairs):
    events = stream("a1 a2 a3 a4 a5", x=[2, 6, 5, 6, 1])
    assert_trends(run, f"PATTERN A{{2}} WHERE {comparison}", events, *pairs)


def test_falling_trends(run):
    events = stream("a1 a2 a3 a4", x=[10, 2, 9, 8])
    assert_trends(
        run, "PATTERN A+ WHERE A.x > NEXT(A).x", events,
        "a1", "a2", "a3", "a4", "a1 a2", "a1 a3", "a1 a4", "a3 a4", "a1 a3 a4",
    )  # fmt: skip


def test_neighbours_are_those_of_the_trend(run):
    # a1 and a3 are neighbours in (a1, a3), not in (a1, a2, a3).
    events = stream("a1 a2 a3", x=[1, 3, 2])
    assert_trends(run, "PATTERN A{3} WHERE A.x < NEXT(A).x", events)
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x", events, "a1 a2", "a1 a3")


def test_arithmetic_on_either_side(run):
    # Up by more than a tenth: 10 -> 12, 11 -> 13, 10 -> 13; 10 -> 11 is exactly a tenth.
    events = stream("a1 a2 a3 a4", x=[10, 11, 12, 13])
    assert_trends(run, "PATTERN A{2} WHERE A.x * 11 < NEXT(A).x * 10", events, "a1 a3", "a1 a4", "a2 a4")
    assert_trends(run, "PATTERN A{2} WHERE NEXT(A).x - 2 = A.x", events, "a1 a3", "a2 a4")
    assert_trends(run, "PATTERN A{2} WHERE NEXT(A).x - A.x = 2", events, "a1 a3", "a2 a4")
    assert_trends(run, "PATTERN A{2} WHERE A.x * 1.25 < NEXT(A).x", events, "a1 a4")


def test_different_attributes(run):
    events = stream("a1 a2 a3", x=[1, 5, 9], y=[0, 2, 4])
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).y", events, "a1 a2", "a1 a3")


def test_several_at_once(run):
    events = stream("a1 a2 a3", x=[1, 2, 3], y=[1, 1, 0], z=[7, 7, 7])
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x AND A.y > NEXT(A).y", events, "a1 a3", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x AND A.y = NEXT(A).y", events, "a1 a2")
    assert_trends(run, "PATTERN A{2} WHERE A.z = NEXT(A).z AND A.y = NEXT(A).y AND A.x != NEXT(A).x", events, "a1 a2")
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x AND NEXT(A).x < A.x + 2", events, "a1 a2", "a2 a3")


def test_with_local_predicates(run):
    events = stream("a1 a2 a3", x=[1, 2, 3])
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x AND A.x != 2", events, "a1 a3")


def test_two_variables(run):
    events = stream("a1 a2 b3 b4", x=[1, 5, 3, 9])
    assert_trends(run, "PATTERN SEQ(A, B) WHERE A.x < B.x", events, "a1 b3", "a1 b4", "a2 b4")
    # Only this order is possible, so it is the same condition.
    assert_trends(run, "PATTERN SEQ(A, B) WHERE B.x > A.x", events, "a1 b3", "a1 b4", "a2 b4")


def test_two_variables_in_either_order_the_first_written_is_the_earlier(run):
    # (A OR B){2}: A.x < B.x speaks of an a directly followed by a b, and of nothing else.
    events = stream("a1 b2 a3", x=[5, 1, 9])
    assert_trends(run, "PATTERN (A OR B){2} WHERE A.x < B.x", events, "b2 a3", "a1 a3")
    assert_trends(run, "PATTERN (A OR B){2} WHERE B.x > A.x", events, "a1 b2", "a1 a3")


def test_at_the_last_of_a_repetition(run):
    # SEQ(A+, B): only the last a is b's neighbour.
    events = stream("a1 a2 b3", x=[9, 1, 5])
    assert_trends(run, "PATTERN SEQ(A+, B) WHERE A.x < B.x", events, "a2 b3", "a1 a2 b3")


def test_both_kinds_in_one_pattern(run):
    events = stream("a1 a2 b3", x=[1, 2, 5])
    assert_trends(
        run, "PATTERN SEQ(A+, B) WHERE A.x < NEXT(A).x AND A.x + 3 <= B.x", events, "a1 b3", "a2 b3", "a1 a2 b3"
    )  # fmt: skip
    assert_trends(run, "PATTERN SEQ(A+, B) WHERE A.x > NEXT(A).x AND A.x + 4 <= B.x", events, "a1 b3")


def test_general_predicates(run):
    # No comparison of one value of each: products, OR, functions of both.
    events = stream("a1 a2 a3", x=[1, 2, 3], y=[2, 2, None])
    assert_trends(run, "PATTERN A{2} WHERE A.x * NEXT(A).x > 2", events, "a1 a3", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE (A.x = 2 OR NEXT(A).x = 2)", events, "a1 a2", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE ABS(A.x - NEXT(A).x) = 1", events, "a1 a2", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE A.x + NEXT(A).x IN (3, 5)", events, "a1 a2", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE A.y * NEXT(A).y IS NULL", events, "a1 a3", "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE NOT A.x = NEXT(A).x - 1", events, "a1 a3")
    assert_trends(run, "PATTERN SEQ(A, A) WHERE GREATEST(A.x, NEXT(A).x) = 3", events, "a1 a3", "a2 a3")


def test_a_condition_on_the_next_event_alone(run):
    # It says nothing of the first.
    events = stream("a1 a2 a3", x=[0, 0, 5])
    assert_trends(run, "PATTERN A+ WHERE NEXT(A).x > 3", events, "a1", "a2", "a3", "a1 a3", "a2 a3")


def test_strings(run):
    events = stream("a1 a2 a3 a4", s=["b", "a", "b", "é"])
    assert_trends(run, "PATTERN A{2} WHERE A.s < NEXT(A).s", events, "a1 a4", "a2 a3", "a2 a4", "a3 a4")
    assert_trends(run, "PATTERN A{2} WHERE A.s = NEXT(A).s", events, "a1 a3")
    assert_trends(run, "PATTERN A{2} WHERE CONCAT(A.s, NEXT(A).s) = 'ab'", events, "a2 a3")
    assert_trends(run, "PATTERN A{2} WHERE UPPER(A.s) = UPPER(NEXT(A).s)", events, "a1 a3")


@pytest.mark.parametrize("comparison", ["<", "<=", ">", ">=", "=", "!="])
def test_nothing_holds_with_null(run, comparison):
    events = stream("a1 a2", x=[None, None])
    assert_trends(run, f"PATTERN A{{2}} WHERE A.x {comparison} NEXT(A).x", events)
    events = stream("a1 a2 a3", x=[1, None, None])
    assert_trends(run, f"PATTERN A+ WHERE A.x {comparison} NEXT(A).x", events, "a1", "a2", "a3")


def test_nan_equals_itself_and_is_the_largest(run):
    events = stream("a1 a2 a3 a4", x=[NAN, INF, NAN, 1.0])
    assert_trends(run, "PATTERN A{2} WHERE A.x = NEXT(A).x", events, "a1 a3")
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x", events, "a2 a3")
    assert_trends(
        run, "PATTERN A{2} WHERE A.x >= NEXT(A).x", events, "a1 a2", "a1 a3", "a1 a4", "a2 a4", "a3 a4"
    )  # fmt: skip


def test_zeros_are_equal(run):
    events = stream("a1 a2", x=[0.0, -0.0])
    assert_trends(run, "PATTERN A{2} WHERE A.x = NEXT(A).x", events, "a1 a2")
    assert_trends(run, "PATTERN A{2} WHERE A.x != NEXT(A).x", events)


def test_the_ends_of_64_bits(run):
    events = stream("a1 a2 a3", x=[-(2**63), 0, 2**63 - 1])
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", events)) == 7
    # 2**63 - 1 + 1 overflows, which is NULL.
    assert_trends(run, "PATTERN A{2} WHERE A.x < NEXT(A).x + 1", events, "a1 a2")


VALUES = {
    "boolean": [False, True, None, True],
    "decimal": [Decimal("1.10"), Decimal("2.00"), None, Decimal("2.00")],
    "timestamp": [datetime(1969, 1, 1), datetime(2024, 1, 1), None, datetime(2024, 1, 1)],
    "binary": [b"a", b"b", None, b"b"],
    "string": ["a", "b", None, "b"],
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_other_types(run, kind):
    # a1 < a2 = a4, a3 is NULL.
    events = table("a1 a2 a3 a4", x=pa.array(VALUES[kind]))
    query = "RETURN COUNT(*) PATTERN A+ WHERE A.x {} NEXT(A).x"
    expected = {"<": 4 + 2, "<=": 4 + 3 + 1, ">": 4, ">=": 4 + 1, "=": 4 + 1, "!=": 4 + 2}
    assert {sign: count(run(query.format(sign), events)) for sign in expected} == expected


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.float32(), pa.large_string(), pa.string()])
def test_widths(run, kind):
    events = table("a1 a2 a3", x=pa.array([1, 3, 2]).cast(kind))
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", events)) == 5


def test_numbers_of_different_types_are_compared(run):
    events = table("a1 b2", x=pa.array([2, 0]), y=pa.array([0.0, 2.5]), z=pa.array([Decimal("0.0"), Decimal("2.0")]))
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x < B.y", events)) == 1
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.x = B.z", events)) == 1
    assert count(run("RETURN COUNT(*) PATTERN SEQ(A, B) WHERE A.z < B.y", events)) == 1


def test_times_between_neighbours(run):
    assert_trends(
        run, "PATTERN A+ WHERE NEXT(A).time - A.time <= 1 second", stream("a1 a2 a4 a5"),
        "a1", "a2", "a4", "a5", "a1 a2", "a4 a5",
    )  # fmt: skip
    moments = table("a1 a2 a4 a5", at=pa.array([1, 2, 4, 5], pa.timestamp("s")))
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.at + 1 second >= NEXT(A).at", moments)) == 6


def test_ties_are_no_neighbours(run):
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", stream("a1 a1 a2", x=[1, 2, 3]))) == 5


def test_inside_a_partition(run):
    # a1 < a3 and a2 < a4 by k.
    events = stream("a1 a2 a3 a4", x=[1, 1, 2, 2], k=[1, 2, 1, 2])
    assert_trends(run, "PATTERN A{2} WHERE [k] AND A.x < NEXT(A).x", events, "a1 a3", "a2 a4")


def test_many_events(run):
    # Equal values follow each other by tens: 100 runs of 10 equal values, each 2^10 - 1 trends.
    events = [{"time": time, "type": "A", "x": time // 10} for time in range(1_000)]
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x = NEXT(A).x", events)) == 100 * (2**10 - 1)
    # Strictly rising: of each value one or none.
    rising = count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x", events[:200]))
    assert rising == 11**20 - 1
    # Strictly falling: single events.
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE A.x > NEXT(A).x", events)) == 1_000
