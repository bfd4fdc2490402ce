"""How we measure: one call to warm up (it may compile), then medians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter


def median_seconds(function: Callable[[], object], repeat: int, clock: Callable[[], float] = perf_counter) -> float:
    """Median time of one call, by the wall clock or, with `time.process_time`, CPU time of all threads."""
    return interleaved({"only": function}, repeat, clock)["only"]


def interleaved(
    functions: Mapping[str, Callable[[], object]],
    repeat: int,
    clock: Callable[[], float] = perf_counter,
    warm_up: bool = True,
) -> dict[str, float]:
    """Median time of each function, called in turn so that a noisy moment hits all of them alike. Unless `warm_up`,
    all of them were called before."""
    for function in functions.values():
        if warm_up:
            function()
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeat):
        for name, function in functions.items():
            start = clock()
            function()
            seconds[name].append(clock() - start)
    return {name: median(times) for name, times in seconds.items()}
