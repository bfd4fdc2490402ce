"""Times of events as they come: of any type, unit and zone, negative, far away, at the edges of windows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import codes, count, stream, windows
from trendweave.errors import DataError

COUNT = "RETURN COUNT(*) PATTERN A+"
TUMBLING = f"{COUNT} WITHIN 4 seconds SLIDE 4 seconds"
SLIDING = f"{COUNT} WITHIN 4 seconds SLIDE 2 seconds"
MOVING = f"{COUNT} WITHIN 4 seconds"


def at(times: pa.Array) -> pa.Table:
    """Events of type A at given times."""
    return pa.table({"time": times, "type": pa.array(["A"] * len(times), pa.string())})


def test_negative_times(run):
    assert windows(run(TUMBLING, stream("a-5 a-4 a-1 a0"))) == {(-8, -4): 1, (-4, 0): 3, (0, 4): 1}


def test_times_before_1970(run):
    moments = pa.array([datetime(1969, 12, 31, 23, 59, 58), datetime(1969, 12, 31, 23, 59, 59)], pa.timestamp("us"))
    epoch = datetime(1970, 1, 1)
    assert windows(run(TUMBLING, at(moments))) == {(epoch - timedelta(seconds=4), epoch): 3}


def test_huge_times(run):
    huge = 2**62
    assert count(run(COUNT, at(pa.array([-(2**63), 0, 2**63 - 1])))) == 7
    assert windows(run(TUMBLING, at(pa.array([-huge, huge, huge + 1])))) == {
        (-huge, -huge + 4): 1, (huge, huge + 4): 3
    }  # fmt: skip
    assert run(MOVING, at(pa.array([-huge, huge, huge + 1]))) == [
        {"time": -huge, "count": 1}, {"time": huge, "count": 1}, {"time": huge + 1, "count": 3}
    ]  # fmt: skip


@pytest.mark.parametrize("moment", [2**63 - 1, -(2**63)])
def test_a_window_edge_that_does_not_fit_is_an_error(run, moment):
    with pytest.raises(DataError) as refused:
        run(TUMBLING, at(pa.array([0, moment])))
    assert codes(refused) == ["TW310"]


def test_a_window_edge_that_does_not_fit_the_column_is_an_error(run):
    with pytest.raises(DataError, match="int8") as refused:
        run(TUMBLING, at(pa.array([127], pa.int8())))
    assert codes(refused) == ["TW310"]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()], ids=str)
def test_widths_of_time(kind):
    found = trendweave.query(SLIDING).run(at(pa.array([1, 2]).cast(kind)))
    assert windows(found.to_pylist()) == {(-2, 2): 1, (0, 4): 3, (2, 6): 1}
    assert found.schema.field("window_start").type == found.schema.field("window_end").type == kind
    moving = trendweave.query(MOVING).run(at(pa.array([1, 2]).cast(kind)))
    assert moving.schema.field("time").type == kind


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_unsigned_times(run, kind):
    assert windows(run(TUMBLING, at(pa.array([1, 2, 4]).cast(kind)))) == {(0, 4): 3, (4, 8): 1}
    assert run(MOVING, at(pa.array([1, 2]).cast(kind)))[-1] == {"time": 2, "count": 3}


def test_float_times_meet_the_borders_that_they_spell(run):
    # 0.3 is in [0.3, 0.4), although no float is exactly 0.3.
    found = run("RETURN COUNT(*) PATTERN A WITHIN 100 ms SLIDE 100 ms", at(pa.array([0.1, 0.3, 0.7])))
    assert windows(found) == {(0.1, 0.2): 1, (0.3, 0.4): 1, (0.7, 0.8): 1}


UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin", "America/New_York", "+05:30"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", UNITS)
def test_timestamps_of_every_unit_and_zone(unit, zone):
    kind = pa.timestamp(unit, zone)
    # a1 a2 in [0, 4) and a5 in [4, 8) after midnight of 2024-01-01, UTC
    midnight = 1_704_067_200
    moments = pa.array([midnight + second for second in (1, 2, 5)], pa.timestamp("s")).cast(pa.timestamp(unit))
    found = trendweave.query(TUMBLING).run(at(moments.cast(pa.int64()).cast(kind)))
    assert found.schema.field("window_start").type == found.schema.field("window_end").type == kind
    starts = found["window_start"].cast(pa.int64()).to_pylist()
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    assert starts == [midnight * per_second, (midnight + 4) * per_second]
    assert found["count"].to_pylist() == [3, 1]
    moving = trendweave.query(MOVING).run(at(moments.cast(pa.int64()).cast(kind)))
    assert moving.schema.field("time").type == kind
    # At 5 the window (1, 5] holds a2 and a5.
    assert moving["count"].to_pylist() == [1, 3, 3]


def test_time_zones_make_no_difference_to_windows(run):
    # Days are days of UTC, whatever the zone of the column.
    query = f"{COUNT} WITHIN 1 day SLIDE 1 day"
    moments = [datetime(2024, 3, 30, 23, 30, tzinfo=UTC), datetime(2024, 3, 31, 0, 30, tzinfo=UTC)]
    expected = {
        (datetime(2024, 3, 30, tzinfo=UTC), datetime(2024, 3, 31, tzinfo=UTC)): 1,
        (datetime(2024, 3, 31, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC)): 1,
    }
    for zone in ("UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York"):
        found = run(query, at(pa.array(moments, pa.timestamp("us", zone))))
        assert windows(found) == expected
        assert all(row["window_start"].tzinfo == ZoneInfo(zone) for row in found)


def test_the_hour_that_a_zone_has_twice(run):
    # 02:30 comes twice in Berlin on 2024-10-27; the two are an hour apart.
    moments = [datetime(2024, 10, 27, 0, 30, tzinfo=UTC), datetime(2024, 10, 27, 1, 30, tzinfo=UTC)]
    found = run(f"{COUNT} WITHIN 1 hour SLIDE 1 hour", at(pa.array(moments, pa.timestamp("ms", "Europe/Berlin"))))
    assert [row["count"] for row in found] == [1, 1]


@pytest.mark.parametrize(
    ("kind", "length", "unit"),
    [
        (pa.int64(), "1500 ms", "seconds"),
        (pa.timestamp("s"), "1500 ms", "seconds"),
        (pa.timestamp("ms"), "1500 us", "milliseconds"),
    ],
)
def test_a_window_finer_than_the_time_column(run, kind, length, unit):
    with pytest.raises(DataError, match=f"is finer than the time column, which counts {unit}") as refused:
        run(f"{COUNT} WITHIN {length} SLIDE {length}", at(pa.array([1], kind)))
    assert codes(refused) == ["TW309"]


def test_fine_windows_on_fine_times(run):
    # 1, 2 and 5 nanoseconds, by 4.
    found = trendweave.query(f"{COUNT} WITHIN 4 ns SLIDE 4 ns").run(at(pa.array([1, 2, 5], pa.timestamp("ns"))))
    assert found["count"].to_pylist() == [3, 1]
    assert found["window_start"].cast(pa.int64()).to_pylist() == [0, 4]
