"""The two extracts of real data that travel with the package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from trendweave import datasets


def test_flights() -> None:
    table = datasets.sample_flights()

    assert table.column_names == [
        "time", "type", "origin", "destination", "carrier", "flight", "tail_number", "dep_delay", "arr_delay",
    ]  # fmt: skip
    assert table.num_rows == 12_340
    assert {row["values"]: row["counts"] for row in table["type"].value_counts().to_pylist()} == {
        "Departure": 11_292,
        "Cancellation": 1_048,
    }
    assert set(table["origin"].to_pylist()) == {"JFK", "LGA", "EWR"}
    assert str(table["time"][0]) == "2013-02-04 10:00:00+00:00", "five in the morning in New York"


def test_flights_keep_their_nulls() -> None:
    table = datasets.sample_flights()
    cancelled = table.filter(pc.equal(table["type"], "Cancellation"))

    assert cancelled["dep_delay"].null_count == cancelled["arr_delay"].null_count == cancelled.num_rows
    assert table["dep_delay"].null_count == 1_048
    assert table["arr_delay"].null_count == 1_084, "36 flights were diverted"
    assert table["tail_number"].null_count == 398


def test_aircraft() -> None:
    table = datasets.sample_aircraft()

    assert table.column_names == [
        "time", "type", "icao24", "callsign", "altitude", "groundspeed", "vertical_rate", "onground",
    ]  # fmt: skip
    assert table.num_rows == 23_922
    assert set(table["type"].to_pylist()) == {"Position"}
    assert table["altitude"].null_count == 831


def test_every_aircraft_comes_down_and_lands() -> None:
    table = datasets.sample_aircraft()
    names = set(table["icao24"].to_pylist())

    assert len(names) == 20
    for name in names:
        track = table.filter(pc.equal(table["icao24"], name))
        altitude = track["altitude"].drop_null().to_pylist()
        assert altitude[0] > 8_000
        assert altitude[-1] < 500
        assert track["onground"].to_pylist()[-61:] == [True] * 61
        assert track["onground"].to_pylist().count(True) == 61
        assert (np.diff(track["time"].to_numpy()) > np.timedelta64(0)).all(), "one position a second at most"


@pytest.mark.parametrize("read", [datasets.sample_flights, datasets.sample_aircraft])
def test_sorted_by_time_in_utc_and_without_foreign_metadata(read: object) -> None:
    table = read()

    assert table.schema.field("time").type == pa.timestamp("us", tz="UTC")
    assert (np.diff(table["time"].to_numpy()) >= np.timedelta64(0)).all()
    assert table.schema.metadata is None


def test_samples_are_small_and_name_their_source() -> None:
    folder = files("trendweave.datasets").joinpath("samples")
    sizes = {entry.name: len(entry.read_bytes()) for entry in folder.iterdir() if entry.name.endswith(".parquet")}
    readme = folder.joinpath("README.md").read_text(encoding="utf-8")

    assert sum(sizes.values()) < 300_000
    assert all(f"| {name} |" in readme for name in sizes)
    assert "CC0" in readme
    assert "MIT" in readme
