"""What computes some queries of a workload together, on rows that all of them share, and counts of what was shared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.errors import ExecutionError, Problem, TrendweaveError
from trendweave.planning.plan import GroupColumn, Plan
from trendweave.programs.program import Carry, PartialResults, Program, Scope, Steps
from trendweave.programs.trends.bound import BoundTrends


@dataclass(slots=True)
class SharingMetrics:
    """Sharing metrics of one run, or of several that share the object.

    Attributes:
        queries: Queries that were computed together with others.
        expressions_saved: Row expressions and conditions that another query already used.
        bursts_shared: Bursts of events of a shared part of patterns that were propagated once for several queries.
        bursts_alone: Bursts that were propagated for each query.
        snapshots: Points from which values of several queries continued as one.
        splits: Changes from shared to separate propagation.
        merges: Changes back to shared propagation.
        copies: Rows that were copied to parameterised rules.
    """

    queries: int = 0
    expressions_saved: int = 0
    bursts_shared: int = 0
    bursts_alone: int = 0
    snapshots: int = 0
    splits: int = 0
    merges: int = 0
    copies: int = 0

    def take(self) -> list[int]:
        """The counts that add up, in the order of `COUNTED`; they begin at zero again."""
        counts = [getattr(self, name) for name in COUNTED]
        for name in COUNTED:
            setattr(self, name, 0)
        return counts

    def add(self, other: SharingMetrics) -> None:
        """Add the counts of another run; what is the same in every piece of a run is kept."""
        self.queries = max(self.queries, other.queries)
        self.expressions_saved = max(self.expressions_saved, other.expressions_saved)
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


#: Counts that add up from piece to piece.
COUNTED = tuple(one.name for one in fields(SharingMetrics) if one.name not in ("queries", "expressions_saved"))


T = TypeVar("T")
Trends = TypeVar("Trends", bound=BoundTrends)
#: Names that an error tells where it may be one of many queries'.
_FEW = 8
#: A column with the number of the member that a row belongs to, where a table has rows of several.
MEMBER = "trendweave_member"


@dataclass(frozen=True, slots=True)
class Given:
    """A table that a unit gives: result rows of a member in its own columns, or of several, where the first column is
    MEMBER and `member` is None; or a part of results, with the number of whoever merges it in the unit."""

    table: pa.Table
    member: int | None = None
    merger: int | None = None


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


class Unit(ABC):
    """A unit of a sharing plan, bound to programs. The needs of its `source` are served by the shared rows; the unit
    sees them as this program does.

    What is said here of steps is about units whose results one program merges.
    """

    @property
    @abstractmethod
    def members(self) -> tuple[int, ...]:
        """The numbers of the members that it answers."""

    @property
    @abstractmethod
    def source(self) -> Program:
        """The program whose needs rows must serve."""

    @property
    def patterns(self) -> Sequence[Plan]:
        """The patterns that the source's rows are read for."""
        return (self.source.plan,) if isinstance(self.source, BoundTrends) else ()

    @property
    def saved(self) -> int:
        """Row expressions and conditions of its members that its source need not ask for again."""
        return 0

    @abstractmethod
    def compute(self, rows: pa.Table, scope: Scope, metrics: SharingMetrics, in_parts: bool = False) -> Iterator[Given]:
        """Result rows, of all rows that meet in one place; or parts of them, where there is something to merge."""

    @abstractmethod
    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Who merges parts of results; None for one whose parts are final rows already."""

    def merge(self, merger: int, parts: pa.Table, scope: Scope) -> Given:
        """Result rows of all parts that meet in one place."""
        merges = self.mergers()[merger]
        assert merges is not None, "final rows are not merged"
        if self._owner is not None:
            return Given(merges.merge(parts, scope), self._owner)
        # Parts of several members meet by the window and the member.
        numbers = parts.column(merges.together[1]).to_numpy()

        def take(own: np.ndarray) -> pa.Table:
            return parts.filter(pa.array(own))

        return Given(by_member(name_member(parts, numbers, take, lambda some: merges.merge(some, scope))))

    # Piece by piece

    @abstractmethod
    def steps(self, in_parts: bool, early: bool, metrics: SharingMetrics) -> Steps | None:
        """When there is something to do; None where nothing is final before the end. See `Program.steps`."""

    def step(
        self, steps: Any, in_parts: bool, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None
    ) -> tuple[Iterable[Given], Carry]:
        """Take one of its steps, on rows of the times that `reads` says: what it gives, and what to remember."""
        step = steps.step(rows, carry, before, watermark)
        merger = 0 if in_parts and self.mergers()[0] is not None else None
        return (Given(pa.Table.from_batches([batch]), self._owner, merger) for batch in step.batches), step.carry

    def peek(self, steps: Any, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[Given]:
        """Current rows of what is still open, of rows of the times that `looks_at` says. See `Steps`."""
        for batch in steps.peek(rows, changed, before):
            yield Given(pa.Table.from_batches([batch]), self._owner)

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
    def source(self) -> Program:
        return self.program

    def compute(self, rows: pa.Table, scope: Scope, metrics: SharingMetrics, in_parts: bool = False) -> Iterator[Given]:
        merger = self.mergers()[0] if in_parts else None
        if merger is not None:
            yield Given(merger.compute(rows, scope), merger=0)
            return
        for batch in self.program.compute(rows, scope).batches:
            yield Given(pa.Table.from_batches([batch]), self.member)

    def mergers(self) -> tuple[PartialResults | None, ...]:
        """Parts of stretches of time are for places that cut time anywhere; here rows meet by keys."""
        parts = self.program.partials()
        return (None if parts is None or parts.of_stretches else parts,)

    def steps(self, in_parts: bool, early: bool, metrics: SharingMetrics) -> Steps | None:
        return self.program.steps(in_parts and self.mergers()[0] is not None, early)


# Rows of several members in one table, where the number of the member is one more group


def group_by_member(program: Trends) -> Trends:
    """A program whose first group is the member."""
    groups = (GroupColumn(MEMBER, (MEMBER,), None, apart=True), *program.plan.groups)
    events = program.events.append(pa.field(MEMBER, pa.int32()))
    return replace(program, plan=replace(program.plan, groups=groups), events=events)


def by_member(table: pa.Table) -> pa.Table:
    """Rows by member, with its number in front: it stands behind the window, where a group stands."""
    table = table.select([MEMBER, *(name for name in table.column_names if name != MEMBER)])
    numbers = table.column(MEMBER).to_numpy()
    if (numbers[1:] >= numbers[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(numbers, kind="stable")))


def name_member(
    table: T, numbers: np.ndarray, take: Callable[[np.ndarray], T], compute: Callable[[T], pa.Table]
) -> pa.Table:
    """Compute something of the rows of several members; where that fails, the error says whose it is.

    Args:
        table: The rows.
        numbers: The member of each.
        take: Gives some of the rows, by a mask.
        compute: What is done with them.
    """
    try:
        return compute(table)
    except TrendweaveError:
        for member in np.unique(numbers):
            with telling_member(int(member)):
                compute(take(numbers == member))
        raise
