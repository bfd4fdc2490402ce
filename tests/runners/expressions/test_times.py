"""Moments, dates and durations over Arrow columns: each rule by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.runners.expressions.values import HIGH, INF, NAN, check, values_of

NOON = datetime(2024, 3, 31, 12, tzinfo=UTC)


def test_timestamps_of_all_units_and_zones_are_compared_as_moments() -> None:
    columns = {
        "s": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("s")),
        "ms": pa.array([NOON], pa.timestamp("ms", "Asia/Tokyo")),
        "us": pa.array([NOON], pa.timestamp("us", "Europe/Berlin")),
        "ns": pa.array([NOON], pa.timestamp("ns", "UTC")),
    }
    for left in columns:
        for right in columns:
            check(f"e.{left} = e.{right}", [True], **columns)
            check(f"e.{left} - e.{right} + 1 second", [timedelta(seconds=1)], **columns)
        check(f"e.{left} = TIMESTAMP '2024-03-31 14:00:00+02:00'", [True], **columns)


def test_moments_too_far_for_nanoseconds_are_still_compared() -> None:
    far = pa.array([datetime(9999, 12, 31), datetime(1, 1, 1), None], pa.timestamp("us"))
    near = pa.array([2**62, -(2**62), 0], pa.timestamp("ns"))
    check("e.far > e.near", [True, False, None], far=far, near=near)
    check("e.far < e.near", [False, True, None], far=far, near=near)
    check("e.far - e.near IS NULL", [True, True, True], far=far, near=near)
    check("GREATEST(e.far, e.near) IS NULL", [False, False, False], far=far, near=near)


def test_nanoseconds_are_not_lost() -> None:
    fine = pa.array([1, 1_000], pa.timestamp("ns"))
    check("e.fine > e.coarse", [True, False], fine=fine, coarse=pa.array([0, 1], pa.timestamp("us")))
    check("e.coarse + 1 ns > e.fine", [False, True], fine=fine, coarse=pa.array([0, 1], pa.timestamp("us")))


def test_times_and_durations() -> None:
    moments = pa.array([datetime(1969, 12, 31, 23, 59), None], pa.timestamp("us"))
    check("e.t + 2 minutes", [datetime(1970, 1, 1, 0, 1, tzinfo=UTC), None], t=moments)
    check("e.t - 1 day", [datetime(1969, 12, 30, 23, 59, tzinfo=UTC), None], t=moments)
    check("2 minutes + e.t > e.t", [True, None], t=moments)
    check("e.t - TIMESTAMP '1970-01-01' < 0 - 30 seconds", [True, None], t=moments)
    check("-(e.t - TIMESTAMP '1970-01-01')", [timedelta(minutes=1), None], t=moments)
    check("1 hour + 30 minutes", [timedelta(minutes=90)])
    check("e.d > 1 minute", [True, False, None], d=pa.array([61, 60, None], pa.duration("s")))


def test_a_time_that_does_not_fit_is_null() -> None:
    check("e.t + 1 second IS NULL", [True], t=pa.array([HIGH], pa.timestamp("us")))
    check("e.t = e.t", [None], t=pa.array([HIGH], pa.timestamp("s")))


def test_a_date_is_midnight_utc() -> None:
    days, moments = [date(2024, 3, 31), date(1960, 1, 1), None], [NOON, datetime(1960, 1, 1, tzinfo=UTC), NOON]
    columns = {"d": pa.array(days), "t": pa.array(moments, pa.timestamp("us", "America/New_York"))}
    check("e.d < e.t", [True, False, None], **columns)
    check("e.d = e.t", [False, True, None], **columns)
    check("e.t - e.d", [timedelta(hours=12), timedelta(0), None], **columns)
    check("e.d + 12 hours = e.t", [True, False, None], **columns)
    check("e.d - DATE '2024-03-30'", [timedelta(days=1), timedelta(days=-23465), None], **columns)
    check("e.d = DATE '1960-01-01'", [False, True, None], **columns)
    check("COALESCE(e.d, e.t) = e.t", [False, True, True], **columns)


def test_parts_of_moments_are_those_of_utc() -> None:
    moments = [datetime(2024, 2, 29, 23, 59, 58, 999_999), datetime(1969, 12, 31, 23, 0, 1), None]
    for times in (
        pa.array(moments, pa.timestamp("us")),
        pa.array(moments, pa.timestamp("us")).cast(pa.timestamp("ns", "Asia/Tokyo")),
    ):
        check("YEAR(e.t)", [2024, 1969, None], t=times)
        check("QUARTER(e.t)", [1, 4, None], t=times)
        check("MONTH(e.t)", [2, 12, None], t=times)
        check("DAY(e.t)", [29, 31, None], t=times)
        check("DAYOFWEEK(e.t)", [5, 4, None], t=times)
        check("WEEKDAY(e.t)", [3, 2, None], t=times)
        check("DAYOFYEAR(e.t)", [60, 365, None], t=times)
        check("WEEKOFYEAR(e.t)", [9, 1, None], t=times)
        check("HOUR(e.t)", [23, 23, None], t=times)
        check("MINUTE(e.t)", [59, 0, None], t=times)
        check("SECOND(e.t)", [58, 1, None], t=times)
        check("UNIX_TIMESTAMP(e.t)", [1709251198, -3599, None], t=times)
        check("TO_DATE(e.t)", [date(2024, 2, 29), date(1969, 12, 31), None], t=times)
        check("DATEDIFF(e.t, DATE '1970-01-01')", [19782, -1, None], t=times)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("millisecond", datetime(2024, 5, 16, 13, 45, 58, 999_000)),
        ("second", datetime(2024, 5, 16, 13, 45, 58)),
        ("minute", datetime(2024, 5, 16, 13, 45)),
        ("HOUR", datetime(2024, 5, 16, 13)),
        ("day", datetime(2024, 5, 16)),
        ("week", datetime(2024, 5, 13)),
        ("month", datetime(2024, 5, 1)),
        ("quarter", datetime(2024, 4, 1)),
        ("year", datetime(2024, 1, 1)),
    ],
)
def test_date_trunc(unit: str, expected: datetime) -> None:
    moments = pa.array([datetime(2024, 5, 16, 13, 45, 58, 999_999), None], pa.timestamp("us"))
    check(f"DATE_TRUNC('{unit}', e.t)", [expected.replace(tzinfo=UTC), None], t=moments)
    assert values_of("DATE_TRUNC('day', e.t)", t=pa.array([date(2024, 5, 16)])) == [datetime(2024, 5, 16, tzinfo=UTC)]


def test_rounding_takes_halves_away_from_zero() -> None:
    check("ROUND(e.x)", [3.0, -3.0, 0.0, 0.0, NAN, INF, None], x=[2.5, -2.5, -0.4, 0.0, NAN, INF, None])
    check("ROUND(e.x, 2)", [2.68, 1.01, -0.02, 1e17, 4503599627370496.5], x=[2.675, 1.005, -0.015, 1e17, 2.0**52 + 0.5])
    check("ROUND(e.x, 1)", [5, None], x=[5, None])
    check("ROUND(e.x, 1)", [Decimal("2.4"), Decimal("-10.0")], x=pa.array([Decimal("2.35"), Decimal("-9.95")]))


@given(some.lists(some.floats(-1e18, 1e18), min_size=1), some.integers(0, 12))
def test_rounding_is_that_of_the_shortest_text(numbers: list[float], digits: int) -> None:
    step = Decimal(1).scaleb(-digits)
    wide = Context(prec=60)
    expected = [float(Decimal(repr(number)).quantize(step, ROUND_HALF_UP, wide)) + 0.0 for number in numbers]
    check(f"ROUND(e.x, {digits})", expected, x=numbers)


def test_a_duration_next_to_a_number_is_its_seconds() -> None:
    check("e.x < 5 minutes", [True, False, None], x=[299, 300, None])
    check("e.x + 1.5 seconds", [11.5, None], x=[10, None])
    check("e.x = e.d", [True, False], x=[0.25, 1.0], d=pa.array([250, 999], pa.duration("ms")))
    check("e.x - 1 ns", [-1e-09], x=[0])
