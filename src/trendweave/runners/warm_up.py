"""Kernels are compiled once per machine: the first worker process compiles, others wait for it and load."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from trendweave.kernels import warm_up as warm_up_kernels
from trendweave.kernels import warm_up_folding, warm_up_shared
from trendweave.programs.operators.joins.warm_up import warm_up_joins
from trendweave.programs.operators.windows.warm_up import warm_up_windows
from trendweave.programs.program import Work
from trendweave.runners.small_queries import run_interval_queries, run_rarer_queries, run_trend_queries

_WARM_UPS: dict[Work, Callable[[], None]] = {
    "aggregates": warm_up_kernels,
    "trends": run_trend_queries,
    "intervals": run_interval_queries,
    "shared": warm_up_shared,
    "folded": warm_up_folding,
    "windows": warm_up_windows,
    "joins": warm_up_joins,
}


def warm_up() -> None:
    """Compile everything that queries need, or load it where this machine has compiled it before.

    Without it, the first query waits for that: some seconds, once per machine. Worth a call where an image is built.
    """
    for work in _WARM_UPS.values():
        work()
    run_rarer_queries()


@cache
def load_folding() -> None:
    """Load what folds rows into this process: whoever folds first would wait for some tenths of a second."""
    warm_up_folding()
