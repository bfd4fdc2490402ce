"""From how many events on each device pays, per operator."""

from __future__ import annotations

from functools import partial

from benchmarks.device_cases import CASES, Case
from benchmarks.devices import devices, least_seconds
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
        times = _measure(case, max(repeat, 3))
        for device in devices()[1:]:
            rows.append(_row(case.name, device, times))
    return rows


def _measure(case: Case, repeat: int) -> dict[int, dict[str, float]]:
    """Seconds per size and device."""
    found: dict[int, dict[str, float]] = {}
    for size in SIZES:
        run = case.make(size)
        found[size] = least_seconds({device: partial(run, device) for device in devices()}, repeat)
        if 16 * found[size]["cpu"] > _LONG:
            break
    return found


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
