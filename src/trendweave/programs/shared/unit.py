"""What computes some queries of a workload together, on rows that all of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

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
    """A part of results; `merger` is the number, in its unit, of whoever merges it. None: it is final (`found`)."""

    table: pa.Table
    merger: int
    found: Found | None = None


@dataclass(frozen=True, slots=True)
class UnitStep:
    """What one step gives: result rows or parts, and what to remember."""

    given: Iterable[Found] | Iterable[Part]
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


class UnitSteps(Protocol):
    """As `programs.program.Steps`, on shared rows of the times that `reads` or `looks_at` say."""

    @property
    def pane(self) -> int | None:
        """See `Steps`."""

    @property
    def carries(self) -> bool:
        """See `Steps`."""

    @property
    def folds(self) -> bool:
        """See `Steps`."""

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """See `Steps`."""

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        """See `Steps`."""

    def keeps_from(self, watermark: int) -> int:
        """See `Steps`."""

    def step(self, rows: SharedRows, carry: Carry, before: int | None, watermark: int | None) -> UnitStep:
        """See `Steps`."""

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        """See `Steps`."""

    def peek(self, rows: SharedRows, changed: tuple[int, int], before: int | None) -> Iterable[Found]:
        """See `Steps`."""


@dataclass(frozen=True, slots=True)
class WrappedSteps:
    """Steps of a unit that follow those of a program; the unit says what a step computes."""

    inner: Steps

    @property
    def pane(self) -> int | None:
        return self.inner.pane

    @property
    def carries(self) -> bool:
        return self.inner.carries

    @property
    def folds(self) -> bool:
        return self.inner.folds

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        return self.inner.due(waiting, carry, watermark)

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        return self.inner.reads(before, watermark)

    def keeps_from(self, watermark: int) -> int:
        return self.inner.keeps_from(watermark)

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        return self.inner.looks_at(changed, before)


class OneView(ABC):
    """A unit whose rows are those of one program."""

    first: int

    @property
    @abstractmethod
    def source(self) -> Program:
        """The program."""

    @property
    def sources(self) -> tuple[Program, ...]:
        return (self.source,)

    def view(self, rows: SharedRows) -> pa.Table:
        """The rows as the program sees them."""
        return self.source.adopt(rows.view(self.first))


class BoundUnit(Protocol):
    """A unit of a sharing plan, bound to programs. The needs of its `sources` are served by the shared rows: source i
    sees them as view `first + i`."""

    @property
    def members(self) -> tuple[int, ...]:
        """The numbers of the members that it answers."""

    @property
    def sources(self) -> tuple[Program, ...]:
        """Programs whose needs rows must serve."""

    def placed(self, first: int) -> BoundUnit:
        """The same, knowing the number of its first view."""

    def compute(self, rows: SharedRows, scope: Scope) -> Iterator[Found]:
        """Result rows, of all rows that meet in one place."""

    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Who merges parts of results; None for one whose parts are final rows already."""

    def parts(self, rows: SharedRows, scope: Scope) -> Iterator[Part]:
        """Parts of results."""

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Found:
        """Result rows of all parts that meet in one place."""

    def steps(self, in_parts: bool, early: bool = False) -> UnitSteps | None:
        """Piece by piece; None where nothing is final before the end. See `Program.steps`."""
