"""Which workloads there are, and what they return."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypedDict


class ResultRow(TypedDict):
    """One measured number. `bar` is what we promise ("at least 5 x"), and `met` whether this run kept it."""

    name: str
    metric: str
    value: float
    unit: str
    bar: str | None
    met: bool | None
    note: str


# A workload gets the number of repeats, checks its own answer (and raises if it is wrong) and returns its rows.
Workload = Callable[[int], list[ResultRow]]

_workloads: dict[str, Workload] = {}


def workload(name: str) -> Callable[[Workload], Workload]:
    """Register a function under a name; its docstring is what `--list` shows."""

    def register(function: Workload) -> Workload:
        if name in _workloads:
            raise ValueError(f"two workloads are named {name!r}")
        _workloads[name] = function
        return function

    return register


def all_workloads() -> dict[str, Workload]:
    """Every workload by name, after importing each file in `benchmarks/workloads`; those of Spark only where that is
    installed."""
    from benchmarks import workloads

    for module in pkgutil.iter_modules(workloads.__path__, "benchmarks.workloads."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in ("pyspark", "py4j"):
                raise
    return dict(sorted(_workloads.items()))
