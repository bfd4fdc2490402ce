"""Joins of windows on each device (Figure 4.12 of the thesis)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.card_figures import card_rows
from benchmarks.devices import device_rows, seconds_per_device, sized
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, duration
from benchmarks.thesis_events import DIMENSIONS, make_events
from trendweave import operators as ops
from trendweave.gpu.card import has_card

WINDOWS = (1 << 12, 1 << 16, 1 << 20)
BAND_WINDOWS = (1 << 14, 1 << 17)
#: A band by sorted values, over the same condition by a scan.
BAND_BAR = 10.0
#: Seconds in which devices are called in turn; the least time of each counts.
MEASURED = 1.0
#: Times one core, and billions of pairs per second where events lie on the card.
GPU_BAR = 200.0
CARD_BARS = {("theta join, window", "pairs_per_s"): 200.0}


@workload("operators-join")
def operators_join(repeat: int) -> list[ResultRow]:
    """Distance in six dimensions over windows of 4 K to 1 M events, and bands against scans."""
    pairs = sized(1 << 30, 1 << 27)
    rows: list[ResultRow] = []
    for window in WINDOWS:
        condition = f"{_near()} <= {_threshold(1e-5)!r}"
        seconds, found, looked_at = _measure(condition, window, pairs, min(repeat, 2))
        note = f"{looked_at / seconds['cpu'] / 1e9:.2g} G pairs/s on one core, {found:,} pairs found"
        name = f"distance, windows of {window:,}"
        rows += device_rows(name, looked_at // window, seconds, note=note)
    more = sized(1 << 33, 1 << 33)  # so that most events look into full windows
    for window in BAND_WINDOWS:
        width = 0.2 / window
        band, found, _ = _measure(f"abs(left.a1 - right.a1) <= {width:.9f}", window, more, min(repeat, 2))
        # The same condition, which no sorted order helps with.
        scan, also_found, _ = _measure(f"abs(left.a1 - right.a1) * 1.0 <= {width:.9f}", window, more, 1)
        assert found == also_found, "a band has other pairs than the scan"
        for device in band:
            name = f"abs(left.a1 - right.a1) <= d, windows of {window:,}"
            note = f"scan {duration(scan[device])}, band {duration(band[device])}"
            rows.append(at_least(name, f"{device}: scan / band", scan[device] / band[device], "x", BAND_BAR, note))
    if has_card():
        from tools.gpu_checks.operators import measure_joins

        found_on_card = card_rows(lambda card, report: measure_joins(card, report, sized(1 << 36, 0)), CARD_BARS)
        rates = {row["name"]: row["value"] for row in found_on_card if row["unit"] == "G pairs/s"}
        one = next(rate for name, rate in rates.items() if "one core" in name)
        for name, rate in rates.items():
            if "one core" not in name:
                found_on_card.append(at_least(name, "card / one core, pairs", rate / one, "x", GPU_BAR))
        rows += found_on_card
    return rows


def _near() -> str:
    parts = (f"(left.{name} - right.{name}) * (left.{name} - right.{name})" for name in DIMENSIONS)
    return " + ".join(parts)


def _threshold(selectivity: float) -> float:
    """The square of the distance within which this part of all pairs lies."""
    random = np.random.default_rng(3)
    difference = random.random((2_000_000, 6)) - random.random((2_000_000, 6))
    return float(np.quantile((difference**2).sum(axis=1), selectivity))


def _measure(condition: str, window: int, pairs: int, repeat: int) -> tuple[dict[str, float], int, int]:
    """Both windows are full when the events come that are measured: so many that about these pairs are looked at."""
    join = ops.window_join(condition, left=f"{window} rows", right=f"{window} rows")
    more = max(1, pairs // window // 2)
    left, right = (make_events(window + more, seed=seed) for seed in (4, 5))

    def run(device: str) -> pa.Table:
        return join.run(left, right, device=device)

    counts: list[int] = []

    def same(one: pa.Table, other: pa.Table) -> bool:
        counts.append(other.num_rows)
        return one.equals(other)

    return seconds_per_device(run, repeat, same, long=MEASURED), counts[0], 2 * more * window
