"""A filter by the distance in six dimensions on each device (Figure 4.10 of the thesis)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

import pyarrow as pa

from benchmarks.card_figures import card_rows
from benchmarks.devices import device_rows, devices, least_seconds, seconds_per_device, sized, threads_bar
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_least, duration
from benchmarks.thesis_events import distance, far_threshold, make_events
from trendweave import operators as ops
from trendweave.gpu.card import has_card

SELECTIVITIES = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5)
#: Seconds of calls after which a condition is compiled.
WARM = 3.0
#: Seconds in which devices are called in turn; the least time of each counts.
MEASURED = 2.0
BATCHES = (256, 4_096, 65_536, 1_048_576)
#: On the card, and from pinned memory: billions of events per second.
CARD_BARS = {("filter, columns on the card", "events_per_s"): 20.0, ("filter, from pinned memory", "events_per_s"): 1.5}


@workload("operators-filter")
def operators_filter(repeat: int) -> list[ResultRow]:
    """Selectivities of 1 to 1e-5 of six floats, batches of 256 to 1 M events; on a card also where events lie there."""
    events = make_events(sized(8_000_000, 8_000_000))
    rows: list[ResultRow] = []
    for selectivity in SELECTIVITIES:
        far = ops.filter(f"{distance()} > {far_threshold(selectivity)!r}")

        def run(device: str, far: ops.Operator = far) -> pa.Table:
            return far.run(events, device=device)

        _until_compiled(lambda run=run: run("cpu"))
        seconds = seconds_per_device(run, max(repeat, 5), pa.Table.equals, long=MEASURED)
        name = f"six dimensions, selectivity {selectivity:g}"
        rows += device_rows(name, events.num_rows, seconds, {"threads": threads_bar()})
    rows += _batches(far_threshold(1e-3), events, repeat)
    if has_card():
        from tools.gpu_checks.operators import measure_filter

        rows += card_rows(lambda card, report: measure_filter(card, report, sized(100_000_000, 0)), CARD_BARS)
    return rows


def _until_compiled(call: Callable[[], object]) -> None:
    """A condition that is used much is compiled: all devices are to find it so."""
    began = perf_counter()
    while perf_counter() - began < WARM:
        call()


def _batches(threshold: float, events: pa.Table, repeat: int) -> list[ResultRow]:
    """Batches one by one, each a call of its own."""
    far = ops.filter(f"{distance()} > {threshold!r}")
    _until_compiled(lambda: far.run(events))
    rows = []
    for size in BATCHES:
        batch = events.slice(0, size)
        calls = max(1, 65_536 // size)

        def run(device: str, batch: pa.Table = batch, calls: int = calls) -> None:
            for _ in range(calls):
                far.run(batch, device=device)

        seconds = least_seconds({device: partial(run, device) for device in devices()}, min(repeat, 3), MEASURED / 4)
        for device, took in seconds.items():
            note = f"{duration(took / calls)} a batch"
            rate = size * calls / took / 1e6
            rows.append(at_least(f"selectivity 0.001, batches of {size:,}", device, rate, "M events/s", None, note))
    return rows
