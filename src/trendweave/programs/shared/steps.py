"""A workload piece by piece: each unit makes its own steps, on the rows of its times, with its part of the carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from trendweave.programs.program import EVERYTHING, FIRST, LAST, NO_CARRY, Carry, Step, Steps
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Given
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps, time_type

if TYPE_CHECKING:
    from trendweave.programs.shared.program import Pass, Shared


@dataclass(frozen=True)
class SharedSteps(Steps):
    """The steps of each pass of a program over its units."""

    program: Shared
    steps: tuple[Steps, ...]
    in_parts: bool

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

    def _passes(self) -> Iterator[tuple[Pass, str, Steps]]:
        return zip(self.program.passes, self.program.carry_keys, self.steps, strict=True)

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        carried = _by_key(carry)
        known = (
            steps.due(
                _own_times(waiting, _let_go(steps, carried.get(key), watermark), one.first),
                carried.get(key, NO_CARRY),
                watermark,
            )
            for one, key, steps in self._passes()
        )
        return min((due for due in known if due is not None), default=None)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return hull(steps.reads(before, watermark) for steps in self.steps)

    def keeps_from(self, watermark: int) -> int:
        first = min(steps.keeps_from(watermark) for steps in self.steps)
        pane = self.pane
        return first if pane is None or first <= FIRST else first // pane * pane

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        select = _Selection(self.program.share(rows), time_type(self.program.moment))
        batches: list[pa.RecordBatch] = []
        kept: dict[str, pa.Table] = {}
        carried = _by_key(carry)
        for one, key, steps in self._passes():
            first, end = steps.reads(before, watermark)
            # What a unit has let go is there for others.
            gone = _let_go(steps, carried.get(key), before)
            own = select.between(max(first if gone is None else max(first, gone), one.first), end)
            unit = self.program.units[one.unit]
            with self.program.telling(one.unit):
                view = self.program.view(one.unit, own)
                given: Iterable[Given] = ()
                after: Carry = NO_CARRY
                if not isinstance(steps, AtTheEnd):
                    known = carried.get(key, NO_CARRY)
                    given, after = unit.step(steps, self.in_parts, view, known, before, watermark)
                elif watermark is None:
                    given = unit.compute(view, EVERYTHING, self.program.metrics)
                batches += self.program.write(one, given, self.in_parts)
            kept |= {f"{key}/{name}": table for name, table in after.items()}
        return Step(batches, kept)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return hull(steps.looks_at(changed, before) for steps in self.steps)

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        select = _Selection(self.program.share(rows), time_type(self.program.moment))
        for one, _, steps in self._passes():
            if isinstance(steps, AtTheEnd):
                continue
            first, end = steps.looks_at(changed, before)
            own = select.between(max(first, one.first), end)
            with self.program.telling(one.unit):
                view = self.program.view(one.unit, own)
                given = self.program.units[one.unit].peek(steps, view, changed, before)
                yield from self.program.write(one, given)


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


def _by_key(carry: Carry) -> dict[str, dict[str, pa.Table]]:
    """What is carried, by the key of its pass."""
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


def hull(ranges: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The times from the first to the last of ranges that are not empty."""
    known = [(first, end) for first, end in ranges if first < end]
    return (min(first for first, _ in known), max(end for _, end in known)) if known else (0, 0)
