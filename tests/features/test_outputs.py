"""What RETURN computes of aggregates, which rows HAVING leaves, and in which order they come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import only, stream, table
from tests.reference.comparer import assert_same_rows
from trendweave.errors import ExecutionError, PlanningError

WHOLE = {"window_start": None, "window_end": None}


# Arithmetic


def test_arithmetic_of_aggregates(run):
    # (a1) (a2) (a1 a2) and b3 behind each: 3 trends, a's sum over trends is 1 + 2 + 3.
    events = stream("a1 a2 b3", x=[1, 2, 10])
    query = "RETURN SUM(A.x) / COUNT(*) AS mean, COUNT(*) + 1 AS more, -COUNT(A) AS minus, COUNT(*) PATTERN SEQ(A+, B)"
    assert only(run(query, events)) == {"mean": 2.0, "more": 4, "minus": -4, "count": 3}


def test_an_expression_is_named_by_its_text(run):
    assert list(only(run("RETURN SUM(A.x) / COUNT(*) PATTERN A+", stream("a1 a2", x=[1, 2])))) == [
        "SUM(A.x) / COUNT(*)"
    ]


def test_division_by_zero_is_null(run):
    assert only(run("RETURN 1 / SUM(A.x) AS x, SUM(A.x) % 0 AS y PATTERN A", stream("a1", x=[0]))) == {
        "x": None,
        "y": None,
    }


def test_whole_numbers_stay_exact(run):
    # 2^70 - 1 trends.
    events = stream(" ".join(f"a{second}" for second in range(1, 71)))
    found = only(run("RETURN COUNT(*) + 1 AS n, COUNT(*) * 2 AS twice, COUNT(*) % 10 AS last PATTERN A+", events))
    assert found == {"n": 2**70, "twice": 2**71 - 2, "last": (2**70 - 1) % 10}


def test_what_has_more_than_38_digits_is_null(run):
    events = stream(" ".join(f"a{second}" for second in range(1, 71)))
    assert only(run("RETURN COUNT(*) * COUNT(*) AS n PATTERN A+", events)) == {"n": None}


@pytest.mark.parametrize(
    ("numbers", "expected"), [("decimal", pa.decimal128(38, 0)), ("int64", pa.int64()), ("float64", pa.float64())]
)
def test_types_of_computed_columns(run, numbers, expected):
    query = trendweave.query("RETURN COUNT(*) + 1 AS more, SUM(A.x) / COUNT(*) AS mean PATTERN A+")
    events = table("a1 a2", x=[1, 2])
    schema = query.schema(events, numbers=numbers)
    assert schema.field("more").type == expected
    assert schema.field("mean").type == pa.float64()
    assert only(run(str(query), events, numbers=numbers)) == {"more": 4, "mean": 2.0}


def test_decimals_with_digits_after_the_point(run):
    events = table("a1 a2", x=pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(10, 2)))
    found = only(
        run("RETURN SUM(A.x) + 1 AS more, ROUND(SUM(A.x), 1) AS rounded, SUM(A.x) * 2 AS twice PATTERN A", events)
    )
    assert found == {"more": Decimal("4.75"), "rounded": Decimal("3.8"), "twice": 7.5}


def test_group_attributes_in_expressions(run):
    events = stream("a1 a2", g=["u", "v"], x=[1, 2])
    assert_same_rows(
        [WHOLE | {"g": "u", "name": "<u>", "n": 2}, WHOLE | {"g": "v", "name": "<v>", "n": 3}],
        run("RETURN CONCAT('<', g, '>') AS name, SUM(A.x) + 1 AS n PATTERN A+ GROUP-BY g", events),
    )


def test_expressions_of_each_trend(run):
    events = stream("a1 a3 b6", x=[1, 2, 10])
    query = "RETURN EACH LAST(B.x) - SUM(A.x) AS rest, LAST(B.time) - FIRST(A.time) AS took PATTERN SEQ(A+, B)"
    assert_same_rows(
        [WHOLE | {"rest": 9, "took": 5}, WHOLE | {"rest": 8, "took": 3}, WHOLE | {"rest": 7, "took": 5}],
        run(query, events),
    )


def test_moments_and_lengths_of_each_trend(run):
    start = datetime(2024, 5, 16, 13, 45, tzinfo=UTC)
    times = pa.array([start, start + timedelta(seconds=90)], pa.timestamp("us", "UTC"))
    events = pa.table({"time": times, "type": ["A", "B"]})
    query = (
        "RETURN EACH LAST(B.time) - FIRST(A.time) AS took, DATE_TRUNC('hour', FIRST(A.time)) AS hour, "
        "HOUR(LAST(B.time)) AS h PATTERN SEQ(A, B) WITHIN 1 hour SLIDE 1 hour"
    )
    (row,) = run(query, events)
    assert (row["took"], row["h"]) == (timedelta(seconds=90), 13)
    assert row["hour"].astimezone(UTC) == datetime(2024, 5, 16, 13, tzinfo=UTC)


@pytest.mark.parametrize("numbers", ["text", "log2"])
def test_numbers_that_nobody_can_compute_with(run, numbers):
    with pytest.raises(ExecutionError, match='ask for numbers="decimal" or "float64"'):
        run("RETURN COUNT(*) + 1 AS n PATTERN A", stream("a1"), numbers=numbers)


# HAVING


def test_having_by_alias_and_by_expression(run):
    events = stream("a1 a2 a3", g=["u", "u", "v"], x=[1, 2, 9])
    for condition in ("mean < 5", "SUM(A.x) / COUNT(*) < 5", "COUNT(*) > 1", "g = 'u' AND MAX(A.x) < 9"):
        assert_same_rows(
            [WHOLE | {"g": "u", "mean": 2.0}],
            run(f"RETURN SUM(A.x) / COUNT(*) AS mean PATTERN A+ GROUP-BY g HAVING {condition}", events),
        )


def test_what_having_alone_needs_is_not_shown(run):
    events = stream("a1 a2 a3", g=["u", "u", "v"], x=[1, 2, 9])
    found = run("RETURN COUNT(*) PATTERN A+ GROUP-BY g HAVING SUM(A.x) > 8", events)
    assert_same_rows([WHOLE | {"g": "v", "count": 1}], found)


def test_having_counts_groups_as_a_whole(run):
    # Keys k are spread over tasks; each of them alone has too few.
    events = stream("a1 a2 a3 a4", g=["u"] * 4, k=[1, 2, 3, 4])
    query = "RETURN g, COUNT(*) PATTERN A WHERE [k] GROUP-BY g WITHIN 10 s SLIDE 10 s HAVING COUNT(*) >= 4"
    assert_same_rows([{"window_start": 0, "window_end": 10, "g": "u", "count": 4}], run(query, events))


def test_null_is_not_true(run):
    events = table("a1", x=pa.array([None], pa.int64()))
    assert run("RETURN COUNT(*) PATTERN A HAVING SUM(A.x) > 0", events) == []


def test_having_of_each_trend(run):
    events = stream("a1 a2 b3", x=[1, 2, 10])
    assert_same_rows(
        [WHOLE | {"n": 2}], run("RETURN EACH COUNT(A) AS n PATTERN SEQ(A+, B) HAVING n > 1 AND FIRST(A.x) = 1", events)
    )


# ORDER BY and LIMIT


def test_the_first_rows_of_each_window(run):
    written = "a1 a2 a3 a4 a11 a12 a13"
    events = stream(written, g=["u", "u", "v", "w", "u", "v", "v"])
    query = "RETURN COUNT(*) PATTERN A+ GROUP-BY g WITHIN 10 s SLIDE 10 s ORDER BY COUNT(*) DESC LIMIT 1"
    assert_same_rows(
        [
            {"window_start": 0, "window_end": 10, "g": "u", "count": 3},
            {"window_start": 10, "window_end": 20, "g": "v", "count": 3},
        ],
        run(query, events),
    )


def test_rows_that_are_equal_come_in_the_order_of_their_groups(run):
    events = stream("a1 a2 a3", g=["w", "v", "u"])
    query = "RETURN COUNT(*) PATTERN A+ GROUP-BY g ORDER BY count LIMIT 2"
    assert_same_rows([WHOLE | {"g": "u", "count": 1}, WHOLE | {"g": "v", "count": 1}], run(query, events))


def test_null_is_first_and_nan_is_last(run):
    events = table("a1 a2 a3 a4", g=["u", "v", "w", "x"], x=pa.array([1.0, None, float("nan"), -1.0]))
    query = "RETURN MAX(A.x) AS m PATTERN A GROUP-BY g ORDER BY m {} LIMIT 2"
    assert {row["g"] for row in run(query.format(""), events)} == {"v", "x"}
    assert {row["g"] for row in run(query.format("DESC"), events)} == {"w", "u"}


def test_order_of_groups_that_span_keys(run):
    events = stream("a1 a2 a3 a4 a5", g=["u", "u", "u", "v", "v"], k=[1, 2, 3, 1, 1])
    query = "RETURN COUNT(*) PATTERN A+ WHERE [k] GROUP-BY g ORDER BY COUNT(*) DESC, g DESC LIMIT 1"
    assert_same_rows([WHOLE | {"g": "v", "count": 3}], run(query, events))


def test_the_first_rows_at_each_time_of_a_moving_window(run):
    events = stream("a1 a1 a2 a3", g=["u", "v", "v", "v"])
    query = "RETURN COUNT(*) PATTERN A+ GROUP-BY g WITHIN 10 s ORDER BY g DESC LIMIT 1"
    assert_same_rows(
        [{"time": 1, "g": "v", "count": 1}, {"time": 2, "g": "v", "count": 3}, {"time": 3, "g": "v", "count": 7}],
        run(query, events),
    )


def test_the_first_trends_of_each_window_and_group(run):
    events = stream("a1 a2 a3 a4", g=["u", "u", "v", "v"], x=[5, 1, 2, 9])
    query = "RETURN EACH SUM(A.x) AS s PATTERN A+ GROUP-BY g WITHIN 10 s SLIDE 10 s ORDER BY s DESC LIMIT 2"
    window = {"window_start": 0, "window_end": 10}
    assert_same_rows(
        [
            window | {"g": "u", "s": 6},
            window | {"g": "u", "s": 5},
            window | {"g": "v", "s": 11},
            window | {"g": "v", "s": 9},
        ],
        run(query, events),
    )


def test_trends_are_ordered_by_what_is_not_shown(run):
    events = stream("a1 a2 a3", x=[5, 1, 2])
    query = "RETURN EACH COUNT(A) AS n PATTERN A+ HAVING COUNT(A) < 3 ORDER BY LAST(A.x), FIRST(A.time) LIMIT 2"
    assert_same_rows([WHOLE | {"n": 2}, WHOLE | {"n": 1}], run(query, events))


def test_local_rows_come_in_this_order():
    query = trendweave.query("RETURN COUNT(*) AS n PATTERN A+ GROUP-BY g WITHIN 10 s SLIDE 10 s ORDER BY n DESC")
    found = query.run(table("a1 a2 a3 a11 a12 a13", g=["u", "v", "v", "w", "w", "u"]))
    assert found.select(["window_start", "g"]).to_pydict() == {
        "window_start": [0, 0, 10, 10],
        "g": ["v", "u", "w", "u"],
    }


# What is refused


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("RETURN COUNT(*) PATTERN A LIMIT 5", "TW224"),
        ("RETURN EACH COUNT(A) PATTERN A+ ORDER BY COUNT(A) LONGEST 5", "TW224"),
        ("RETURN TRENDS PATTERN A HAVING COUNT(A) > 1", "TW262"),
        ("RETURN TRENDS PATTERN A ORDER BY A.time LIMIT 2", "TW262"),
        ("RETURN COUNT(*) + g AS x PATTERN A", "TW215"),
        ("RETURN COUNT(*) PATTERN A HAVING total > 1", "TW215"),
        ("RETURN EACH COUNT(*) + 1 AS x PATTERN A", "TW213"),
        ("RETURN COUNT(*) + SUM(Z.x) AS x PATTERN A", "TW201"),
        ("RETURN COUNT(*) AS x, COUNT(*) + 1 AS x PATTERN A", "TW214"),
    ],
)
def test_refused_queries(query, code):
    with pytest.raises(PlanningError) as caught:
        trendweave.query(query)
    assert code in [problem.code for problem in caught.value.problems]


# STDDEV and distinct values


def test_standard_deviation_over_all_occurrences(run):
    # Of (a1), (a2), (a1 a2): 1, 3, 1, 3.
    found = only(run("RETURN STDDEV(A.x) AS s, VARIANCE(A.x) AS v PATTERN A+", stream("a1 a2", x=[1, 3])))
    assert found == pytest.approx({"s": (4 / 3) ** 0.5, "v": 4 / 3})
    assert only(run("RETURN STDDEV(A.x) AS s PATTERN A", stream("a1", x=[1]))) == {"s": None}


def test_values_that_are_large_and_close_together(run):
    events = stream("a1 a2 a3", x=[10**15 + 1, 10**15 + 2, 10**15 + 3], y=[1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75])
    found = only(run("RETURN STDDEV(A.x) AS x, STDDEV(A.y) AS y PATTERN A", events))
    assert found == pytest.approx({"x": 1.0, "y": 0.25})


def test_standard_deviation_of_keys_that_are_merged(run):
    events = stream("a1 a2 a3 a4", g=["u"] * 4, k=[1, 1, 2, 3], x=[1, 3, 10, 2])
    (row,) = run("RETURN STDDEV(A.x) AS s, COUNT(DISTINCT A.x) AS n PATTERN A WHERE [k] GROUP-BY g", events)
    assert (row["s"], row["n"]) == (pytest.approx(4.0824829046), 4)


def test_distinct_values_of_events_that_are_in_a_trend(run):
    # a4 is behind the last b, a1 stands twice.
    events = stream("a1 a1 a2 b3 a4", x=[1, 1, 2, 9, 7])
    assert only(run("RETURN COUNT(DISTINCT A.x) AS n, COUNT(*) PATTERN SEQ(A+, B)", events)) == {"n": 2, "count": 5}


def test_distinct_values_of_keys_that_are_merged(run):
    events = stream("a1 a2 a3 a4", g=["u", "u", "u", "v"], k=[1, 2, 3, 1], s=["p", "q", "p", "p"])
    query = (
        "RETURN COUNT(DISTINCT A.s) AS n PATTERN A WHERE [k] GROUP-BY g WITHIN 10 s SLIDE 10 s ORDER BY n DESC LIMIT 1"
    )
    assert_same_rows([{"window_start": 0, "window_end": 10, "g": "u", "n": 2}], run(query, events))


def test_distinct_values_under_a_condition_on_an_earlier_event(run):
    query = "RETURN COUNT(DISTINCT A.s) AS n, COUNT(*) PATTERN SEQ(A, B+, C) WHERE A.x < C.x"
    events = table("a1 a2 b3 c4", x=[1, 3, 0, 2], s=["u", "v", None, None])
    assert only(run(query, events)) == {"n": 1, "count": 1}
    assert run(query, events.slice(0, 0)) == []


def test_distinct_values_of_windows(run):
    events = stream("a1 a2 a3 a4", x=[5, 4, 5, 1])
    query = "RETURN COUNT(DISTINCT A.x) AS n PATTERN A{2,} WHERE A.x > NEXT(A).x WITHIN 3 s SLIDE 1 s"
    assert {row["window_start"]: row["n"] for row in run(query, events)} == {0: 2, 1: 2, 2: 3, 3: 2}


def test_distinct_values_and_deviation_inside_a_trend(run):
    events = stream("a1 a2 a3 b4", x=[1, 1, 4, 0])
    query = "RETURN EACH COUNT(DISTINCT A.x) AS n, STDDEV(A.x) AS s PATTERN SEQ(A+, B) HAVING COUNT(A) = 3"
    (row,) = run(query, events)
    assert (row["n"], row["s"]) == (2, pytest.approx(3**0.5))


def test_distinct_values_of_complete_trends(run):
    events = stream("a1 a2 a3 b4", x=[1, 1, 4, 0])
    query = "RETURN COMPLETE COUNT(DISTINCT A.x) AS n, STDDEV(A.x) AS s, AVG(LENGTH) AS length PATTERN SEQ(A+, B)"
    assert only(run(query, events)) == {"n": 2, "s": pytest.approx(3**0.5), "length": 4.0}


def test_lengths_in_expressions(run):
    events = stream("a1 a2 a3", x=[1, 1, 4])
    query = "RETURN EACH LENGTH * 2 AS n PATTERN A+ SEMANTICS contiguous ORDER BY LENGTH DESC LIMIT 2"
    assert_same_rows([WHOLE | {"n": 6}, WHOLE | {"n": 4}], run(query, events))
