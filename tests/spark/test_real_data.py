"""Flights and aircraft of the real world, at full size: in-process runner, Spark and a plain computation agree."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import trendweave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DATA = Path(__file__).parents[3] / "shared" / "data"

RISING_DELAYS = (
    "RETURN origin, COUNT(*), AVG(F.delay), MAX(F.distance), SUM(F.delay) PATTERN Flight F+ "
    "WHERE [origin] AND F.delay < NEXT(F).delay GROUP-BY origin WITHIN 2 hours SLIDE 2 hours"
)
DESCENTS = (
    "RETURN icao24, COUNT(*), COUNT(P), MIN(P.altitude) PATTERN Position P+ "
    "WHERE [icao24] AND P.altitude > NEXT(P).altitude GROUP-BY icao24 WITHIN 5 minutes SLIDE 2 minutes"
)


def file(name: str) -> str:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA}; it is too large for the repository")
    return str(path)


def both_runners(spark: SparkSession, query: str, path: str, **options: Any) -> pa.Table:
    """The rows of the in-process runner, after Spark gave the same, bit for bit."""
    local = trendweave.query(query).run(pq.read_table(path), type=None, **options)
    remote = trendweave.query(query).run(spark.read.parquet(path), type=None, **options).toArrow()
    order = [(name, "ascending") for name in local.column_names[:3]]
    local = local.replace_schema_metadata(None).sort_by(order)
    assert remote.cast(local.schema).sort_by(order).equals(local)
    return local


def windows_of(seconds: np.ndarray, length: int, slide: int) -> dict[int, np.ndarray]:
    """Rows by the start of each window that holds some of them; `seconds` are sorted."""
    first = (int(seconds[0]) - length) // slide * slide
    found = {}
    for start in range(first, int(seconds[-1]) + 1, slide):
        rows = np.arange(np.searchsorted(seconds, start), np.searchsorted(seconds, start + length))
        if rows.size:
            found[start] = rows
    return found


def plain_trends(seconds: np.ndarray, follows: np.ndarray) -> tuple[list[int], list[int]]:
    """GRETA's sum over predecessors, as it is written: how many trends end at each event, and with how many events."""
    counts, events = [], []
    for row in range(seconds.size):
        before = np.flatnonzero((seconds[:row] < seconds[row]) & follows[:row, row])
        counts.append(1 + sum(counts[p] for p in before))
        events.append(counts[row] + sum(events[p] for p in before))
    return counts, events


def test_rising_delays_of_three_million_flights(spark: SparkSession) -> None:
    path = file("us_flights_2001.parquet")
    result = both_runners(spark, RISING_DELAYS, path, time="date")
    assert result.num_rows > 100_000

    flights = pq.read_table(path).filter(pc.field("date") < pa.scalar(np.datetime64("2001-01-08T00:00:00", "us")))
    for origin in ("ORD", "SEA", "ANC"):
        own = flights.filter(pc.field("origin") == origin).sort_by("date")
        seconds = own["date"].cast(pa.int64()).to_numpy() // 1_000_000
        delay, distance = own["delay"].to_numpy(), own["distance"].to_numpy()
        expected = {}
        for start, rows in windows_of(seconds, 7_200, 7_200).items():
            if start + 7_200 > seconds[-1]:
                continue  # the week cuts this window
            late = delay[rows]
            counts, events = plain_trends(seconds[rows], late[:, None] < late[None, :])
            expected[start] = (sum(counts), sum(events), int(distance[rows].max()))
        found = {
            int(row["window_start"].timestamp()): (int(row["count"]), row)
            for row in utc(result.filter(pc.field("origin") == origin)).to_pylist()
        }
        for start, (count, events, longest) in expected.items():
            rows_count, row = found[start]
            assert (rows_count, row["max_F_distance"]) == (count, longest), (origin, start)
            # AVG is SUM over the number of occurrences.
            assert row["avg_F_delay"] == float(Fraction(int(row["sum_F_delay"]), events)), (origin, start)
        assert len(expected) > 50


def test_descents_of_aircraft(spark: SparkSession) -> None:
    path = file("adsb_tracks.parquet")
    result = both_runners(spark, DESCENTS, path, time="timestamp", numbers="text")

    positions = pq.read_table(path)
    most = positions.group_by("icao24").aggregate([("altitude", "count")]).sort_by([("altitude_count", "descending")])
    for aircraft in most["icao24"].to_pylist()[40:42]:
        own = positions.filter(pc.field("icao24") == aircraft).sort_by("timestamp")
        seconds = own["timestamp"].cast(pa.int64()).to_numpy() // 1_000_000
        # NULL is NaN here, which is larger than nothing and smaller than nothing.
        altitude = own["altitude"].to_numpy()
        expected = {}
        for start, rows in windows_of(seconds, 300, 120).items():
            high = altitude[rows]
            counts, events = plain_trends(seconds[rows], high[:, None] > high[None, :])
            lowest = None if np.isnan(high).all() else float(np.nanmin(high))
            expected[start] = (str(sum(counts)), str(sum(events)), lowest)
        found = {
            int(row["window_start"].timestamp()): (row["count"], row["count_P"], row["min_P_altitude"])
            for row in utc(result.filter(pc.field("icao24") == aircraft)).to_pylist()
        }
        assert found == expected
        assert len(expected) > 5


def test_uninterrupted_descents_and_moving_windows(spark: SparkSession) -> None:
    path = file("adsb_tracks.parquet")
    contiguous = DESCENTS.replace("WITHIN 5", "SEMANTICS contiguous WITHIN 5")
    assert both_runners(spark, contiguous, path, time="timestamp").num_rows > 2_000
    moving = DESCENTS.replace("5 minutes SLIDE 2 minutes", "30 seconds").replace("Position P+", "Position P{2,}")
    assert both_runners(spark, moving, path, time="timestamp").num_rows > 50_000


def utc(table: pa.Table) -> pa.Table:
    """Wall clocks as UTC, so that Python does not read them in the machine's zone."""
    place = table.column_names.index("window_start")
    return table.set_column(place, "window_start", pc.assume_timezone(table["window_start"], "UTC"))
