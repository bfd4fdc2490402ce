"""Values that a query calculates of events: CASE wherever an expression stands."""

from __future__ import annotations

import pytest

import trendweave
from tests.features.intervals.readings import readings, situations
from tests.features.runs import assert_trends, codes, only, stream, table
from trendweave.errors import DataError

# CASE


def test_case_between_neighbours(run):
    # Up to 2 any step is allowed, above that only upward ones.
    events = stream("a1 a2 a3 a4", x=[2, 1, 5, 4])
    condition = "CASE WHEN A.x <= 2 THEN TRUE ELSE NEXT(A).x > A.x END"
    assert_trends(
        run,
        f"PATTERN A+ WHERE {condition}",
        events,
        *("a1", "a2", "a3", "a4", "a1 a2", "a1 a3", "a1 a4", "a2 a3", "a2 a4", "a1 a2 a3", "a1 a2 a4"),
    )


def test_case_of_an_earlier_event(run):
    # The limit depends on the latest b before: 10 after a b of kind 1, else 3.
    events = stream("b1 c2 a3 b4 c5 a6", x=[1, 0, 7, 2, 0, 7])
    assert_trends(
        run,
        "PATTERN SEQ(B, C, A) WHERE A.x < CASE B.x WHEN 1 THEN 10 ELSE 3 END",
        events,
        *("b1 c2 a3", "b1 c2 a6", "b1 c5 a6"),
    )


def test_case_of_a_whole_match(run):
    events = stream("a1 a2 b3", x=[1, 5, 0])
    condition = "CASE WHEN COUNT(A) > 1 THEN SUM(A.x) > 5 ELSE MAX(A.x) < 5 END"
    found = run(f"RETURN EACH COUNT(A) AS n, SUM(A.x) AS total PATTERN SEQ(A+, B) WHERE {condition}", events)
    assert sorted((row["n"], row["total"]) for row in found) == [(1, 1), (2, 6)]


def test_case_of_results(run):
    events = stream("a1 a2 b3", x=[1, 2, 10])
    query = (
        "RETURN CASE WHEN COUNT(*) > 2 THEN SUM(A.x) ELSE 0 END AS many, CASE SUM(A.x) WHEN 1 THEN 1 END AS none, "
        "CASE WHEN MAX(A.x) < MIN(B.x) THEN 'below' ELSE 'above' END AS side PATTERN SEQ(A+, B) "
        "HAVING CASE WHEN COUNT(*) > 100 THEN FALSE ELSE TRUE END"
    )
    assert only(run(query, events)) == {"many": 6, "none": None, "side": "below"}


def test_case_of_each_trend(run):
    events = stream("a1 a2", x=[1, 2])
    found = run("RETURN EACH CASE WHEN A.x > 1 THEN 'high' ELSE 'low' END AS level, LENGTH AS n PATTERN A+", events)
    assert sorted((row["level"], row["n"]) for row in found) == [("high", 1), ("high", 2), ("low", 1)]


def test_case_in_a_situation(run):
    # More than 5, and more than 8 where the value before was above 5.
    events = readings("-1 -2 -3 -4 -5", x=[1, 6, 7, 9, 1])
    found = run("FROM R DEFINE A AS x > CASE WHEN PREV(x) > 5 THEN 8 ELSE 5 END RETURN SITUATIONS", events)
    assert situations(found) == ["A2-3", "A4-5"]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("CASE WHEN A.x THEN 1 ELSE 2 END = 1", "TW306"),
        ("CASE WHEN A.x > 1 THEN 'a' ELSE 2 END = 1", "TW305"),
        ("CASE WHEN A.x > 1 THEN NULL WHEN A.x > 0 THEN 1 ELSE 'b' END = 1", "TW305"),
        ("CASE WHEN A.x > 1 THEN 1 ELSE 2 END", "TW306"),
    ],
)
def test_branches_of_different_kinds_are_refused(condition, told):
    query = trendweave.query(f"RETURN COUNT(*) PATTERN A WHERE {condition}")
    with pytest.raises(DataError) as caught:
        query.check(table("a1", x=[1]).schema)
    assert codes(caught) == [told]
