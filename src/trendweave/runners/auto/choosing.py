"""The device of a run with device="auto", and the reason for it."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from typing import TypeVar

import pyarrow as pa

from trendweave.devices.choosing import Choice, Machine, Work, choose, tell_choice
from trendweave.devices.cores import count_cores
from trendweave.devices.kept_costs import load_costs
from trendweave.devices.names import Device
from trendweave.errors import ExecutionError
from trendweave.gpu import card
from trendweave.planning.plan import MovingWindow, SlidingWindow
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.operators.filter import KeptEvents
from trendweave.programs.operators.joins.finding import count_blocks
from trendweave.programs.operators.joins.program import WindowJoin
from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.program import Program
from trendweave.programs.shared.program import Shared
from trendweave.programs.situated import InSituations
from trendweave.rows.times import time_type
from trendweave.runners.auto.kept_choices import Asked, KeptChoices
from trendweave.runners.auto.sample import Sample, look_at
from trendweave.runners.auto.work import Task, count_result_rows, find_task, find_tasks, make_work
from trendweave.runners.threads.filtering import cut_for_filter
from trendweave.runners.threads.fitness import why_on_one_core
from trendweave.runners.threads.preparing import count_parts, evaluates, is_worth_cutting
from trendweave.runners.threads.putting_together import is_arranged

_LOG = logging.getLogger("trendweave")
#: What a card refuses, or has not the memory for: the next device is tried.
_REFUSED = {"TW422", "TW423"}
_Found = TypeVar("_Found")
_FEW = "there are too few events"
_ONE_KEY = "all events have the same key"
#: Seconds of one core from which on a look at events, and the way to another device, are worth their while.
_WORTH_A_LOOK = 0.005
#: Pairs of a join from which on several cores look for them.
_MANY_PAIRS = 2e7
_kept = KeptChoices()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.forget)


def find_machine() -> Machine:
    """What this process may compute on. CUDA takes long to start: a card that was not used yet is one that may be
    there, where CuPy is installed."""
    cores = count_cores()
    if card.is_warm():
        return Machine(cores, card.find_card().name, warm=True)
    return Machine(cores, "a GPU" if _may_have_card() else None)


@cache
def _may_have_card() -> bool:
    """Whether CuPy is installed, which is asked of all folders once."""
    return find_spec("cupy") is not None


def choose_device(program: Program, events: pa.Table, machine: Machine | None = None, closely: bool = False) -> Choice:
    """What suits a program and events. Few events are not looked at: one core has done them before. Of a program that
    has had about as many before nothing is estimated: what its runs took tells more.

    Args:
        program: What is to be done.
        events: What it is done with.
        machine: What there is.
        closely: Whether events are looked at for the sake of estimates, too, where there is nothing to choose.
    """
    machine = machine or find_machine()
    if closely:
        return _choose_what_is_there(program, events, machine, closely)
    asked = _asked(program, events, machine)
    choice = _kept.find(asked)
    if choice is None:
        choice = _choose_what_is_there(program, events, machine, closely)
        _kept.keep(asked, choice)
    return choice


def _asked(program: Program, events: pa.Table, machine: Machine) -> Asked:
    return Asked(tuple(_plans(program)), getattr(program, "numbers", None), events, machine)


def _choose_what_is_there(program: Program, events: pa.Table, machine: Machine, closely: bool) -> Choice:
    choice = _choose_device(program, events, machine, closely)
    if choice.device == "gpu" and not card.has_card():
        return _choose_device(program, events, Machine(count_cores()), closely)
    return choice


def _choose_device(program: Program, events: pa.Table, machine: Machine, closely: bool = False) -> Choice:
    # All events are taken for kept, of one key, and for partners, on both sides: one core takes no longer than that.
    costs, assumed = load_costs(), Sample(events.num_rows, matching=1.0, looks=2.0)
    if not closely and not isinstance(program, KeptEvents):
        # Of few events nothing more is asked: to find out why other devices do not suit takes longer than to compute.
        few = replace(make_work(_find_tasks(program, assumed), assumed, _FEW, 1, 1.0), not_on_card=_FEW)
        choice = choose(few, machine, costs)
        if choice.estimates[0].seconds < _WORTH_A_LOOK:
            return choice
    work = measure_work(program, assumed, machine.cores)
    choice = choose(work, machine, costs)
    if isinstance(program, KeptEvents):
        return choice
    longest = next(one.seconds for one in choice.estimates if one.device == "cpu")
    if longest < _WORTH_A_LOOK:
        reason = _FEW if work.not_dealt in (None, _ONE_KEY) else work.not_dealt
        return choose(replace(work, not_dealt=reason, not_on_card=_FEW), machine, costs)
    dealt = machine.cores > 1 and _may_be_dealt(program) and _why_too_few(program, assumed) is None
    if not closely and not (dealt or ("gpu" in choice.devices and _tells_by_look(program))):
        return choice
    return choose(measure_work(program, look_at(program, events), machine.cores), machine, costs)


def _tells_by_look(program: Program) -> bool:
    """Whether events tell more than their number: which are kept, what keys they have, how they lie in time, what they
    meet."""
    if not isinstance(program, WindowAggregates):
        return True
    return bool(program.needs.own_keys) or program.cut() is not None or evaluates(program)


def _may_be_dealt(program: Program) -> bool:
    """Whether cores share the work, whatever events there are. Filters evaluate conditions slice by slice, and joins
    look for pairs on all cores."""
    return isinstance(program, KeptEvents | WindowJoin) or why_on_one_core(program) is None


def assume_device(plans: Sequence[object], rows: int, machine: Machine | None = None) -> Choice:
    """What suits plans and so many events, of which nothing else is known: keys have a thousand events each."""
    machine = machine or find_machine()
    trends = [plan.trend if isinstance(plan, SituatedPlan) else plan for plan in plans]
    has_keys = all(getattr(plan, "partition_key", None) or getattr(plan, "partition_by", None) for plan in trends)
    has_windows = all(isinstance(getattr(plan, "window", None), SlidingWindow | MovingWindow) for plan in trends)
    sample = Sample(rows, keys=max(1.0, rows / 1000) if has_keys else 1.0)
    reason = None if has_keys or has_windows else "there are no keys, and time is not cut"
    if reason is None and not is_worth_cutting(rows):
        reason = _FEW
    tasks = [task for plan in plans for task in find_tasks(plan, sample)]
    work = make_work(tasks, sample, reason, count_parts(rows, machine.cores), 0.0)
    return choose(work, machine, load_costs())


def measure_work(program: Program, sample: Sample, cores: int) -> Work:
    """What a program has to do with events like these."""
    plans, tasks = _plans(program), _find_tasks(program, sample)
    reason = None if _may_be_dealt(program) else why_on_one_core(program)
    if reason is None:
        reason = _why_too_few(program, sample)
    parts = _Parts(1.0) if reason is not None else _largest_part(program, sample, cores)
    if reason is None and parts.largest >= 1:
        reason = _ONE_KEY
    number = parts.number or count_parts(sample.rows, cores)
    work = make_work(tasks, sample, reason, number, parts.largest)
    arranged = max((count_result_rows(plan, sample) for plan in plans), default=0.0)
    if not _is_arranged(program, by_time=parts.moved == 0):
        arranged = 0.0
    return replace(work, copied=parts.copied, moved=parts.moved, arranged=arranged)


def _find_tasks(program: Program, sample: Sample) -> list[Task]:
    """All that is to be done for a program."""
    tasks = [task for plan in _plans(program) for task in find_tasks(plan, sample)]
    if isinstance(program, Shared):
        return [replace(task, not_on_card="workloads are not computed on a GPU") for task in tasks]
    return tasks


def _is_arranged(program: Program, by_time: bool) -> bool:
    """Whether one core puts the rows of parts in order; pairs that cores look for together stand in order."""
    if isinstance(program, WindowJoin) and why_on_one_core(program) is not None:
        return False
    return is_arranged(program, by_time)


def _why_too_few(program: Program, sample: Sample) -> str | None:
    """Why there is not enough to do for several cores; None where there is."""
    if isinstance(program, KeptEvents):
        return None if len(cut_for_filter(sample.rows, 2)) > 1 else _FEW
    if isinstance(program, WindowJoin):
        if (find_task(program.plan, sample).card_units or 0.0) >= _MANY_PAIRS:
            return None
        # Its events are not dealt out: cores share nothing but the tests of pairs.
        if why_on_one_core(program) is not None:
            return "there are too few pairs"
    return None if is_worth_cutting(sample.rows) else _FEW


def _plans(program: Program) -> list[object]:
    if isinstance(program, ChainedRows):
        return [plan for one in (*program.filters, *(s.program for s in program.stages)) for plan in _plans(one)]
    if isinstance(program, Shared):
        # Queries of one unit are computed together.
        return [program.plan.plans[unit.members[0]] for unit in program.units]
    if isinstance(program, InSituations):
        return [program.inner.plan]
    return [getattr(program, "plan", None)]


@dataclass(frozen=True, slots=True)
class _Parts:
    """How rows are dealt out.

    Attributes:
        largest: The share of the largest part.
        copied: How many rows are computed for each that there is.
        moved: The share of rows that are moved.
        number: The number of parts; 0: as many as usual.
    """

    largest: float
    copied: float = 1.0
    moved: float = 0.0
    number: int = 0


def _largest_part(program: Program, sample: Sample, cores: int) -> _Parts:
    if isinstance(program, WindowJoin):
        blocks = count_blocks(cores, int(find_task(program.plan, sample).card_units or 0))
        return _Parts(1 / min(cores, blocks), number=blocks)
    if isinstance(program, KeptEvents):
        return _Parts(1 / len(cut_for_filter(sample.rows, cores)))
    fewest = 1 / count_parts(sample.rows, cores)
    by_keys = _Parts(max(sample.largest, 1 / sample.keys, fewest), moved=1.0)
    cut = program.cut()
    if cut is None or sample.span <= 0:
        return by_keys
    step = float(time_type(program.moment).step)
    length = max(sample.span / (2 * cores), (cut.before + cut.after) * step)
    chunks = max(1.0, sample.span / length)
    by_time = _Parts(max(fewest, 1 / chunks), 1.0 + (cut.before + cut.after) * step / length)
    if by_keys.largest * cores <= 1 and not isinstance(program, WindowAggregates):
        return by_keys
    return by_time if by_time.largest <= by_keys.largest else by_keys


def estimate_seconds(program: Program, events: pa.Table, device: Device) -> float | None:
    """How long a run is estimated to take on one core or on all of them; None for others."""
    cores = count_cores()
    work = measure_work(program, look_at(program, events), cores)
    estimates = choose(work, Machine(cores), load_costs()).estimates
    return next((one.seconds for one in estimates if one.device == device and device != "gpu"), None)


def run_where_best(program: Program, events: pa.Table, work: Callable[[Device], _Found]) -> _Found:
    """Run on the device that suits a program and events, and remember how long that took."""
    machine = find_machine()
    asked = _asked(program, events, machine)

    def timed(device: Device) -> _Found:
        began = perf_counter()
        try:
            found = work(device)
        except ExecutionError:
            _kept.learn(asked, device, math.inf)
            raise
        if isinstance(found, pa.Table):  # others are made while they are read
            _kept.learn(asked, device, perf_counter() - began)
        return found

    return run_on_best(choose_device(program, events, machine), timed)


def run_on_best(choice: Choice, work: Callable[[Device], _Found]) -> _Found:
    """Run on the best device; on the next one where a card refuses."""
    *others, last = choice.devices
    for device in others:
        try:
            return work(device)
        except ExecutionError as error:
            if device != "gpu" or not _REFUSED & {problem.code for problem in error.problems}:
                raise
            _LOG.info("the GPU does not support this (%s); another device is used", error.problems[0].message)
    return work(last)


def explain_device(choice: Choice, machine: Machine | None = None) -> str:
    """The devices with their estimated seconds, and why."""
    return "\n".join(tell_choice(choice, machine or find_machine()))
