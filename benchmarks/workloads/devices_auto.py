"""How well device="auto" chooses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.device_cases import CASES
from benchmarks.devices import devices, least_seconds
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most, duration
from trendweave.runners import auto
from trendweave.runners.auto import Choice

SIZES = (1 << 10, 1 << 14, 1 << 18)
#: The time that "auto" takes, over that of the best device.
BAR = 1.2
#: Below this, calls differ by more than devices do.
LEAST = 0.002
#: Larger sizes are left out where 16 times as many events could take longer than this: 256 times as long.
LONG = 10.0
#: Devices are called in turn for so many seconds at least.
MEASURED = 1.5


@workload("devices-auto")
def devices_auto(repeat: int) -> list[ResultRow]:
    """A grid of operators and sizes: "auto" against the best device."""
    rows = []
    chosen = _Chosen()
    for case in CASES:
        for size in SIZES:
            run = case.make(size)
            named = {name: partial(run, name) for name in (*devices(), "auto")}
            with chosen.watching():
                seconds = least_seconds(named, max(repeat, 3), MEASURED)
            own = seconds.pop("auto")
            best = min(seconds, key=lambda name: seconds[name])
            told = ", ".join(f"{name} {duration(took)}" for name, took in {**seconds, "auto": own}.items())
            value = max(own, LEAST) / max(seconds[best], LEAST)
            name, note = f"{case.name}, {size:,} events", f"took {chosen.last}; {told}"
            rows.append(at_most(name, "auto / best", value, "x", BAR, note))
            if 256 * seconds["cpu"] > LONG:
                break
    worst = max(row["value"] for row in rows)
    rows.append(at_most("all of them", "auto / best, the worst", worst, "x", BAR))
    return rows


class _Chosen:
    """The device that "auto" has taken last."""

    def __init__(self) -> None:
        self.last = ""

    @contextmanager
    def watching(self) -> Iterator[None]:
        real = auto.choose_device

        def choose(*given: Any) -> Choice:
            choice = real(*given)
            self.last = choice.device
            return choice

        auto.choose_device = choose
        try:
            yield
        finally:
            auto.choose_device = real
