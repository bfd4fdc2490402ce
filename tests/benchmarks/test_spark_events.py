"""The events of the Spark benchmarks are what their rows claim: ordered, evenly spread over keys, or half on one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from benchmarks.spark_events import FILES, drifting, sequences, write


def test_every_key_has_as_many_events_within_its_visit() -> None:
    table = sequences(5_000, keys=1_000, seconds=3_600, visit=300)

    key, micros = table["key"].to_numpy(), pc.cast(table["time"], pa.int64()).to_numpy()
    assert np.bincount(key).tolist() == [5] * 1_000
    assert (np.diff(micros) >= 0).all()
    assert micros[-1] - micros[0] > 3_000_000_000
    assert max(np.ptp(micros[key == some]) for some in range(1_000)) < 300_000_000


def test_half_of_the_events_on_one_key() -> None:
    share = np.mean(sequences(20_000, keys=100, seconds=3_600, hot=0.5)["key"].to_numpy() == 0)

    assert share == pytest.approx(0.5, abs=0.02)


def test_a_drifting_price_falls_over_a_few_events_only() -> None:
    price = drifting(1_000)["price"].to_numpy()

    assert (price[:-1] > price[1:]).any()
    assert (price[:-6] < price[6:]).all()


def test_files_hold_the_table_in_order(tmp_path: Path) -> None:
    table = sequences(1_001, keys=10, seconds=60)

    folder = write(table, tmp_path / "events")

    parts = sorted(Path(folder).glob("*.parquet"))
    assert len(parts) == FILES
    assert pa.concat_tables([pq.read_table(part) for part in parts]).equals(table)
