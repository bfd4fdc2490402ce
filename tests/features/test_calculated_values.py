"""Values that a query calculates of events: CASE wherever an expression stands, and expressions in aggregates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import trendweave
from tests.features.intervals.readings import A_AND_B, readings, situations
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


# Expressions inside of aggregates


def test_aggregates_of_expressions(run):
    # (a1) (a2) (a1 a2): each event is in two trends.
    events = stream("a1 a2", x=[3, -4], y=[0.5, 2.0], ok=[True, False])
    query = (
        "RETURN SUM(A.x * A.y) AS product, AVG(CASE WHEN A.ok THEN 1 ELSE 0 END) AS share, MIN(ABS(A.x)) AS least, "
        "MAX(A.x % 2 + A.y) AS most, COUNT(DISTINCT A.x > 0) AS signs, STDDEV(A.x - A.x) AS nothing PATTERN A+"
    )
    assert only(run(query, events)) == {
        "product": -13.0,
        "share": 0.5,
        "least": 3,
        "most": 2.0,
        "signs": 2,
        "nothing": 0.0,
    }


def test_an_aggregate_of_an_expression_is_named_by_its_text(run):
    found = run("RETURN SUM(A.x + 1), COUNT(DISTINCT A.x % 2) PATTERN A", stream("a1 a2", x=[1, 2]))
    assert only(found) == {"SUM(A.x + 1)": 5, "COUNT(DISTINCT A.x % 2)": 2}


def test_null_is_left_out(run):
    events = stream("a1 a2 a3", x=[1, None, 4])
    query = "RETURN SUM(A.x + 1) AS s, AVG(A.x * 2) AS m, SUM(A.x / 0) AS n, SUM(COALESCE(A.x, 10)) AS c PATTERN A"
    assert only(run(query, events)) == {"s": 7, "m": 5.0, "n": None, "c": 15}


def test_of_each_trend(run):
    events = stream("a1 a2 b3", x=[1, 2, 7], s=["p", "q", None])
    query = (
        "RETURN EACH SUM(A.x * 10) AS tens, LAST(UPPER(A.s)) AS last, FIRST(CONCAT(A.s, '!')) AS first, "
        "COUNT(DISTINCT A.x % 2) AS parities PATTERN SEQ(A+, B) WHERE SUM(A.x * A.x) < 5 HAVING MAX(A.x + 1) > 2"
    )
    found = [(row["tens"], row["last"], row["first"], row["parities"]) for row in run(query, events)]
    assert found == [(20, "Q", "q!", 1)]


def test_lists_and_percentiles_of_each_trend(run):
    events = stream("a1 a2 b3", x=[1, 4, 7], s=["p", "q", None])
    query = (
        "RETURN EACH COLLECT_LIST(UPPER(A.s)) AS s, MEDIAN(A.x * 2) AS m, PERCENTILE(-A.x, 0.0) AS least "
        "PATTERN SEQ(A+, B) SEMANTICS contiguous WHERE COUNT(A) = 2"
    )
    assert [(row["s"], row["m"], row["least"]) for row in run(query, events)] == [(["P", "Q"], 5.0, -4.0)]


def test_in_windows_groups_and_sessions(run):
    events = stream("a1 a2 a8", x=[1, 2, 3], k=["u", "u", "v"])
    told = "SUM(A.x * A.x) AS s PATTERN A GROUP-BY k WITHIN"
    assert [(row["time"], row["k"], row["s"]) for row in run(f"RETURN k, {told} 2 seconds", events)] == [
        (1, "u", 1),
        (2, "u", 5),
        (8, "v", 9),
    ]
    assert [row["s"] for row in run(f"RETURN k, {told} SESSION 3 seconds", events)] == [5, 9]
    assert [row["s"] for row in run(f"RETURN k, {told} 4 seconds SLIDE 4 seconds", events)] == [5, 9]


def test_of_an_earlier_event(run):
    events = stream("a1 b2 c3 b4", x=[1, 5, 0, 3])
    assert_trends(
        run,
        "PATTERN SEQ(A, C?, B) WHERE B.x > LAST(A.x * 3) AND B.x < FIRST(CASE WHEN A.x > 0 THEN 6 END)",
        events,
        "a1 b2",
    )


def test_decimals_and_times(run):
    moments = [datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (1, 2)]
    events = table(
        "a1 a2",
        x=pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(10, 2)),
        t=pa.array(moments, pa.timestamp("us", "UTC")),
    )
    query = (
        "RETURN SUM(CASE WHEN A.x > 2 THEN A.x ELSE 0 END) AS s, MIN(-A.x) AS least, MAX(A.t + 5 minutes) AS latest, "
        "MIN(DATE(A.t)) AS day PATTERN A"
    )
    assert only(run(query, events)) == {
        "s": Decimal("2.50"),
        "least": Decimal("-2.50"),
        "latest": moments[1] + timedelta(minutes=5),
        "day": moments[0].date(),
    }


def test_of_situations(run):
    events = readings("-1 a2 a3 -4 b5 -6", x=[1, 2, 3, 4, 5, 6])
    found = run(
        f"{A_AND_B} PATTERN A before B WITHIN 10 seconds "
        "RETURN SUM(A.x * A.x), MAX(CASE WHEN A.x < 3 THEN A.x END) AS most, FIRST(-A.x) AS first, "
        "COUNT(NULLIF(A.x, 2)) AS n",
        events,
    )
    assert [(row["SUM(A.x * A.x)"], row["most"], row["first"], row["n"]) for row in found] == [(13, 2, -2, 1)]


def test_whether_events_lie_in_a_situation(run):
    events = stream("a1 a2 a3", x=[1, 9, 9])
    query = (
        "RETURN SUM(CASE WHEN A DURING High THEN A.x ELSE 0 END) AS s PATTERN A WHERE A DURING High OR A.x = 1 "
        "FROM A DEFINE High AS x > 5"
    )
    assert only(run(query, events)) == {"s": 18}


def test_unknown_columns_inside_of_aggregates(run):
    with pytest.raises(DataError) as caught:
        run("RETURN SUM(A.x * A.z) AS s, SUM(CONCAT(A.s, 'x')) AS t PATTERN A", stream("a1", x=[1], s=["a"]))
    assert codes(caught) == ["TW301", "TW304"]
