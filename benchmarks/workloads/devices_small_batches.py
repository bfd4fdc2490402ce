"""From how many events on each device pays, per operator."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.device_cases import CASES, Case
from benchmarks.devices import devices
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import duration

SIZES = (1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)
#: The search ends where a call with four times as many events could take longer than this: 16 times as long.
_LONG = 2.0


@workload("devices-small-batches")
def devices_small_batches(repeat: int) -> list[ResultRow]:
    """The batch size at which each device begins to pay, per operator."""
    rows = []
    for case in CASES:
        times = _measure(case, min(repeat, 3))
        for device in devices()[1:]:
            rows.append(_row(case.name, device, times))
    return rows


def _measure(case: Case, repeat: int) -> dict[int, dict[str, float]]:
    """Seconds per size and device."""
    found: dict[int, dict[str, float]] = {}
    for size in SIZES:
        run = case.make(size)
        found[size] = {device: _least(run, device, repeat) for device in devices()}
        if 16 * found[size]["cpu"] > _LONG:
            break
    return found


def _least(run: Callable[[str], Any], device: str, repeat: int) -> float:
    """The least of some calls after a first one: small batches are disturbed easily."""
    run(device)
    seconds = []
    for _ in range(repeat):
        began = perf_counter()
        run(device)
        seconds.append(perf_counter() - began)
    return min(seconds)


def _row(name: str, device: str, times: dict[int, dict[str, float]]) -> ResultRow:
    """The smallest size from which on the device is never slower than one core; 0 where there is none."""
    begins = 0
    for size in reversed(times):
        if times[size][device] > times[size]["cpu"]:
            break
        begins = size
    largest = max(times)
    note = (
        f"at {largest:,}: one core {duration(times[largest]['cpu'])}, {device} {duration(times[largest][device])}"
        if begins
        else f"not up to {largest:,}: one core {duration(times[largest]['cpu'])}, "
        f"{device} {duration(times[largest][device])}"
    )
    return ResultRow(
        name=name, metric=f"{device} pays from", value=float(begins), unit="events", bar=None, met=None, note=note
    )
