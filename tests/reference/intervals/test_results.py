"""The columns of rows: aggregates, durations, windows, intervals of the user; and the text of queries."""

from __future__ import annotations

import math

import pytest

from .by_hand import define, pattern, timeline
from .query import (
    COUNT_ALL,
    Aggregate,
    Arithmetic,
    Both,
    Column,
    Comparison,
    Constant,
    Constraint,
    Definition,
    IsNull,
    Not,
    PartitionAttribute,
    Previous,
    Query,
    text,
)
from .results import rows, windows_that_hold

LISTING = Query(
    definitions=(
        Definition("A", Comparison(Column("accel"), ">", Constant(8)), at_least=5),
        Definition("B", Comparison(Column("speed"), ">", Constant(70)), 4, 30),
        Definition("C", Comparison(Column("accel"), "<", Constant(-9)), at_least=3),
    ),
    constraints=(
        Constraint("A", ("meets", "overlaps", "starts", "during"), "B"),
        Constraint("B", ("contains", "finished-by", "overlaps", "meets"), "C"),
        Constraint("A", ("before",), "C"),
    ),
    within=300,
    partition_by=("car_id",),
    returns=(Aggregate("FIRST", "B", "car_id", "car"), Aggregate("AVG", "B", "speed", "speed")),
    source="CarSensors",
)


def test_the_text_of_the_aggressive_drivers_query():
    assert text(LISTING) == (
        "FROM CarSensors PARTITION BY car_id\n"
        "DEFINE A AS accel > 8 AT LEAST 5 seconds,\n"
        "       B AS speed > 70 BETWEEN 4 seconds AND 30 seconds,\n"
        "       C AS accel < -9 AT LEAST 3 seconds\n"
        "PATTERN A meets; overlaps; starts; during B\n"
        "    AND B contains; finished-by; overlaps; meets C\n"
        "    AND A before C\n"
        "WITHIN 300 seconds\n"
        "RETURN FIRST(B.car_id) AS car, AVG(B.speed) AS speed"
    )


def test_the_text_of_everything_else():
    condition = Both(
        Not(Comparison(Arithmetic(Column("x"), "-", Previous("x")), ">=", Constant(1.5))), IsNull(Column("s"), True)
    )
    query = Query(
        (Definition("A", condition, at_most=1), Definition("B", Comparison(Column("s"), "=", Constant("it's")))),
        (Constraint("A", ("met-by",), "B"),),
        within=10,
        partition_by=("k", "g"),
        returns=(PartitionAttribute("k"), COUNT_ALL),
        at_end=True,
        every=5,
    )
    assert text(query) == (
        "FROM Readings PARTITION BY k, g\n"
        "DEFINE A AS (NOT ((x - PREV(x)) >= 1.5)) AND (s IS NOT NULL) AT MOST 1 second,\n"
        "       B AS s = 'it''s'\n"
        "PATTERN A met-by B\n"
        "WITHIN 10 seconds\n"
        "DETECT AT END\n"
        "RETURN k, COUNT(*)\n"
        "EVERY 5 seconds"
    )


def test_the_aggressive_driver():
    """A [1, 7), B [5, 16), C [10, 14): certain when B, which must not last too long, has ended. Car 2 never speeds."""
    events = [
        {
            "time": time,
            "car_id": car,
            "accel": 9 if 1 <= time < 7 else -10 if 10 <= time < 14 else 0,
            "speed": 80 + time if 5 <= time < 16 and car == 1 else 50,
        }
        for time in range(20)
        for car in (1, 2)
    ]
    assert rows(LISTING, events) == [
        {
            "time": 16,
            "A_start": 1,
            "A_end": 7,
            "B_start": 5,
            "B_end": 16,
            "C_start": 10,
            "C_end": 14,
            "car": 1,
            "speed": 90.0,
        }
    ]


# ----------------------------------------------------------------------------------------------------------- aggregates


def returned(written: str, aggregates: list[Aggregate], events: list[dict], **clauses: object) -> list[dict]:
    names = {aggregate.column for aggregate in aggregates}
    return [
        {name: value for name, value in row.items() if name in names}
        for row in rows(pattern(written, returns=tuple(aggregates), **clauses), events)
    ]


def test_aggregates_of_what_was_seen_before_the_row():
    """B runs since 3 when the row comes at 5: its events are those of 3 and 4. A is whole: 1 to 4."""
    wanted = [
        Aggregate(function, name, "t")
        for name in "AB"
        for function in ("FIRST", "LAST", "COUNT", "SUM", "AVG", "MIN", "MAX")
    ]
    wanted += [Aggregate("COUNT", "A"), Aggregate("COUNT", "B"), Aggregate("DURATION", "A"), Aggregate("DURATION", "B")]
    line = timeline("A 1-5, B 3-8")
    assert [list(row.values()) for row in returned("A overlaps B", wanted, line)] == [
        [1, 4, 4, 10, 2.5, 1, 4, 3, 4, 2, 7, 3.5, 3, 4, 4, 2, 4, 2]
    ]
    assert [list(row.values()) for row in returned("A overlaps B", wanted, line, at_end=True)] == [
        [1, 4, 4, 10, 2.5, 1, 4, 3, 7, 5, 25, 5.0, 3, 7, 4, 5, 4, 5]
    ]


def test_a_situation_that_begins_with_the_row_has_no_events_yet():
    wanted = [
        Aggregate("FIRST", "B", "t"),
        Aggregate("COUNT", "B"),
        Aggregate("SUM", "B", "t"),
        Aggregate("DURATION", "B"),
    ]
    assert returned("A meets B", wanted, timeline("A 1-3, B 3-8")) == [
        {"first_B_t": None, "count_B": 0, "sum_B_t": None, "duration_B": 0}
    ]


def test_null_nan_and_ties_in_aggregates():
    events = timeline("A 0-4, B 5-6")
    for event, value in zip(events, [None, 2.0, math.nan, None, 7.0, 7.0, 7.0], strict=True):
        event["y"] = value
    wanted = [Aggregate(f, "A", "y") for f in ("FIRST", "LAST", "COUNT", "MIN", "MAX")]
    (row,) = returned("A before B", wanted, events)
    assert [row["first_A_y"], row["last_A_y"], row["count_A_y"], row["min_A_y"]] == [None, None, 2, 2.0]
    assert math.isnan(row["max_A_y"])
    # Of events of one time, the smallest value is the first and the largest the last.
    events.append({**events[0], "y": 5.0})
    events.append({**events[0], "y": 4.0})
    events.append({**events[3], "y": 1.0})
    events.append({**events[3], "y": 3.0})
    (row,) = returned("A before B", wanted[:3], events)
    assert row == {"first_A_y": 4.0, "last_A_y": 3.0, "count_A_y": 6}


def test_partition_attributes():
    events = [{**event, "k": key} for key in (1, None) for event in timeline("A 1-3, B 3-8")]
    query = pattern("A meets B", partition_by=("k",), returns=(PartitionAttribute("k", "key"),))
    first, second = rows(query, events)
    assert list(first) == ["time", "A_start", "A_end", "B_start", "B_end", "key"]
    assert (first["key"], second["key"]) == (1, None)


# -------------------------------------------------------------------------------------------------------------- windows


def test_the_windows_that_hold_a_match():
    assert windows_that_hold(3, 7, within=10, slide=5) == [0]
    assert windows_that_hold(5, 7, within=10, slide=5) == [0, 5]
    assert windows_that_hold(5, 10, within=10, slide=5) == [5]
    assert windows_that_hold(-1, 1, within=4, slide=1) == [-2, -1]
    assert windows_that_hold(0, 10, within=10, slide=5) == []


def test_matches_per_window():
    query = pattern("A before B", within=10, every=5, returns=(COUNT_ALL,))
    line = timeline("A 0-1, A 2-3, B 4-5, B 6-9, A 11-12, B 13-14")
    # (0, 4), (2, 4), (0, 6), (2, 6) and (11, 13); the other pairs are longer than 10.
    assert sorted(rows(query, line), key=lambda row: row["window_start"]) == [
        {"window_start": -5, "window_end": 5, "count": 2},
        {"window_start": 0, "window_end": 10, "count": 4},
        {"window_start": 5, "window_end": 15, "count": 1},
        {"window_start": 10, "window_end": 20, "count": 1},
    ]


def test_matches_per_window_and_partition():
    events = [
        {**event, "k": key, "g": g} for key, g in ((1, "u"), (1, "v"), (2, "u")) for event in timeline("A 1-3, B 3-8")
    ]
    clauses = {"partition_by": ("k", "g"), "within": 10, "every": 10}
    query = pattern("A meets B", returns=(PartitionAttribute("k"), COUNT_ALL), **clauses)
    assert rows(query, events) == [
        {"window_start": 0, "window_end": 10, "k": 1, "count": 2},
        {"window_start": 0, "window_end": 10, "k": 2, "count": 1},
    ]
    assert rows(pattern("A meets B", returns=(COUNT_ALL,), **clauses), events) == [
        {"window_start": 0, "window_end": 10, "count": 3}
    ]


# ------------------------------------------------------------------------------------------------------- from intervals


def test_intervals_of_the_user_match_as_situations_do():
    query = Query(
        (Definition("A"), Definition("B")),
        (Constraint("A", ("overlaps", "starts"), "B"),),
        returns=(Aggregate("DURATION", "B"),),
        from_intervals=True,
    )
    given = [
        {"name": "A", "start": 1, "end": 5},
        {"name": "B", "start": 3, "end": 8},
        {"name": "A", "start": 10, "end": 12},
        {"name": "B", "start": 10, "end": None},
    ]
    assert text(query) == "FROM INTERVALS\nPATTERN A overlaps; starts B\nRETURN DURATION(B)"
    assert [list(row.values()) for row in rows(query, given)] == [[5, 1, 5, 3, None, 2], [12, 10, 12, 10, None, 2]]


# -------------------------------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: pattern("A before A"),
        lambda: Query((define("A"), define("A"))),
        lambda: Query((define("A"),), (Constraint("A", ("before",), "B"),)),
        lambda: pattern("A before B", returns=(COUNT_ALL,)),
        lambda: pattern("A before B", returns=(PartitionAttribute("k"),)),
        lambda: pattern("A before B", returns=(Aggregate("SUM", "A"),)),
        lambda: pattern("A before B", returns=(Aggregate("SUM", "A", "x"), Aggregate("SUM", "A", "x"))),
        lambda: pattern("A before B", within=5, every=6, returns=(COUNT_ALL,)),
    ],
)
def test_no_such_query(wrong):
    with pytest.raises(AssertionError):
        wrong()
