"""A query that shares rows with others and nothing else: any program, on its own view of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from trendweave.programs.program import Carry, PartialResults, Program, Scope
from trendweave.programs.shared.rows import SharedRows
from trendweave.programs.shared.unit import Found, OneView, Part, UnitStep, WrappedSteps


@dataclass(frozen=True)
class AloneUnit(OneView):
    """One member, computed by its own program."""

    member: int
    program: Program
    first: int = 0

    @property
    def members(self) -> tuple[int, ...]:
        return (self.member,)

    @property
    def source(self) -> Program:
        return self.program

    def placed(self, first: int) -> AloneUnit:
        return replace(self, first=first)

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

    def steps(self, in_parts: bool, early: bool = False) -> AloneSteps | None:
        in_parts = in_parts and self.mergers()[0] is not None
        steps = self.program.steps(in_parts, early)
        return None if steps is None else AloneSteps(steps, self, in_parts)


@dataclass(frozen=True, slots=True)
class AloneSteps(WrappedSteps):
    """The program's own steps."""

    unit: AloneUnit
    in_parts: bool

    def step(self, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None) -> UnitStep:
        step = self.inner.step(self.unit.view(rows), carry, before, watermark)
        tables = (pa.Table.from_batches([batch]) for batch in step.batches)
        if self.in_parts:
            return UnitStep([Part(table, 0) for table in tables], step.carry)
        return UnitStep([Found(table, self.unit.member) for table in tables], step.carry)

    def peek(self, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        for batch in self.inner.peek(self.unit.view(rows), changed, before):
            yield Found(pa.Table.from_batches([batch]), self.unit.member)
