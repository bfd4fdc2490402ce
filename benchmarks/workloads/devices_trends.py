"""Trends on each device."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import trendweave
from benchmarks.card_figures import card_rows
from benchmarks.devices import device_rows, seconds_per_device, sized, threads_bar
from benchmarks.registry import ResultRow, workload
from trendweave.gpu.card import has_card

#: Seconds in which devices are called in turn; the least time of each counts.
MEASURED = 3.0
CARD_BARS = {
    ("S+ with one comparison, 20,000", "events_per_s"): 0.7,
    ("SEQ(A, B, C), one segment of 100 million", "events_per_s"): 5.0,
}


@workload("devices-trends")
def devices_trends(repeat: int) -> list[ResultRow]:
    """S+ with one comparison in 20,000 segments of 1,000 events, and SEQ(A, B, C) over one long stream."""
    rows = _segments(sized(20_000, 20_000), min(repeat, 3))
    rows += _stream(sized(10_000_000, 4_000_000), min(repeat, 3))
    if has_card():
        from tools.gpu_checks.trends import measure

        rows += card_rows(lambda card, report: measure(card, report, sized(1_000, 0) / 1_000), CARD_BARS)
    return rows


def _segments(segments: int, repeat: int) -> list[ResultRow]:
    random = np.random.default_rng(1)
    count = segments * 1_000
    events = pa.table(
        {
            "time": np.tile(np.arange(1_000), segments),
            "key": np.repeat(np.arange(segments), 1_000),
            "price": random.random(count),
        }
    )
    query = trendweave.query("RETURN COUNT(*) PATTERN Stock S+ WHERE [key] AND S.price < NEXT(S).price GROUP-BY key")

    def run(device: str) -> pa.Table:
        return query.run(events, type=None, numbers="float64", device=device)

    seconds = seconds_per_device(run, repeat, _about_equal, long=MEASURED)
    name = f"S+, one comparison, {segments:,} keys of 1,000 events, float64"
    return device_rows(name, count, seconds, {"threads": threads_bar()})


def _stream(count: int, repeat: int) -> list[ResultRow]:
    random = np.random.default_rng(2)
    kinds = pa.DictionaryArray.from_arrays(random.integers(0, 3, count).astype(np.int8), ["A", "B", "C"])
    events = pa.table({"time": np.arange(count), "type": kinds})
    query = trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 1000 seconds SLIDE 1000 seconds")

    def run(device: str) -> pa.Table:
        return query.run(events, numbers="float64", device=device)

    seconds = seconds_per_device(run, repeat, _about_equal, long=MEASURED)
    return device_rows(f"SEQ(A, B, C), {count:,} events", count, seconds)


def _about_equal(one: pa.Table, other: pa.Table) -> bool:
    """Floats may be added in another order, and rows of one window have none."""
    places = [(name, "ascending") for name in one.column_names if name != "count"]
    one, other = one.sort_by(places), other.sort_by(places)
    counts = one["count"].to_numpy(), other["count"].to_numpy()
    return one.drop(["count"]).equals(other.drop(["count"])) and bool(np.allclose(*counts, rtol=1e-9))
