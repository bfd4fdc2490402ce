"""A workload piece by piece: each unit makes its own steps, on the rows of its times, with its part of the carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.programs.program import EVERYTHING, FIRST, LAST, NO_CARRY, Carry, Step, Steps
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Given, Unit, UnitStep
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps

#: Writes what units give, by their numbers, as batches.
Write: TypeAlias = Callable[[int, Iterable[Given]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class SharedSteps(Steps):
    """Steps of units. `keys` names a unit in the carry: it does not change when other queries come and go. A unit sees
    no rows before `since`. `telling` says in errors whose they are."""

    units: tuple[Unit, ...]
    steps: tuple[Steps, ...]
    in_parts: bool
    keys: tuple[str, ...]
    since: tuple[int, ...]
    time_type: TimeType
    share: Callable[[pa.Table], SharedRows]
    write: Write
    telling: Callable[[int], AbstractContextManager[None]]

    @property
    def pane(self) -> int | None:
        """The shortest one; longer ones need not be a multiple, as units choose their own rows."""
        panes = [steps.pane for steps in self.steps if steps.pane is not None]
        return min(panes) if panes else None

    @property
    def carries(self) -> bool:
        return any(steps.carries for steps in self.steps)

    @property
    def folds(self) -> bool:
        return any(steps.folds for steps in self.steps)

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        carried = _by_unit(carry)
        known = (
            steps.due(
                _own_times(waiting, _let_go(steps, carried.get(key), watermark), since),
                carried.get(key, NO_CARRY),
                watermark,
            )
            for steps, key, since in zip(self.steps, self.keys, self.since, strict=True)
        )
        return min((due for due in known if due is not None), default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return _hull(steps.reads(before, watermark) for steps in self.steps)

    def keeps_from(self, watermark: int) -> int:
        first = min(steps.keeps_from(watermark) for steps in self.steps)
        pane = self.pane
        return first if pane is None or first <= FIRST else first // pane * pane

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        select = _Selection(self.share(rows), self.time_type)
        batches: list[pa.RecordBatch] = []
        kept: dict[str, pa.Table] = {}
        carried = _by_unit(carry)
        for number, (unit, steps, key) in enumerate(zip(self.units, self.steps, self.keys, strict=True)):
            first, end = steps.reads(before, watermark)
            # What a unit has let go is there for others.
            gone = _let_go(steps, carried.get(key), before)
            own = select.between(max(first if gone is None else max(first, gone), self.since[number]), end)
            with self.telling(number):
                if isinstance(steps, AtTheEnd):
                    step = UnitStep(unit.compute(own, EVERYTHING) if watermark is None else ())
                else:
                    known = carried.get(key, NO_CARRY)
                    step = unit.step(steps, self.in_parts, own, known, before, watermark)
                batches += self.write(number, step.given)
            kept |= {f"{key}/{name}": table for name, table in step.carry.items()}
        return Step(batches, kept)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return _hull(steps.looks_at(changed, before) for steps in self.steps)

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        select = _Selection(self.share(rows), self.time_type)
        for number, (unit, steps) in enumerate(zip(self.units, self.steps, strict=True)):
            if isinstance(steps, AtTheEnd):
                continue
            first, end = steps.looks_at(changed, before)
            own = select.between(max(first, self.since[number]), end)
            with self.telling(number):
                yield from self.write(number, unit.peek(steps, own, changed, before))


@dataclass(frozen=True, slots=True)
class AtTheEnd(Steps):
    """Of a unit with one window over the whole input: all rows wait, and come out when no more events come."""

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> None:
        return None

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return (FIRST, LAST) if watermark is None else (0, 0)

    def keeps_from(self, watermark: int) -> int:
        return FIRST


class _Selection:
    """Rows of some times, looked for once per pair of times."""

    def __init__(self, rows: SharedRows, kind: TimeType) -> None:
        self._rows, self._kind = rows, kind
        self._steps: np.ndarray | None = None
        self._found: dict[tuple[int, int], SharedRows] = {}

    def between(self, first: int, end: int) -> SharedRows:
        if self._steps is None:
            self._steps = as_steps(self._rows.table.column(TIME), self._kind)
        if (first, end) not in self._found:
            self._found[first, end] = self._rows.between(first, end, self._steps)
        return self._found[first, end]


def _by_unit(carry: Carry) -> dict[str, dict[str, pa.Table]]:
    """What is carried, by the key of its unit."""
    found: dict[str, dict[str, pa.Table]] = {}
    for name, table in carry.items():
        key, own = name.split("/", 1)
        found.setdefault(key, {})[own] = table
    return found


def _let_go(steps: Steps, carried: Carry | None, watermark: int | None) -> int | None:
    """The time before which a unit has let rows go at a watermark; None where it has not. Where rows are folded and
    nothing is carried, either none was there that matters, or rows have waited since before rows were folded."""
    if watermark is None or (steps.folds and not carried):
        return None
    return steps.keeps_from(watermark)


def _own_times(waiting: tuple[int, int] | None, gone: int | None, since: int) -> tuple[int, int] | None:
    """The times of rows that wait, without those that the unit has let go or never sees."""
    if waiting is None:
        return None
    first = max(waiting[0], since) if gone is None else max(waiting[0], since, gone)
    return (first, waiting[1]) if first <= waiting[1] else None


def _hull(ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
    known = [(first, end) for first, end in ranges if first < end]
    return (min(first for first, _ in known), max(end for _, end in known)) if known else (0, 0)
