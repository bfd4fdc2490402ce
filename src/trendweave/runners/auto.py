"""The device of a run with device="auto": a small table of how many events each device is worth, by kind of work."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import inf
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from trendweave.devices.names import Device, count_cores
from trendweave.errors import ExecutionError
from trendweave.gpu import card
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan
from trendweave.planning.plan import MovingWindow, Plan, SlidingWindow, Way
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.operators.joins.conditions import read_parts
from trendweave.programs.program import Program
from trendweave.programs.trends.lists.edges import why_not_linked

_LOG = logging.getLogger("trendweave")
_Found = TypeVar("_Found")
#: What a GPU refuses, or has not the memory for: the next device is tried.
_REFUSED = {"TW422", "TW423"}


class Worth(NamedTuple):
    """How many events devices are worth.

    Attributes:
        threads: So many events are faster on several cores than on one.
        gpu: So many are faster on a GPU that is in use than on cores; infinity where they never are.
        each: Nanoseconds of one core per event, about; None where that depends on how many events meet.
    """

    threads: int
    gpu: float
    each: float | None


#: By kind of work, what takes longest first. Measured on an H200 with 16 cores (`benchmarks/RESULTS.md`).
WORTH = {
    "links": Worth(150_000, 1_000, None),
    "pairs": Worth(10_000, 1_000, None),
    "scan": Worth(150_000, 20_000, None),
    "sums over ranks": Worth(150_000, 200_000, 100.0),
    "trends one by one": Worth(150_000, inf, 350.0),
    "partners": Worth(150_000, inf, 350.0),
    "intervals": Worth(150_000, inf, 120.0),
    "situations": Worth(150_000, inf, 120.0),
    "windows": Worth(150_000, inf, 60.0),
    "running sums": Worth(150_000, inf, 60.0),
    "filter": Worth(450_000, inf, 3.0),
    "others": Worth(150_000, inf, None),
}
#: A GPU takes over a second to start: one that is not in use yet is worth so many times as many events.
_COLD = 100


@dataclass(frozen=True, slots=True)
class Machine:
    """What there is: cores, a GPU by its name (None: none), and whether this process has used it."""

    cores: int
    card: str | None = None
    warm: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The devices of a run.

    Attributes:
        rows: How many events there are.
        kind: The work that takes longest.
        devices: Those that may be tried, the one to take first.
        lines: What is told of each device, and why it is taken or not.
    """

    rows: int
    kind: str
    devices: tuple[Device, ...]
    lines: tuple[tuple[Device, str], ...]

    @property
    def device(self) -> Device:
        return self.devices[0]

    def tell(self) -> list[str]:
        """For people, as lines of text."""
        first = f"device: {self.device}, of {self.rows:,} events ({self.kind})"
        return [first, *(f"  {device} {line}" for device, line in self.lines)]

    def data(self) -> dict[str, Any]:
        return {"chosen": self.device, "events": self.rows, "work": self.kind, "devices": dict(self.lines)}


def find_machine() -> Machine:
    """What this process may compute on. CUDA takes long to start: a GPU that was not used yet is one that may be
    there, where CuPy is installed."""
    cores = count_cores()
    if card.is_warm():
        return Machine(cores, card.find_card().name, warm=True)
    return Machine(cores, "a GPU" if _may_have_card() else None)


@cache
def _may_have_card() -> bool:
    """Whether CuPy is installed, which is asked of all folders once."""
    return find_spec("cupy") is not None


def find_kind(plan: object) -> str:
    """The work that a plan asks for."""
    match plan:
        case SituatedPlan():
            return "situations"
        case IntervalPlan():
            return "intervals"
        case FilterPlan():
            return "filter"
        case AggregatePlan():
            return "windows"
        case JoinPlan(condition=condition):
            parts = read_parts(condition)
            looked_up = parts.equal or any(band.is_closed for band in parts.bands)
            return "partners" if looked_up or not parts.pairs else "pairs"
        case Plan():
            ways = {step.summing.way for template in plan.templates for step in template.transitions}
            if plan.finds_trends:
                return "links" if Way.SCAN in ways and why_not_linked(plan) is None else "trends one by one"
            if Way.SCAN in ways:
                return "scan"
            return "sums over ranks" if ways & {Way.SUMS_OVER_RANKS, Way.RANKS_PER_VALUE} else "running sums"
    return "others"


def choose(kinds: Sequence[str], rows: int, obstacle: str | None, machine: Machine, on_card: bool = True) -> Choice:
    """The devices for some work.

    Args:
        kinds: The kinds of all of it.
        rows: How many events there are.
        obstacle: Why they are not dealt out to cores; None where they are.
        machine: What there is.
        on_card: Whether a GPU may be asked for it at all.
    """
    kind = next(kind for kind in WORTH if kind in kinds)
    threads, gpu = WORTH[kind].threads, WORTH[kind].gpu * (1 if machine.warm else _COLD)
    devices: list[Device] = []
    if machine.card is None:
        why_gpu = "not taken: there is no GPU, or no CuPy"
    elif gpu == inf or not on_card:
        why_gpu = "not taken: a core is faster, or no GPU does this"
    else:
        why_gpu = f"from {gpu:,.0f} events on" + ("" if machine.warm else ", as it has to be started")
        if rows >= gpu:
            devices.append("gpu")
    if machine.cores < 2:
        why_threads = "not taken: there is one core"
    elif obstacle is not None:
        why_threads = f"not taken: {obstacle}"
    else:
        why_threads = f"from {threads:,} events on"
        if rows >= threads:
            devices.append("threads")
    lines: list[tuple[Device, str]] = [
        ("cpu", "(one core): for fewer events"),
        ("threads", f"({machine.cores} cores): {why_threads}"),
        ("gpu", f"({machine.card or 'a GPU'}): {why_gpu}"),
    ]
    return Choice(rows, kind, (*devices, "cpu"), tuple(lines))


def choose_device(program: Program, events: pa.Table, machine: Machine | None = None) -> Choice:
    """What suits a program and events. A GPU that is not in use is looked for where it would pay."""
    machine = machine or find_machine()
    obstacle = None if program.uses_cores else program.split().why_not
    kinds, served = [find_kind(plan) for plan in program.plans], program.workload is None
    choice = choose(kinds, events.num_rows, obstacle, machine, served)
    if choice.device == "gpu" and not card.has_card():
        return choose(kinds, events.num_rows, obstacle, Machine(machine.cores))
    return choice


def assume_device(plans: Sequence[object], rows: int, machine: Machine | None = None) -> Choice:
    """What suits plans and so many events, of which nothing else is known."""
    trends = [plan.trend if isinstance(plan, SituatedPlan) else plan for plan in plans]
    has_keys = all(getattr(plan, "partition_key", None) or getattr(plan, "partition_by", None) for plan in trends)
    has_windows = all(isinstance(getattr(plan, "window", None), SlidingWindow | MovingWindow) for plan in trends)
    obstacle = None if has_keys or has_windows else "there are no keys, and time is not cut"
    return choose([find_kind(plan) for plan in plans], rows, obstacle, machine or find_machine(), len(plans) == 1)


def estimate_seconds(program: Program, rows: int, device: Device) -> float | None:
    """How long a run takes, about, on one core or on all of them; None where nothing is known of it."""
    prices = [WORTH[find_kind(plan)].each for plan in program.plans]
    cores = 1 if device == "cpu" else count_cores()
    known = [price for price in prices if price is not None]
    return None if device == "gpu" or len(known) < len(prices) else rows * sum(known) / 1e9 / cores


def run_on_best(choice: Choice, work: Callable[[Device], _Found]) -> _Found:
    """Run on the best device; on the next one where a GPU refuses."""
    *others, last = choice.devices
    for device in others:
        try:
            return work(device)
        except ExecutionError as error:
            if device != "gpu" or not _REFUSED & {problem.code for problem in error.problems}:
                raise
            _LOG.info("the GPU does not support this (%s); another device is used", error.problems[0].message)
    return work(last)


#: What `calibrate` tells those who still call it.
NOTHING_MEASURED = 'device="auto" goes by a table of thresholds; there is nothing to calibrate any more'


def calibrate(save: bool = True) -> None:
    """Do nothing: device="auto" goes by numbers of events, and not by prices that are measured on a machine.

    Args:
        save: Is not used any more.
    """
    warnings.warn(NOTHING_MEASURED, DeprecationWarning, stacklevel=2)
