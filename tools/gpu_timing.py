"""How long work on a card takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from trendweave.gpu.card import Card


def seconds_on(card: Card, work: Callable[[], Any], repeats: int = 5) -> float:
    """The median of some runs after a first one, each waited for."""
    work()
    card.synchronize()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        card.synchronize()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def seconds_here(work: Callable[[], Any]) -> float:
    """One run after a first one that compiles."""
    work()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
