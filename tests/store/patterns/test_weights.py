"""The weights of the cost model: measured, kept beside the data, and believed only where they make sense."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from trendweave import EventStore, Metrics
from trendweave.store.patterns.costs import Weights, load_weights, measure_weights


def make(folder: Path, events: int) -> EventStore:
    table = pa.table({"time": np.arange(events), "x": np.random.default_rng(1).uniform(0, 1000, events)})
    store = EventStore.create(folder, table.schema, type=None, index=["x"], group_rows=20_000)
    store.append(table)
    return EventStore.open(folder)


def test_weights_are_measured_and_kept(tmp_path: Path) -> None:
    store = make(tmp_path / "store", 150_000)
    assert load_weights(store.place) == Weights()
    store.calibrate()
    kept = load_weights(store.place)
    assert kept != Weights()
    assert all(value > 0 for value in asdict(kept).values())
    assert kept.byte < 1e-6
    assert kept.entry < 1e-5


def test_a_small_store_tells_nothing(tmp_path: Path) -> None:
    assert measure_weights(make(tmp_path / "store", 500)) == Weights()


@pytest.mark.parametrize("text", ["", "[]", '{"byte": -1}', '{"byte": "much"}', '{"bite": 1}', '{"byte": 1e999}'])
def test_weights_that_make_no_sense_are_not_believed(tmp_path: Path, text: str) -> None:
    store = make(tmp_path / "store", 500)
    (tmp_path / "store" / "_trendweave" / "weights.json").write_text(text, encoding="utf-8")
    assert load_weights(store.place) == Weights()


def test_estimated_and_actual_cost_are_told(tmp_path: Path) -> None:
    """Symbols anywhere, as the model assumes: what is read is what was estimated, nearly."""
    store = make(tmp_path / "store", 400_000)
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(E a, E b) WHERE a.x < 0.1 AND b.x > 999 WITHIN 500 seconds")
    metrics = Metrics()
    query.run(store, using="index", metrics=metrics)
    counts = metrics.get
    assert counts["road"] == "secondary indexes"
    assert counts["index_entries_read"] > 0
    assert counts["actual_cost"] == pytest.approx(counts["estimated_cost"], rel=0.25)
    assert counts["row_groups_read"] + counts["row_groups_skipped"] == store.groups.rows.size
    assert counts["bytes_read"] + counts["bytes_skipped"] == int(store.groups.bytes.sum())
