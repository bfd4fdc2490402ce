"""A query that shares rows with others and nothing else: any program, on its own view of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from trendweave.programs.program import Carry, PartialResults, Program, Scope, Steps
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Found, Part, UnitStep


@dataclass(frozen=True)
class AloneUnit:
    """One member, computed by its own program."""

    member: int
    program: Program
    first: int = 0

    @property
    def members(self) -> tuple[int, ...]:
        return (self.member,)

    @property
    def sources(self) -> tuple[Program, ...]:
        return (self.program,)

    def placed(self, first: int) -> AloneUnit:
        return replace(self, first=first)

    def view(self, rows: SharedRows) -> pa.Table:
        return self.program.adopt(rows.view(self.first))

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        for batch in self.program.compute(self.view(rows), scope).batches:
            yield Found(pa.Table.from_batches([batch]), self.member)

    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Parts of stretches of time are for places that cut time anywhere; here rows meet by keys."""
        parts = self.program.partials()
        return (None if parts is None or parts.of_stretches else parts,)

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Part]:
        merger = self.mergers()[0]
        if merger is not None:
            yield Part(merger.compute(self.view(rows), scope), 0)
            return
        yield from (Part(found.table, 0, found) for found in self.compute(rows, scope))

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Found:
        merges = self.mergers()[merger]
        assert merges is not None, "final rows are not merged"
        return Found(merges.merge(parts, scope), self.member)

    def steps(self, in_parts: bool) -> AloneSteps | None:
        in_parts = in_parts and self.mergers()[0] is not None
        steps = self.program.steps(in_parts)
        return None if steps is None else AloneSteps(self, steps, in_parts)


@dataclass(frozen=True, slots=True)
class AloneSteps:
    """The program's own steps."""

    unit: AloneUnit
    inner: Steps
    in_parts: bool

    @property
    def pane(self) -> int | None:
        return self.inner.pane

    @property
    def carries(self) -> bool:
        return self.inner.carries

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        return self.inner.due(waiting, carry, watermark)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.inner.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark)

    def step(self, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None) -> UnitStep:
        step = self.inner.step(self.unit.view(rows), carry, before, watermark)
        tables = (pa.Table.from_batches([batch]) for batch in step.batches)
        if self.in_parts:
            return UnitStep([Part(table, 0) for table in tables], step.carry)
        return UnitStep([Found(table, self.unit.member) for table in tables], step.carry)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self.inner.looks_at(changed, before)

    def peek(self, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        for batch in self.inner.peek(self.unit.view(rows), changed, before):
            yield Found(pa.Table.from_batches([batch]), self.unit.member)
