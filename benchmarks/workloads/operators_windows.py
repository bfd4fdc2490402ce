"""Sums over windows of so many events on each device (Figure 4.11 of the thesis)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.card_figures import card_rows
from benchmarks.devices import device_rows, seconds_per_device, sized
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most
from benchmarks.thesis_events import make_events
from trendweave import operators as ops
from trendweave.gpu.card import has_card

WINDOWS = (1 << 12, 1 << 16, 1 << 20)
#: The time of the largest window, over that of the smallest: cost does not grow with the window.
GROWTH_BAR = 1.3
CARD_BARS = {("sum of float64", "events_per_s"): 10.0}


def _agree(one: pa.Table, other: pa.Table) -> bool:
    return bool(np.allclose(one.column("total"), other.column("total"), rtol=1e-9))


@workload("operators-windows")
def operators_windows(repeat: int) -> list[ResultRow]:
    """SUM over windows of 4 K to 1 M events, slide 1; on a card also where events lie there."""
    count = max(2 * WINDOWS[-1], sized(8_000_000, 3_000_000))
    events = make_events(count, ("a1",))
    rows: list[ResultRow] = []
    times: dict[str, list[float]] = {}
    for window in WINDOWS:
        total = ops.window_aggregate("SUM(a1) AS total", rows=window, slide_rows=1)

        def run(device: str, total: ops.Operator = total) -> pa.Table:
            return total.run(events, device=device)

        seconds = seconds_per_device(run, min(repeat, 3), _agree)
        rows += device_rows(f"SUM over {window:,} events, slide 1", count, seconds)
        for device, took in seconds.items():
            times.setdefault(device, []).append(took)
    for device, seconds_of in times.items():
        name = f"windows of {WINDOWS[-1]:,} / of {WINDOWS[0]:,} events"
        rows.append(at_most(name, f"{device}: time", seconds_of[-1] / seconds_of[0], "x", GROWTH_BAR))
    if has_card():
        from tools.gpu_checks.operators import measure_sums

        rows += card_rows(lambda card, report: measure_sums(card, report, sized(100_000_000, 0)), CARD_BARS)
    return rows
