"""Devices side by side: what is there on this machine, and how long each takes for the same work."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks.registry import ResultRow
from benchmarks.result_rows import at_least, duration
from benchmarks.timing import interleaved
from trendweave.gpu.card import find_card, has_card

#: What threads must reach of as many times one core as there are cores.
PER_CORE = 0.8


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def devices() -> tuple[str, ...]:
    """The devices of this machine."""
    return ("cpu", "threads", "gpu") if has_card() else ("cpu", "threads")


def card_name() -> str | None:
    """What the maker of this machine's card calls it; None where there is none."""
    return find_card().name if has_card() else None


def sized(with_card: int, without: int) -> int:
    """How large a workload is: larger where there is a card to compare with. The environment may ask for a part of it
    (`BENCHMARK_SCALE=0.01`), to try workloads out."""
    return max(1, int((with_card if has_card() else without) * float(os.environ.get("BENCHMARK_SCALE", "1"))))


def least_seconds(functions: Mapping[str, Callable[[], object]], repeat: int, long: float = 0.0) -> dict[str, float]:
    """The least time of each function: what disturbs a call only makes it longer. They are called in turn, there and
    back, so that each comes after different ones; at least so often, and for so many seconds."""
    for function in functions.values():
        function()
    seconds = dict.fromkeys(functions, float("inf"))
    turns, end = 0, perf_counter() + long
    while turns < repeat or perf_counter() < end:
        for name in list(functions) if turns % 2 else reversed(functions):
            began = perf_counter()
            functions[name]()
            seconds[name] = min(seconds[name], perf_counter() - began)
        turns += 1
    return seconds


def seconds_per_device(
    run: Callable[[str], Any],
    repeat: int,
    same: Callable[[Any, Any], bool] | None = None,
    only: tuple[str, ...] = (),
    long: float = 0.0,
) -> dict[str, float]:
    """Wall time of the same work on each device, in turn: the median, or the least of all calls in some seconds.

    Args:
        run: Does the work on a device, and returns its result.
        repeat: How often each is measured.
        same: Whether two results are the same; that of one core is what others must give.
        only: Some devices; all that are there unless given.
        long: The seconds in which devices are called in turn, for work of which one call tells little.

    Raises:
        AssertionError: A device has another result.
    """
    chosen = [device for device in devices() if not only or device in only]
    if same is not None:
        expected = run("cpu")
        for device in chosen:
            assert device == "cpu" or same(run(device), expected), f"{device} has another result than one core"
    named = {device: partial(run, device) for device in chosen}
    return least_seconds(named, repeat, long) if long else interleaved(named, repeat, warm_up=same is None)


def device_rows(
    name: str, events: int, seconds: Mapping[str, float], bars: Mapping[str, float] | None = None, note: str = ""
) -> list[ResultRow]:
    """Events per second on one core, and how many times that of each other device; `bars` are theirs."""
    one = seconds["cpu"]
    rows = [
        ResultRow(
            name=name,
            metric="one core",
            value=round(events / one / 1e6, 4),
            unit="M events/s",
            bar=None,
            met=None,
            note=f"{events:,} events, {duration(one)}" + (f"; {note}" if note else ""),
        )
    ]
    for device, took in seconds.items():
        if device != "cpu":
            bar = (bars or {}).get(device)
            rows.append(at_least(name, f"{device} / one core", one / took, "x", bar, duration(took)))
    return rows


def threads_bar() -> float:
    """How many times as fast as one core all of them must be."""
    return PER_CORE * cores()
