"""What computes some queries of a workload together, on rows that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.programs.program import Carry, PartialResults, Program, Scope, Steps
from trendweave.programs.shared.rows import SharedRows

#: Names that an error tells where it may be one of many queries'.
_FEW = 8
#: A column with the number of the member that a row belongs to, where a table has rows of several.
MEMBER = "trendweave_member"


@dataclass(frozen=True, slots=True)
class Found:
    """Result rows of a member, in its own columns. With `member` None the first column is MEMBER."""

    table: pa.Table
    member: int | None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of results; `merger` is the number, in its unit, of whoever merges it."""

    table: pa.Table
    merger: int


#: Final rows, or a part of results.
Given: TypeAlias = Found | Part


@dataclass(frozen=True, slots=True)
class UnitStep:
    """What one step gives: result rows or parts, and what to remember."""

    given: Iterable[Given]
    carry: Carry = field(default_factory=dict)


class MemberError(ExecutionError):
    """What goes wrong with one member of a unit. `telling_query` gives it the member's name."""

    def __init__(self, problems: Iterable[Problem], source: str | None = None, member: int = -1) -> None:
        super().__init__(problems, source)
        self.member = member

    @staticmethod
    def of(error: TrendweaveError, member: int) -> MemberError:
        return MemberError(error.problems, error.source, member)


@contextmanager
def telling_query(members: Sequence[int], names: Sequence[Sequence[str]]) -> Iterator[None]:
    """Errors say of which query they are: of a member that is known, or of one of some members.

    Args:
        members: Their numbers.
        names: The names that queries of each member have.
    """
    try:
        yield
    except MemberError as error:
        told = error.about(" or ".join(names[error.member]))
        raise ExecutionError(told.problems) from error
    except TrendweaveError as error:
        possible = [name for member in members for name in names[member]]
        more = len(possible) - _FEW
        shown = " or ".join(possible[:_FEW]) + (f" or one of {more:,} more" if more > 0 else "")
        raise error.about(shown) from error


@contextmanager
def telling_member(member: int) -> Iterator[None]:
    """Errors say of which member they are."""
    try:
        yield
    except TrendweaveError as error:
        raise MemberError.of(error, member) from error


@dataclass(frozen=True, kw_only=True)
class Unit(ABC):
    """A unit of a sharing plan, bound to programs. The needs of its `sources` are served by the shared rows: source i
    sees them as view `first + i`.

    What is said here is about units that see rows as one program does, and whose results that program merges.
    """

    first: int = 0

    @property
    @abstractmethod
    def members(self) -> tuple[int, ...]:
        """The numbers of the members that it answers."""

    @property
    @abstractmethod
    def sources(self) -> tuple[Program, ...]:
        """Programs whose needs rows must serve."""

    def view(self, rows: SharedRows) -> pa.Table:
        """The rows as the first source sees them."""
        return self.sources[0].adopt(rows.view(self.first))

    @abstractmethod
    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        """Result rows, of all rows that meet in one place."""

    @abstractmethod
    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Who merges parts of results; None for one whose parts are final rows already."""

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Given]:
        """Parts of results; rows where these are final."""
        yield from self.compute(rows, scope)

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Found:
        """Result rows of all parts that meet in one place."""
        merges = self.mergers()[merger]
        assert merges is not None, "final rows are not merged"
        return Found(merges.merge(parts, scope), self._owner)

    # Piece by piece

    @abstractmethod
    def steps(self, in_parts: bool, early: bool = False) -> Steps | None:
        """When there is something to do; None where nothing is final before the end. See `Program.steps`."""

    def step(
        self, steps: Any, in_parts: bool, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None
    ) -> UnitStep:
        """Take one of its steps, on rows of the times that `reads` says. See `Steps`."""
        step = steps.step(self.view(rows), carry, before, watermark)
        tables = [pa.Table.from_batches([batch]) for batch in step.batches]
        if in_parts and self.mergers()[0] is not None:
            return UnitStep([Part(table, 0) for table in tables], step.carry)
        return UnitStep([Found(table, self._owner) for table in tables], step.carry)

    def peek(self, steps: Any, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        """Current rows of what is still open, of rows of the times that `looks_at` says. See `Steps`."""
        for batch in steps.peek(self.view(rows), changed, before):
            yield Found(pa.Table.from_batches([batch]), self._owner)

    @property
    def _owner(self) -> int | None:
        return self.members[0] if len(self.members) == 1 else None


@dataclass(frozen=True)
class AloneUnit(Unit):
    """One member, computed by its own program: it shares rows with others and nothing else."""

    member: int
    program: Program

    @property
    def members(self) -> tuple[int, ...]:
        return (self.member,)

    @property
    def sources(self) -> tuple[Program, ...]:
        return (self.program,)

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        for batch in self.program.compute(self.view(rows), scope).batches:
            yield Found(pa.Table.from_batches([batch]), self.member)

    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Parts of stretches of time are for places that cut time anywhere; here rows meet by keys."""
        parts = self.program.partials()
        return (None if parts is None or parts.of_stretches else parts,)

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Given]:
        merger = self.mergers()[0]
        if merger is None:
            yield from super().parts(rows, scope)
        else:
            yield Part(merger.compute(self.view(rows), scope), 0)

    def steps(self, in_parts: bool, early: bool = False) -> Steps | None:
        return self.program.steps(in_parts and self.mergers()[0] is not None, early)
