"""Ride sharing: 20 types in bursts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from trendweave import datasets


def test_types_and_their_shares() -> None:
    types = datasets.ride_sharing(400_000, seed=1, burst=20)["type"].to_pylist()

    share = {name: types.count(name) / 400_000 for name in set(types)}
    assert len(share) == 20
    assert {"Request", "Travel", "Pickup", "Dropoff", "Cancel"} <= set(share)
    assert abs(share.pop("Travel") - 0.3) < 0.02
    assert all(abs(other - 0.7 / 19) < 0.01 for other in share.values())


@pytest.mark.parametrize("burst", [1, 10, 120])
def test_bursts(burst: int) -> None:
    types = datasets.ride_sharing(300_000, seed=2, burst=burst)["type"].to_pylist()

    runs = [len(list(run)) for _, run in itertools.groupby(types)]
    # The next burst is of the same type with this probability, and then both are one run.
    again = 0.3**2 + 19 * (0.7 / 19) ** 2
    assert abs(np.mean(runs) / (burst / (1 - again)) - 1) < 0.1


def test_travel_share_at_its_ends() -> None:
    assert set(datasets.ride_sharing(500, seed=1, burst=2, travel_share=1)["type"].to_pylist()) == {"Travel"}
    assert "Travel" not in datasets.ride_sharing(500, seed=1, burst=2, travel_share=0)["type"].to_pylist()


def test_attributes() -> None:
    table = datasets.ride_sharing(50_000, seed=1, drivers=4, riders=6, districts=3)

    assert set(table["driver"].to_pylist()) == set(range(4))
    assert set(table["rider"].to_pylist()) == set(range(6))
    assert set(table["district"].to_pylist()) == set(range(3))
    assert set(table["request_type"].to_pylist()) == {"Pool", "Regular", "Premium"}
    assert set(table["duration"].to_pylist()) == set(range(1, 61))
    assert set(table["speed"].to_pylist()) == set(range(60))
    assert 5 <= min(table["price"].to_pylist()) < 6
    assert 99 < max(table["price"].to_pylist()) <= 100


def test_ten_thousand_events_a_minute() -> None:
    seconds = datasets.ride_sharing(25_000, seed=1, time="seconds")["time"].to_numpy()

    assert np.bincount(seconds // 60).tolist() == [10_000, 10_000, 5_000]
    assert set(np.bincount(seconds)[:150].tolist()) == {166, 167}
