"""Measuring prices on this machine: a few queries and operators on events that are made for it, in a few seconds."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa

from trendweave.devices.choosing import Costs, Machine, Work, prepare_rows
from trendweave.devices.kept_costs import save_costs
from trendweave.devices.names import Device
from trendweave.errors import ExecutionError
from trendweave.programs.program import Program
from trendweave.runners.auto.choosing import find_machine, measure_work
from trendweave.runners.auto.sample import look_at
from trendweave.runners.local import run_local
from trendweave.runners.threads.preparing import LEAST_ROWS, count_parts

_ROWS, _PER_KEY = 400_000, 1_000
_FEW = 160_000
#: Rows of those kinds that look at pairs in long windows.
_IN_LONG_WINDOWS = {"pairs": 40_000, "links": 40_000}
_TIMES = 3

#: Binds a case to events of these columns, on a device.
Bind = Callable[[pa.Schema, Device], Program]


@dataclass(frozen=True, slots=True)
class Calibration:
    """Prices, and what they were measured on."""

    costs: Costs
    facts: Mapping[str, str]

    def save(self) -> str:
        """Keep them for this user; where they are kept."""
        return str(save_costs(self.costs, self.facts))


def measure_costs(cases: Mapping[str, Bind], machine: Machine | None = None) -> Calibration:
    """Measure prices.

    Args:
        cases: By the kind of work, something that is mostly that. "nothing" keeps no event, and "short" has the
            shortest trends without conditions, by key.
        machine: What there is.
    """
    machine = machine or find_machine()
    events = make_events(_ROWS)
    timing = _Timing(cases, events)
    costs = _on_one_core(timing, Costs())
    if machine.cores > 1:
        costs = _on_all_cores(timing, costs, machine.cores)
    if machine.card is not None:
        costs = _on_card(timing, costs)
    facts = {"python": platform.python_version(), "numpy": np.__version__, "pyarrow": pa.__version__}
    return Calibration(costs, facts | {"cores": str(machine.cores), "card": machine.card or "none"})


def make_events(rows: int) -> pa.Table:
    """Events of a few types and many keys, in order of time, a second each."""
    draw = np.random.default_rng(0)
    return pa.table(
        {
            "time": pa.array(np.arange(rows) * 1_000_000, pa.timestamp("us")),
            "type": pa.array(draw.choice(["A", "B", "C", "D"], rows)),
            "k": draw.integers(0, max(1, rows // _PER_KEY), rows),
            "x": draw.random(rows),
            "y": draw.random(rows),
        }
    )


@dataclass(frozen=True, slots=True)
class _Timing:
    cases: Mapping[str, Bind]
    events: pa.Table

    def seconds(self, kind: str, device: Device = "cpu", rows: int | None = None) -> float:
        """Nanoseconds of a case; the quickest of some runs, after one that compiles."""
        program = self.cases[kind](self.events.schema, device)
        events = self.events.slice(0, rows or _IN_LONG_WINDOWS.get(kind, _ROWS))
        # One core is busy all the time: what others do on this machine does not count.
        clock = process_time if device == "cpu" else perf_counter
        found = []
        for _ in range(1 + _TIMES):
            began = clock()
            run_local(program, events, None, "threads" if device == "threads" else "cpu")
            found.append(clock() - began)
        return min(found[1:]) * 1e9

    def work(self, kind: str, rows: int | None = None) -> Work:
        """What the model sees in a case."""
        program = self.cases[kind](self.events.schema, "cpu")
        events = self.events.slice(0, rows or _IN_LONG_WINDOWS.get(kind, _ROWS))
        return measure_work(program, look_at(program, events), 1)


def _on_one_core(timing: _Timing, costs: Costs) -> Costs:
    call = timing.seconds("running sums", rows=10)
    read = max(0.1, (timing.seconds("nothing") - call) / _ROWS)
    short = timing.work("short")
    row = max(1.0, (timing.seconds("short") - call - _ROWS * read) / short.kept)
    scale = row / costs.row
    costs = replace(costs, call=call, read=read, row=row)
    costs = replace(costs, deal_row=costs.deal_row * scale, arrange_row=costs.arrange_row * scale)
    for kind in timing.cases:
        if kind in costs.units:
            price = max(0.01, _left(timing, kind, timing.seconds(kind), costs))
            costs = replace(costs, units={**costs.units, kind: price})
    return costs


def _left(timing: _Timing, kind: str, seconds: float, costs: Costs, on_card: bool = False) -> float:
    """What a unit of a case takes besides the call, its rows, and work of other kinds."""
    work, prices = timing.work(kind), costs.card_units if on_card else costs.units
    counted = {one.kind: one.on_card if on_card else one.units for one in work.all_units}
    others = sum(units * prices[other] for other, units in counted.items() if other != kind)
    return (seconds - costs.call - prepare_rows(work, costs) - others) / counted[kind]


def _on_all_cores(timing: _Timing, costs: Costs, cores: int) -> Costs:
    """How much of further cores counts, by as many rows as keep all of them busy; what a run on them costs, by few."""
    kind, rows = "sums over ranks", max(_ROWS, 2 * cores * LEAST_ROWS)
    timing = replace(timing, events=make_events(rows))

    def seconds(rows: int) -> tuple[float, float, int]:
        """A run without the price of a call and of parts, what one core would take for the same, and the parts."""
        one, parts = timing.work(kind, rows), count_parts(rows, cores)
        alone = prepare_rows(one, costs) + one.kept * costs.deal_row + one.units * costs.units[kind]
        return timing.seconds(kind, "threads", rows) - costs.call - parts * costs.part, alone, parts

    took, alone, _ = seconds(rows)
    speed = alone / max(1.0, took - costs.deal_call)
    shared = min(1.0, max(0.05, (speed - 1) / (cores - 1)))
    took, alone, parts = seconds(_FEW)
    call = took - alone * max(1 / parts, 1 / (1 + (cores - 1) * shared))
    return replace(costs, shared=shared, deal_call=min(5e7, max(2e5, call)))


def _on_card(timing: _Timing, costs: Costs) -> Costs:
    """What a card asks for by kind; of what it refuses, prices stay."""
    began = perf_counter()
    program = timing.cases["running sums"](timing.events.schema, "gpu")
    run_local(program, timing.events.slice(0, 10))
    start = (perf_counter() - began) * 1e9
    call = max(1e5, timing.seconds("running sums", "gpu", rows=10) - costs.call)
    costs = replace(costs, card_start=max(start, call), card_call=call, card_byte=_price_of_bytes())
    units = dict(costs.card_units)
    for kind in timing.cases:
        if kind not in units:
            continue
        try:
            there = timing.seconds(kind, "gpu")
        except ExecutionError:
            continue
        work = timing.work(kind)
        units[kind] = max(1e-4, _left(timing, kind, there - call - work.bytes * costs.card_byte, costs, on_card=True))
    return replace(costs, card_units=units)


def _price_of_bytes() -> float:
    """Of one that travels to the card from memory that it reads by itself."""
    from trendweave.gpu.card import find_card

    card, size = find_card(), 64 << 20
    source = card.pinned(size, np.uint8)
    target = card.put(source)
    found = []
    for _ in range(1 + _TIMES):
        began = perf_counter()
        card.copy_in(source, target)
        card.synchronize()
        found.append(perf_counter() - began)
    return max(1e-3, min(found[1:]) * 1e9 / size)
