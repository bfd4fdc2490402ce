"""Traffic: the rate rises, cars drive on and change their speed, accidents have only a segment."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from trendweave import datasets


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return datasets.traffic(200_000, seed=1, time="seconds")


@pytest.fixture(scope="module")
def by_vehicle(table: pa.Table) -> dict[str, np.ndarray]:
    positions = table.filter(pc.equal(table["type"], "Position"))
    positions = positions.sort_by([("vehicle", "ascending"), ("time", "ascending")])
    return {name: positions[name].to_numpy() for name in ("time", "vehicle", "segment", "position", "speed")}


def test_rate_rises_over_three_hours(table: pa.Table) -> None:
    per_half_hour = np.bincount(table["time"].to_numpy() // 1_800, minlength=6)

    assert len(per_half_hour) == 6, "nothing behind the third hour"
    # Linear from 0: the halves of the hours have 1, 3, 5, 7, 9 and 11 parts of 36, less while the first cars drive.
    assert (np.diff(per_half_hour) > 0).all()
    assert (abs(per_half_hour / 200_000 - np.array([1, 3, 5, 7, 9, 11]) / 36) < 0.02).all()


def test_peak_of_the_paper_needs_21_6_million_events(table: pa.Table) -> None:
    peak = (table["time"].to_numpy() >= 10_800 - 300).sum() / 300

    assert 4_000 < peak * 21_600_000 / 200_000 < 4_400


def test_accidents_have_a_segment_only(table: pa.Table) -> None:
    accidents = table.filter(pc.equal(table["type"], "Accident"))

    assert accidents.num_rows == 360
    assert set(accidents["segment"].to_pylist()) <= set(range(100))
    assert len(set(accidents["segment"].to_pylist())) > 80
    assert [accidents[name].null_count for name in ("vehicle", "position", "speed")] == [360, 360, 360]
    assert [table[name].null_count for name in ("vehicle", "position", "speed", "segment")] == [360, 360, 360, 0]
    assert datasets.traffic(100, seed=1)["type"].to_pylist().count("Accident") == 5
    assert datasets.traffic(100, seed=1, accidents=0)["type"].to_pylist().count("Accident") == 0
    assert datasets.traffic(100, seed=1, accidents=100)["type"].to_pylist().count("Accident") == 100


def test_cars_report_every_30_seconds_and_move_as_fast_as_they_say(by_vehicle: dict[str, np.ndarray]) -> None:
    same_car = np.diff(by_vehicle["vehicle"]) == 0
    assert (np.diff(by_vehicle["time"])[same_car] == 30).all()
    feet = by_vehicle["speed"][:-1] * 5_280 * 30 // 3_600
    assert (np.diff(by_vehicle["position"]) % (100 * 5_280) == feet)[same_car].all()
    assert (by_vehicle["position"] // 5_280 == by_vehicle["segment"]).all()
    assert set(by_vehicle["segment"].tolist()) == set(range(100))


def test_cars_stay_10_to_30_minutes_unless_the_stream_ends(by_vehicle: dict[str, np.ndarray]) -> None:
    reports = np.bincount(by_vehicle["vehicle"])
    last = by_vehicle["time"][np.cumsum(reports) - 1]

    assert reports.max() == 60
    assert (reports[last < 10_800 - 30] < 20).sum() <= 1, "one car is cut off so that the number of events is right"
    assert (np.diff(by_vehicle["time"][np.cumsum(reports) - reports]) >= 0).all(), "cars are numbered as they enter"


def test_cars_slow_down_and_speed_up(by_vehicle: dict[str, np.ndarray]) -> None:
    speed = by_vehicle["speed"]
    assert (speed.min(), speed.max()) == (0, 100)
    change = np.diff(speed)[np.diff(by_vehicle["vehicle"]) == 0]
    assert abs(change).max() <= 10
    assert 0.4 < (change < 0).mean() < 0.5
    assert 0.4 < (change > 0).mean() < 0.5
    # In phases: slowing down is mostly followed by slowing down.
    slows = change < 0
    assert (slows[1:] & slows[:-1]).sum() / slows[:-1].sum() > 0.6
