"""STDDEV, COUNT(DISTINCT ...), calculations, HAVING, ORDER BY and LIMIT, worked out by hand."""

from __future__ import annotations

import math

import pytest

from .by_hand import A, B, stream
from .comparer import assert_same_rows
from .pattern import plus, seq, star
from .query import (
    COUNT_ALL,
    LENGTH,
    Aggregate,
    Arithmetic,
    Attribute,
    Calculated,
    Constant,
    Having,
    Order,
    Query,
    Sliding,
    output_text,
    text,
)
from .ranking import assert_first_rows, assert_in_order
from .results import ranked_rows, rows
from .trend_rows import each_rows, ranked_each_rows

BASE = {"window_start": None, "window_end": None}
GROUP = Attribute("g")
SUM, MAX = Aggregate("SUM", "A", "x"), Aggregate("MAX", "A", "x")


def outputs(pattern, events, *wanted, **clauses) -> list[dict]:
    return [
        {name: row[name] for name in row if name not in BASE} for row in rows(Query(pattern, wanted, **clauses), events)
    ]


def test_standard_deviation_is_over_all_occurrences():
    deviation = Aggregate("STDDEV", "A", "x")
    # Of (a1), (a2), (a1 a2): 1, 3, 1, 3. The mean is 2, the variance 4 / 3.
    (row,) = outputs(plus(A), stream("a1 a2", x=[1, 3]), deviation)
    assert math.isclose(row["stddev_A_x"], math.sqrt(4 / 3))
    assert outputs(A, stream("a1", x=[1]), deviation) == [{"stddev_A_x": None}]
    assert outputs(A, stream("a1 a2", x=[1, None]), deviation) == [{"stddev_A_x": None}]
    assert outputs(plus(A), stream("a1 a2", x=[5, None]), deviation) == [{"stddev_A_x": 0.0}]
    (row,) = outputs(A, stream("a1 a2", x=[1.0, math.nan]), deviation)
    assert math.isnan(row["stddev_A_x"])


def test_distinct_values_of_events_that_are_in_a_trend():
    # a4 is in no trend, a1 in many; NULL is no value, NaN is one.
    different = Aggregate("COUNT", "A", "x", "n", distinct=True)
    events = stream("a1 a1 a2 b3 a4", x=[1, 1, 2, 9, 7])
    assert outputs(seq(plus(A), B), events, different) == [{"n": 2}]
    assert outputs(A, stream("a1 a2 a3", x=[None, math.nan, float("nan")]), different) == [{"n": 1}]
    assert outputs(A, stream("a1", x=[None]), different) == [{"n": 0}]


def test_distinct_values_inside_a_trend():
    different = Aggregate("COUNT", "A", "x", "n", distinct=True)
    found = each_rows(Query(plus(A)), stream("a1 a2 a3", x=[1, 1, 2]), (different, Aggregate(LENGTH, name="of")))
    assert sorted((row["of"], row["n"]) for row in found) == [(1, 1), (1, 1), (1, 1), (2, 1), (2, 2), (2, 2), (3, 2)]


def test_calculations():
    mean = Calculated(Arithmetic(SUM, "/", COUNT_ALL), "mean")
    assert outputs(plus(A), stream("a1 a2", x=[1, 3]), mean) == [{"mean": 8 / 3}]
    by_zero = Calculated(Arithmetic(SUM, "/", Aggregate("COUNT", "B")), "quotient")
    assert outputs(seq(A, star(B)), stream("a1", x=[1]), by_zero) == [{"quotient": None}]
    spread = Calculated(Arithmetic(Aggregate("LAST", "A", "x"), "-", Aggregate("FIRST", "A", "x")), "spread")
    found = each_rows(Query(plus(A)), stream("a1 a2", x=[1, 3]), (spread,))
    assert sorted(row["spread"] for row in found) == [0, 0, 2]


def test_having():
    events = stream("a1 a2 a3", x=[1, 2, 4], g=["u", "u", "v"])
    many = Having(COUNT_ALL, ">", Constant(1))
    assert outputs(plus(A), events, SUM, group_by=(GROUP,), having=(many,)) == [{"g": "u", "sum_A_x": 6}]
    # NULL is not true.
    unknown = Having(Aggregate("SUM", "A", "y"), "<", Constant(9))
    assert outputs(plus(A), stream("a1", y=[None]), COUNT_ALL, having=(unknown,)) == []


EVENTS = stream("a1 a2 a3 a4", x=[5, 3, 5, None], g=["u", "v", "w", None])


def ranked(*order: Order, limit: int | None = None):
    return ranked_rows(Query(A, (MAX,), group_by=(GROUP,), order_by=order, limit=limit), EVENTS)


def row(group: str | None, largest: int | None) -> dict:
    return BASE | {"g": group, "max_A_x": largest}


def test_order_by():
    upwards = sorted(ranked(Order(MAX), Order(GROUP)), key=lambda one: one.rank)
    assert [one.row["g"] for one in upwards] == [None, "v", "u", "w"]
    downwards = sorted(ranked(Order(MAX, descending=True), Order(GROUP)), key=lambda one: one.rank)
    assert [one.row["g"] for one in downwards] == ["u", "w", "v", None]


def test_of_rows_that_are_equal_in_order_by_any_may_be_shown():
    largest_first = ranked(Order(MAX, descending=True))
    for shown in ([row("u", 5)], [row("w", 5)]):
        assert_first_rows(largest_first, shown, 1)
    for wrong in ([row("v", 3)], [], [row("u", 5), row("w", 5)], [row("u", 6)]):
        with pytest.raises(AssertionError):
            assert_first_rows(largest_first, wrong, 1)
    assert_first_rows(largest_first, [row("v", 3), row("w", 5), row("u", 5)], 3)
    with pytest.raises(AssertionError):
        assert_first_rows(largest_first, [row("u", 5), row("w", 5), row(None, None)], 3)


def test_rows_stand_in_order():
    largest_first = ranked(Order(MAX, descending=True))
    assert_in_order(largest_first, [row("w", 5), row("u", 5), row("v", 3), row(None, None)])
    with pytest.raises(AssertionError, match="not in order"):
        assert_in_order(largest_first, [row("w", 5), row("v", 3), row("u", 5)])


def test_limits_are_per_window():
    query = Query(A, (MAX,), group_by=(GROUP,), window=Sliding(2, 2), order_by=(Order(MAX),), limit=1)
    found = ranked_rows(query, EVENTS)
    first = {"window_start": 0, "window_end": 2, "g": "u", "max_A_x": 5}
    second = {"window_start": 2, "window_end": 4, "g": "v", "max_A_x": 3}
    third = {"window_start": 4, "window_end": 6, "g": None, "max_A_x": None}
    assert_same_rows([first, second, third], [one for one in rows(query, EVENTS) if one["g"] != "w"])
    assert_first_rows(found, [first, second, third], 1)


def test_limits_of_lists_are_per_window_and_group():
    length = Aggregate(LENGTH, name="n")
    query = Query(plus(A), group_by=(GROUP,), order_by=(Order(Aggregate(LENGTH), True),), limit=1)
    found = ranked_each_rows(query, stream("a1 a2 a3", g=["u", "u", "v"]), (length,))
    assert_first_rows(found, [BASE | {"g": "u", "n": 2}, BASE | {"g": "v", "n": 1}], 1)


def test_query_text():
    query = Query(
        plus(A),
        (Calculated(Arithmetic(SUM, "/", COUNT_ALL), "mean"), Aggregate("COUNT", "A", "x", "n", distinct=True)),
        group_by=(GROUP, Attribute("k", "A")),
        having=(Having(COUNT_ALL, ">", Constant(1)), Having(Arithmetic(MAX, "+", Constant(1)), "<", SUM)),
        order_by=(Order(COUNT_ALL, True), Order(Attribute("k", "A"))),
        limit=2,
    )
    assert text(query).splitlines() == [
        "RETURN g, A.k, SUM(A.x) / COUNT(*) AS mean, COUNT(DISTINCT A.x) AS n",
        "PATTERN A+",
        "GROUP-BY g, A.k",
        "HAVING COUNT(*) > 1 AND MAX(A.x) + 1 < SUM(A.x)",
        "ORDER BY COUNT(*) DESC, A.k",
        "LIMIT 2",
    ]


def test_events_by_number_lists_and_percentiles_of_one_trend():
    # (a1), (a2), (b3) stand for themselves; of the second event, the last but one, all values, each value once.
    wanted = (
        Aggregate("NTH", "A", "x", "second", parameter=2),
        Aggregate("NTH", "A", "x", "before", parameter=-3),
        Aggregate("COLLECT_LIST", "A", "x", "all"),
        Aggregate("COLLECT_SET", "A", "x", "once"),
        Aggregate("MEDIAN", "A", "x", "median"),
        Aggregate("PERCENTILE", "A", "x", "low", parameter=0.25),
        Aggregate("COLLECT_LIST", "B", "x", "none"),
        Aggregate("MEDIAN", "B", "x", "nothing"),
    )
    query = Query(seq(*[A] * 4, star(B)))
    (row,) = each_rows(query, stream("a1 a2 a3 a4", x=[4, None, 1, 4]), wanted)
    expected = {"second": None, "before": None, "all": [4, 1, 4], "once": [4, 1], "median": 4.0, "low": 2.5}
    assert row == BASE | expected | {"none": [], "nothing": None}
    (row,) = each_rows(Query(seq(A, A)), stream("a1 a2", x=[math.nan, 2.0]), wanted[3:5])
    assert math.isnan(row["median"])
    assert row["once"][1] == 2.0
    assert "A[2].x AS second, A[-3].x AS before" in ", ".join(map(output_text, wanted))
