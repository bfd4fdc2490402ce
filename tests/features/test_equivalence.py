"""`[company, sector]`: all events of a trend agree; `[P.vehicle]`: those read as P do. NULL agrees with nothing."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.features.runs import assert_trends, codes, count, stream, table
from trendweave.errors import PlanningError

NAN = math.nan


def test_all_events_agree(run):
    events = stream("a1 a2 a3 b4 b5", k=[1, 2, 1, 1, 2])
    assert_trends(run, "PATTERN SEQ(A+, B) WHERE [k]", events, "a1 b4", "a3 b4", "a1 a3 b4", "a2 b5")


def test_several_attributes(run):
    events = stream("a1 a2 a3 a4", k=[1, 1, 2, 1], g=["u", "v", "u", "u"])
    both = ["a1", "a2", "a3", "a4", "a1 a4"]
    assert_trends(run, "PATTERN A+ WHERE [k, g]", events, *both)
    assert_trends(run, "PATTERN A+ WHERE [k] AND [g]", events, *both)


def test_null_is_in_no_trend(run):
    events = stream("a1 a2 a3", k=[None, 1, None])
    assert_trends(run, "PATTERN A+ WHERE [k]", events, "a2")
    assert_trends(run, "PATTERN A+ WHERE [k]", stream("a1 a2", k=[1, 1]), "a1", "a2", "a1 a2")


def test_null_in_one_of_several_attributes(run):
    events = stream("a1 a2 a3", k=[1, 1, 1], g=["u", None, "u"])
    assert_trends(run, "PATTERN A+ WHERE [k, g]", events, "a1", "a3", "a1 a3")


def test_of_one_variable(run):
    # [A.k]: b2 and b4 may have any k, or none.
    events = stream("a1 b2 a3 a4 b5", k=[1, 2, 1, 2, None])
    assert_trends(
        run, "PATTERN SEQ(A+, B) WHERE [A.k]", events, "a1 b2", "a1 b5", "a3 b5", "a4 b5", "a1 a3 b5"
    )  # fmt: skip


def test_null_of_one_variable(run):
    events = stream("a1 b2 a3 b4", k=[1, 2, 1, None])
    assert_trends(run, "PATTERN (SEQ(A, B))+ WHERE [B.k]", events, "a1 b2")
    assert_trends(run, "PATTERN SEQ(A, B*) WHERE [B.k]", events, "a1", "a3", "a1 b2")


def test_of_two_variables_apart(run):
    # [A.k, B.k]: the a's agree, and the b's agree, each with their own.
    events = stream("a1 a2 b3 b4", k=[1, 2, 3, 3])
    assert_trends(
        run, "PATTERN SEQ(A+, B+) WHERE [A.k, B.k]", events,
        "a1 b3", "a1 b4", "a1 b3 b4", "a2 b3", "a2 b4", "a2 b3 b4",
    )  # fmt: skip
    apart = stream("a1 a2 b3 b4", k=[1, 1, 3, 4])
    assert_trends(
        run, "PATTERN SEQ(A+, B+) WHERE [A.k, B.k]", apart,
        "a1 b3", "a1 b4", "a2 b3", "a2 b4", "a1 a2 b3", "a1 a2 b4",
    )  # fmt: skip


def test_of_one_variable_and_of_all(run):
    events = stream("a1 a2 b3", k=[1, 2, 9], g=["u", "u", "u"])
    assert_trends(run, "PATTERN SEQ(A+, B) WHERE [g, A.k]", events, "a1 b3", "a2 b3")


def test_of_one_of_two_variables_of_a_type(run):
    # SEQ(A x+, A y) with [x.k]
    events = stream("a1 a2 a3", k=[1, 2, 3])
    assert_trends(
        run, "PATTERN SEQ(A x+, A y) WHERE [x.k]", events,
        "x1 y2", "x1 y3", "x2 y3", variables={"x": "A", "y": "A"},
    )  # fmt: skip


KEYS = {
    "string": ["u", "v", "u", None],
    "integer": [1, 2, 1, None],
    "boolean": [True, False, True, None],
    "date": [date(2024, 2, 29), date(1, 1, 1), date(2024, 2, 29), None],
    "decimal": [Decimal("1.10"), Decimal("2.00"), Decimal("1.10"), None],
    "binary": [b"u", b"v", b"u", None],
    "float": [1.5, 2.0, 1.5, None],
    "nan": [NAN, 2.0, NAN, None],
    "zeros": [0.0, 2.0, -0.0, None],
    "struct": [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 1, "b": "x"}, None],
}


@pytest.mark.parametrize("equivalence", ["[k]", "[A.k]"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type(run, kind, equivalence):
    # a1 and a3 agree, a2 is alone, a4 is NULL: (a1), (a2), (a3), (a1 a3)
    events = table("a1 a2 a3 a4", k=pa.array(KEYS[kind]))
    assert count(run(f"RETURN COUNT(*) PATTERN A+ WHERE {equivalence}", events)) == 4


def test_a_field_of_a_struct(run):
    events = table("a1 a2 a3", k=pa.array([{"a": 1}, {"a": 2}, {"a": 1}]))
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE [k.a]", events)) == 4


def test_many_partitions(run):
    # 1,000 partitions of 3 events each.
    events = [{"time": time, "type": "A", "k": time % 1_000} for time in range(3_000)]
    assert count(run("RETURN COUNT(*) PATTERN A+ WHERE [k]", events)) == 7_000


def test_in_windows_and_with_edges(run):
    # [0, 4): a0 a1 a2 with k 1 2 1.
    events = stream("a0 a1 a2 a4", k=[1, 2, 1, 1], x=[1, 1, 2, 3])
    found = run("RETURN COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x WITHIN 4 seconds SLIDE 4 seconds", events)
    assert [(row["window_start"], row["count"]) for row in found] == [(0, 4), (4, 1)]


def test_with_skip_till_next_match(run):
    # a1 is followed by b2 of k 1; only b's of k 1 can follow that: b3 is skipped, b4 is not.
    events = stream("a1 b2 b3 b4", k=[0, 1, 2, 1])
    query = "RETURN COUNT(*), COUNT(B) PATTERN SEQ(A, B+) SEMANTICS skip-till-next-match WHERE [B.k]"
    # (a1 b2), (a1 b2 b4)
    found = run(query, events)
    assert [(row["count"], row["count_B"]) for row in found] == [(2, 3)]


def test_with_skip_till_next_match_groups_of_one_variable_are_refused(run):
    with pytest.raises(PlanningError) as refused:
        run("RETURN COUNT(*) PATTERN SEQ(A, B+) SEMANTICS skip-till-next-match GROUP-BY B.k", stream("a1", k=[1]))
    assert codes(refused) == ["TW223"]


def groups(rows):
    return {row["k"]: row["count"] for row in rows}


def test_with_skip_till_next_match_groups_of_what_only_begins(run):
    """None of these events is ever skipped, so that it does not matter which group it has."""
    events = stream("a1 a2 b3 b4 a5", k=[1, 2, 7, 8, None])
    query = "RETURN A.k, COUNT(*) PATTERN {} SEMANTICS skip-till-next-match GROUP-BY A.k"
    assert groups(run(query.format("A"), events)) == {1: 1, 2: 1, None: 1}
    # (a1 b3), (a1 b3 b4) and the same of a2
    assert groups(run(query.format("SEQ(A, B+)"), events)) == {1: 2, 2: 2}
    # (b3), (b4) and (b3 b4) have no A.
    assert groups(run(query.format("SEQ(A?, B+)"), events)) == {1: 2, 2: 2, None: 3}


def test_with_skip_till_next_match_what_could_follow_a_group_is_not_skipped(run):
    # An n lies before a3, so that c5 has to follow it, and b4, which could follow if there were no n, stands between.
    query = """RETURN F.k, COUNT(*) PATTERN SEQ(F, (SEQ(NOT N, A, B) OR SEQ(A, C)))
        SEMANTICS skip-till-next-match GROUP-BY F.k"""
    assert groups(run(query, stream("f1 n2 a3 c5", k=[1, 2, 3, 4]))) == {1: 1}
    assert groups(run(query, stream("f1 n2 a3 b4 c5", k=[1, 2, 3, 4, 5]))) == {}
    assert groups(run(query, stream("f1 f2 a3 b4 c5", k=[1, 2, 3, 4, 5]))) == {1: 1, 2: 1}
