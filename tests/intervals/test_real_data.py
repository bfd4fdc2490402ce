"""Landings in real aircraft tracks, against an independent computation with pandas; and tracks with broken clocks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave

DATA = Path(__file__).parents[3] / "shared" / "data"
LANDINGS = """
FROM Positions PARTITION BY icao24
DEFINE Low AS altitude < 10000 AND NOT onground AT LEAST 1 minute,
       Descent AS vertical_rate < -200 AT LEAST 10 seconds,
       Slowing AS groundspeed < PREV(groundspeed) AT LEAST 4 seconds,
       Ground AS onground
PATTERN Slowing during; starts; finishes; equals Descent
    AND Descent during; starts; finishes; equals Low
    AND Low before; meets Ground
WITHIN 20 minutes
RETURN icao24, MIN(Descent.vertical_rate) AS steepest, LAST(Low.altitude) AS last_altitude, COUNT(Low) AS positions
"""


def table(name: str) -> pa.Table:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return pq.read_table(path)


def runs(frame: pd.DataFrame, holds: pd.Series) -> pd.DataFrame:
    """Maximal runs of a condition per aircraft: start, end (NaT while it runs), one row per run. Steps are sorted."""
    marked = frame[["icao24", "timestamp"]].assign(holds=holds.to_numpy())
    new = (marked["holds"] != marked.groupby("icao24")["holds"].shift()).astype(int)
    marked["run"] = new.groupby(marked["icao24"]).cumsum()
    marked["following"] = marked.groupby("icao24")["timestamp"].shift(-1)
    grouped = marked[marked["holds"]].groupby(["icao24", "run"])
    return grouped.agg(start=("timestamp", "first"), end=("following", lambda times: times.iloc[-1])).reset_index()[
        ["icao24", "start", "end"]
    ]


def inside(one: pd.DataFrame, inner: str, outer: str) -> pd.Series:
    return (
        (one[f"{inner}_start"] >= one[f"{outer}_start"])
        & (one[f"{inner}_end"] <= one[f"{outer}_end"])
        & one[f"{inner}_end"].notna()
        & one[f"{outer}_end"].notna()
    )


def expected_landings(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.sort_values(["icao24", "timestamp"], kind="stable").reset_index(drop=True)
    assert not frame.duplicated(["icao24", "timestamp"]).any(), "each row is a step of its own"
    slower = frame["groundspeed"] < frame.groupby("icao24")["groundspeed"].shift()
    conditions = {
        "Low": (frame["altitude"] < 10000) & ~frame["onground"],
        "Descent": frame["vertical_rate"] < -200,
        "Slowing": slower,
        "Ground": frame["onground"],
    }
    joined = None
    for name, holds in conditions.items():
        found = runs(frame, holds.fillna(False).astype(bool))
        length = (found["end"] - found["start"]).dt.total_seconds()
        least = {"Low": 60, "Descent": 10, "Slowing": 4}.get(name, 0)
        if name != "Ground":
            found = found[length >= least]  # only ended ones can be followed by the ground
        found = found.rename(columns={"start": f"{name}_start", "end": f"{name}_end"})
        joined = found if joined is None else joined.merge(found, on="icao24")
        if name == "Descent":
            joined = joined[inside(joined, "Descent", "Low")]
        if name == "Slowing":
            joined = joined[inside(joined, "Slowing", "Descent")]
        if name == "Ground":
            joined = joined[joined["Low_end"] <= joined["Ground_start"]]
    names = list(conditions)
    first = joined[[f"{name}_start" for name in names]].min(axis=1)
    joined = joined.assign(time=joined["Ground_start"])
    joined = joined[(joined["time"] - first).dt.total_seconds() <= 20 * 60]
    rows = []
    tracks = dict(iter(frame.groupby("icao24")))
    for match in joined.to_dict("records"):
        own = tracks[match["icao24"]]
        low = own[(own["timestamp"] >= match["Low_start"]) & (own["timestamp"] < match["Low_end"])]
        descent = own[(own["timestamp"] >= match["Descent_start"]) & (own["timestamp"] < match["Descent_end"])]
        last = low["altitude"].iloc[-1]
        steepest = descent["vertical_rate"].min()
        rows.append(match | {"steepest": steepest, "last_altitude": last, "positions": len(low)})
    return pd.DataFrame(rows)


def test_landings() -> None:
    tracks = table("adsb_tracks.parquet")
    frame = tracks.to_pandas().drop_duplicates(["icao24", "timestamp"])
    frame = frame[frame["icao24"].isin(sorted(frame["icao24"].unique())[::3])]
    found = trendweave.query(LANDINGS).run(pa.Table.from_pandas(frame, preserve_index=False), time="timestamp")
    expected = expected_landings(frame)
    assert len(expected) > 20
    columns = [name for name in found.column_names if name != "Ground_end"]
    order = ["icao24", "time", "Low_start", "Descent_start", "Slowing_start"]
    ours = found.to_pandas()[columns].sort_values(order).reset_index(drop=True)
    theirs = expected[columns].sort_values(order).reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)
    # The ground is reached at the moment of detection, so it still runs.
    assert found.column("Ground_end").null_count == found.num_rows


def test_the_order_of_rows_makes_no_difference() -> None:
    tracks = table("adsb_tracks.parquet")
    query = trendweave.query(LANDINGS)
    shuffled = tracks.take(pa.array(np.random.default_rng(7).permutation(tracks.num_rows)))
    assert query.run(shuffled, time="timestamp").equals(query.run(tracks, time="timestamp"))


def test_broken_clocks_go_through_the_bad_input_path() -> None:
    """Rows in any order, with repeated times, are put in order, and events of one time are one step; rows without a
    time are dropped and counted."""
    tracks = table("adsb_time_disorder.parquet")
    frame = tracks.to_pandas()
    again = frame.assign(vertical_rate=frame["vertical_rate"].shift(fill_value=0))
    frame = pd.concat([frame, again[::7]]).sample(frac=1, random_state=5).reset_index(drop=True)
    frame.loc[::100, "timestamp"] = pd.NaT
    query = trendweave.query(
        "FROM Positions PARTITION BY icao24 "
        "DEFINE Climb AS vertical_rate > 500, High AS altitude > 20000 RETURN SITUATIONS"
    )
    result = query.run(pa.Table.from_pandas(frame, preserve_index=False), time="timestamp")
    dropped = json.loads(result.schema.metadata[b"trendweave.metrics"])
    assert dropped["null_time"] == len(frame.loc[::100])
    known = frame.dropna(subset=["timestamp"])
    steps = known.assign(climb=known["vertical_rate"] > 500, high=known["altitude"] > 20000)
    steps = steps.groupby(["icao24", "timestamp"], as_index=False)[["climb", "high"]].all()
    for name, column in (("Climb", "climb"), ("High", "high")):
        theirs = runs(steps, steps[column]).sort_values(["icao24", "start"]).reset_index(drop=True)
        ours = result.to_pandas()
        ours = ours[ours["name"] == name].drop(columns="name").sort_values(["icao24", "start"]).reset_index(drop=True)
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)
