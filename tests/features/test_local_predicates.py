"""`S.volume > 100`: which events can be read as a variable."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.features.runs import assert_trends, count, only, stream, table

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("A.x > 2", "a3 a4"),
        ("A.x >= 2", "a2 a3 a4"),
        ("A.x < 2", "a1"),
        ("A.x <= 2", "a1 a2"),
        ("A.x = 2", "a2"),
        ("A.x != 2", "a1 a3 a4"),
        ("A.x <> 2", "a1 a3 a4"),
        ("2 < A.x", "a3 a4"),
        ("A.x > 1.5", "a2 a3 a4"),
        ("A.x * 2 + 1 > 5", "a3 a4"),
        ("A.x / 2 = 1.5", "a3"),
        ("A.x % 2 = 0", "a2 a4"),
        ("-A.x < -3", "a4"),
        ("A.x > 1 AND A.x < 4", "a2 a3"),
        ("(A.x = 1 OR A.x = 4)", "a1 a4"),
        ("NOT A.x = 1", "a2 a3 a4"),
        ("A.x IN (1, 3, 9)", "a1 a3"),
        ("A.x NOT IN (1, 3)", "a2 a4"),
        ("A.x BETWEEN 2 AND 3", "a2 a3"),
        ("A.x NOT BETWEEN 2 AND 3", "a1 a4"),
        ("A.x IS NULL", "a5"),
        ("A.x IS NOT NULL", "a1 a2 a3 a4"),
        ("COALESCE(A.x, 9) > 3", "a4 a5"),
        ("A.x > 100", ""),
        ("A.x = NULL", ""),
        ("A.x != NULL", ""),
        ("ABS(A.x - 3) <= 1", "a2 a3 a4"),
        ("CASE WHEN A.x > 3 THEN 1 WHEN A.x > 2 THEN 2.5 ELSE 0 END >= 1", "a3 a4"),
        ("CASE A.x WHEN 1 THEN 'one' WHEN 3 THEN 'three' ELSE 'other' END != 'other'", "a1 a3"),
        ("CASE A.x WHEN 1 THEN 1 WHEN 3 THEN 3 END IS NULL", "a2 a4 a5"),
        ("CASE WHEN A.x > 2 THEN TRUE WHEN A.x > 1 THEN NULL ELSE A.x IS NULL END", "a3 a4 a5"),
        ("CASE WHEN A.x > 1 THEN A.x / (A.x - 2) END > 1", "a3 a4"),
    ],
)
def test_whole_numbers(run, condition, kept):
    events = stream("a1 a2 a3 a4 a5", x=[1, 2, 3, 4, None])
    assert_trends(run, f"PATTERN A WHERE {condition}", events, *kept.split())


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("A.x > 1", "a2 a3 a4"),
        ("A.x <= 1", "a1 a6"),
        ("A.x = A.x", "a1 a2 a3 a4 a6"),
        ("A.x > 1e308", "a3 a4"),
        ("A.x != 0.5", "a2 a3 a4 a6"),
        ("A.x < 0", ""),
        ("A.x = 0", "a6"),
        ("1 / A.x > 0", "a1 a2 a4"),
        ("A.x / 0 IS NULL", "a1 a2 a3 a4 a5 a6"),
    ],
)
def test_floats(run, condition, kept):
    # NaN (a4) is larger than infinity (a3) and equals itself; -0.0 (a6) equals 0; a5 is NULL.
    # 1 / infinity is 0; 1 / NaN is NaN; division by zero is NULL.
    events = stream("a1 a2 a3 a4 a5 a6", x=[0.5, 2.0, INF, NAN, None, -0.0])
    assert_trends(run, f"PATTERN A WHERE {condition}", events, *kept.split())


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("A.s = 'up'", "a1"),
        ("A.s > 'down'", "a1 a3"),
        ("A.s LIKE 'u%'", "a1 a3"),
        ("A.s LIKE '_own'", "a2"),
        ("A.s NOT LIKE 'u%'", "a2 a5"),
        ("UPPER(A.s) = 'UP'", "a1"),
        ("LENGTH(A.s) > 2", "a2 a3"),
        ("A.s IN ('up', 'down')", "a1 a2"),
        ("CONCAT(A.s, '!') = 'up!'", "a1"),
        ("SUBSTRING(A.s, 1, 2) = 'up'", "a1 a3"),
        ("A.s = ''", "a5"),
        ("A.s IS NULL", "a4"),
    ],
)
def test_strings(run, condition, kept):
    events = stream("a1 a2 a3 a4 a5", s=["up", "down", "upper", None, ""])
    assert_trends(run, f"PATTERN A WHERE {condition}", events, *kept.split())


def test_other_types(run):
    days = [date(2024, 2, 28), date(2024, 2, 29), None]
    moments = [datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2024, 2, 29, 13, tzinfo=UTC), None]
    events = table(
        "a1 a2 a3",
        day=pa.array(days),
        at=pa.array(moments, pa.timestamp("ms", "Europe/Berlin")),
        price=pa.array([Decimal("1.10"), Decimal("1.20"), None]),
        ok=pa.array([True, False, None]),
        place=pa.array([{"city": "X"}, {"city": "Y"}, None]),
    )
    for condition in (
        "A.day >= DATE '2024-02-29'",
        "A.at > TIMESTAMP '2024-02-29 12:30:00'",
        "A.at > TIMESTAMP '2024-02-29 13:30:00+01:00'",
        "A.at - 1 hour >= TIMESTAMP '2024-02-29 12:00:00'",
        "A.price > 1.15",
        "NOT A.ok",
        "A.ok = FALSE",
        "A.place.city = 'Y'",
        "A.time = 2",
        "A.type = 'A' AND A.time BETWEEN 2 AND 2",
    ):
        found = only(run(f"RETURN COUNT(*), MIN(A.time) PATTERN A WHERE {condition}", events))
        assert found == {"count": 1, "min_A_time": 2}, condition


def test_failed_casts_and_overflow_are_null(run):
    events = stream("a1 a2 a3", s=["12", "x", None], x=[2**63 - 1, 1, 0])
    assert_trends(run, "PATTERN A WHERE CAST(A.s AS BIGINT) = 12", events, "a1")
    assert_trends(run, "PATTERN A WHERE CAST(A.s AS BIGINT) IS NULL", events, "a2", "a3")
    assert_trends(run, "PATTERN A WHERE A.x + 1 IS NULL", events, "a1")
    assert_trends(run, "PATTERN A WHERE A.x + 1 > 0", events, "a2", "a3")


def test_in_a_repetition_events_that_fail_are_skipped(run):
    events = stream("a1 a2 a3", x=[1, 0, 1])
    assert_trends(run, "PATTERN A+ WHERE A.x > 0", events, "a1", "a3", "a1 a3")


def test_each_variable_has_its_own(run):
    events = stream("a1 a2 b3 b4", x=[1, 9, 1, 9])
    assert_trends(run, "PATTERN SEQ(A, B) WHERE A.x < 5 AND B.x > 5", events, "a1 b4")


def test_two_variables_of_one_type(run):
    # SEQ(A low+, A high): low below 5, high above.
    events = stream("a1 a2 a3 a4", x=[1, 9, 2, 8])
    assert_trends(
        run, "PATTERN SEQ(A l+, A h) WHERE l.x < 5 AND h.x > 5", events,
        "l1 h2", "l1 h4", "l3 h4", "l1 l3 h4", variables={"l": "A", "h": "A"},
    )  # fmt: skip


def test_an_event_that_fits_both_variables_is_read_as_either(run):
    events = stream("a1 a2", x=[5, 5])
    assert_trends(
        run, "PATTERN SEQ(A l+, A h) WHERE l.x <= 5 AND h.x >= 5", events, "l1 h2", variables={"l": "A", "h": "A"}
    )  # fmt: skip
    assert count(run("RETURN COUNT(*) PATTERN (A l OR A h) WHERE l.x <= 5 AND h.x >= 5", events)) == 4


def test_several_predicates_hold_together(run):
    events = stream("a1 a2 a3", x=[1, 2, 3], y=[3, 2, None])
    assert_trends(run, "PATTERN A WHERE A.x > 1 AND A.y < 3 AND A.x = A.y", events, "a2")


def test_the_column_is_all_null(run):
    events = stream("a1 a2", x=[None, None])
    assert_trends(run, "PATTERN A WHERE A.x > 0", events)
    assert_trends(run, "PATTERN A WHERE A.x IS NULL", events, "a1", "a2")
