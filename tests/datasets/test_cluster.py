"""Cluster: GRETA, Table 2, and runs of Start, Measurement+, End."""

from __future__ import annotations

import re

import numpy as np

from trendweave import datasets


def test_attributes_are_those_of_table_2() -> None:
    table = datasets.cluster(200_000, seed=1)

    for name in ("mapper", "job"):
        values, counts = np.unique(table[name].to_numpy(), return_counts=True)
        assert values.tolist() == list(range(11))
        assert (abs(counts / 200_000 - 1 / 11) < 0.005).all()
    for name in ("cpu", "memory"):
        values = table[name].to_numpy()
        assert (values.min(), values.max()) == (0, 1_000)
        assert abs(values.mean() - 500) < 3
        assert abs(values.std() - 1_000 / 12**0.5) < 3
    load = table["load"].to_numpy()
    assert abs(load.mean() - 100) < 0.2
    assert abs(load.var() - 100) < 2, "the variance of a Poisson distribution is its mean"


def test_rate() -> None:
    seconds = datasets.cluster(7_000, seed=1, time="seconds")["time"].to_numpy()

    assert np.bincount(seconds).tolist() == [3_000, 3_000, 1_000]


def test_events_of_a_pair_are_runs() -> None:
    table = datasets.cluster(60_000, seed=1, measurements=10)

    pair = (table["job"].to_numpy() * 11 + table["mapper"].to_numpy()).tolist()
    letters: dict[int, list[str]] = {}
    for key, type_name in zip(pair, table["type"].to_pylist(), strict=True):
        letters.setdefault(key, []).append(type_name[0])
    assert len(letters) == 121
    # The first run may have started before the stream, the last may not have ended.
    runs = re.compile("M*E?(SM+E)*(SM*)?")
    assert [key for key, types in letters.items() if not runs.fullmatch("".join(types))] == []


def test_share_of_types() -> None:
    types = datasets.cluster(100_000, seed=1, measurements=10)["type"].to_pylist()

    assert abs(types.count("Measurement") / 100_000 - 10 / 12) < 0.01
    assert abs(types.count("Start") / 100_000 - 1 / 12) < 0.005
    assert abs(types.count("End") / 100_000 - 1 / 12) < 0.005


def test_least_run_has_one_measurement() -> None:
    types = datasets.cluster(9, seed=1, jobs=1, mappers=1, measurements=1)["type"].to_pylist()

    assert types == ["Start", "Measurement", "End"] * 3
