"""How well device="auto" chooses."""

from __future__ import annotations

from functools import partial

from benchmarks.device_cases import CASES
from benchmarks.devices import devices, least_seconds
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most, duration

SIZES = (1 << 10, 1 << 14, 1 << 18)
#: The time that "auto" takes, over that of the best device.
BAR = 1.2
#: Below this, calls differ by more than devices do.
LEAST = 0.002
#: Larger sizes are left out where 16 times as many events could take longer than this: 256 times as long.
LONG = 10.0


@workload("devices-auto")
def devices_auto(repeat: int) -> list[ResultRow]:
    """A grid of operators and sizes: "auto" against the best device."""
    rows = []
    for case in CASES:
        for size in SIZES:
            run = case.make(size)
            named = {name: partial(run, name) for name in (*devices(), "auto")}
            seconds = least_seconds(named, max(repeat, 5) if size < 1 << 16 else max(repeat, 3))
            own = seconds.pop("auto")
            best = min(seconds, key=lambda name: seconds[name])
            told = ", ".join(f"{name} {duration(took)}" for name, took in seconds.items())
            value = max(own, LEAST) / max(seconds[best], LEAST)
            rows.append(at_most(f"{case.name}, {size:,} events", "auto / best", value, "x", BAR, f"{best}; {told}"))
            if 256 * seconds["cpu"] > LONG:
                break
    worst = max(row["value"] for row in rows)
    rows.append(at_most("all of them", "auto / best, the worst", worst, "x", BAR))
    return rows
