"""The one contract: a plan bound to the columns of some events is a program, and every place runs programs.

A place (a table in this process, pieces of events, a session, a Spark DataFrame, a Spark stream) does what its engine
does well: it reads columns, evaluates row expressions, filters, brings rows together and sorts them. What it has to do
stands in `Needs`. The rest is the program's: rows in, Arrow batches out, all at once (`compute`), in parts that are
merged (`partials`), or piece by piece (`steps`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeGuard

import pyarrow as pa

from trendweave.errors import Problem
from trendweave.language.syntax_tree import Expression
from trendweave.planning.plan import Path
from trendweave.results.types import ResultColumn, result_schema
from trendweave.rows.dropped import Dropped

if TYPE_CHECKING:
    from trendweave.programs.shared.program import Shared

#: The kernels that a program calls, for places that compile them once per machine.
Work: TypeAlias = Literal["aggregates", "trends", "intervals", "shared", "folded", "windows", "joins"]
#: What outlives rows when a program runs piece by piece: tables by name.
Carry: TypeAlias = Mapping[str, pa.Table]
NO_CARRY: Carry = {}
#: A further column of results where trends are counted; no result shows it.
TRENDS = "trendweave_trends"
#: The mark of the family that a row was copied for, and a number that rows of it have in common that must meet.
FAMILY, MEETS = "trendweave_family", "trendweave_meets"


@dataclass(frozen=True, slots=True)
class Flag:
    """Set in rows of a type (None: of any) in which a condition (None: any) is true."""

    type: str | None = None
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Rows that meet by the same keys.

    Attributes:
        keys: Attributes of prepared rows.
        takes: Rows with one of these flags, by number; None: all.
    """

    keys: tuple[Path, ...]
    takes: tuple[int, ...] | None

    @property
    def mark(self) -> int:
        """A number for its rows that tells its keys, whatever other families there are."""
        return zlib.crc32(repr(self.keys).encode()) >> 1


@dataclass(frozen=True, slots=True)
class Needs:
    """What a place does with events before a program computes.

    Attributes:
        time: The column with the time; rows without one are dropped. None where a row has no single time.
        type: The column with the type; rows without one are dropped. None where rows have none.
        read: The columns of events that are read at all.
        named_types: Types that the query names; None: all. Events of other types are counted.
        kept_types: Only rows of these types are kept; None: of any.
        known: Attributes that must not be NULL.
        columns: Prepared columns by name, with the row expressions that fill them.
        flags: One bit per row each; None for one that is set later.
        words: The columns that hold the flags, 64 in each.
        narrow: Whether flags are kept in as few bits as they need.
        only_flagged: Rows without any flag are dropped.
        together: Attributes of prepared rows by which rows meet in one place.
        families: Where rows meet in several ways, each row is copied for each of these that takes it, with the mark of
            the family as `FAMILY`, and `MEETS`, a number that rows of a family with the same keys have in common.
        merged: Those of them that rows of the result have in common, so that nothing is left to merge.
        rule: A rule by which rows are made now and were not before; states of the time before do not fit.
    """

    time: str | None
    type: str | None
    read: tuple[str, ...]
    named_types: frozenset[str] | None = frozenset()
    kept_types: frozenset[str] | None = None
    known: tuple[Path, ...] = ()
    columns: tuple[tuple[str, Expression], ...] = ()
    flags: tuple[Flag | None, ...] = ()
    words: tuple[str, ...] = ()
    narrow: bool = False
    only_flagged: bool = False
    together: tuple[Path, ...] = ()
    families: tuple[Family, ...] = ()
    merged: tuple[Path, ...] = ()
    rule: str | None = None

    @property
    def own_keys(self) -> tuple[Path, ...]:
        """Keys that prepared rows have by themselves: those of several families are columns of a shuffle."""
        return self.together if len(self.families) <= 1 else ()


@dataclass(frozen=True, slots=True)
class TieKeys:
    """What events of one partition have in common, as attributes of prepared rows, with columns that order events of
    one time; those of `known` must not be NULL."""

    keys: tuple[Path, ...]
    known: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeCut:
    """How time can be cut into chunks, in steps of the time column: a chunk owns what begins in its `length` steps, and
    reads so many steps before and after it; `last_step` asks for the last earlier time at which there is a row, too."""

    length: int
    before: int = 0
    after: int = 0
    last_step: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a result is asked for.

    Attributes:
        windows: A range of windows, by number; of windows that move with the stream, of times in steps.
        chunk: The length of the chunks of time whose numbers the rows carry, in steps; each owns what begins in it.
        counted: A last column `TRENDS` tells how many trends are behind each row.
        wait: Only trends that wait for what may follow their last event, or only the others; None: all.
    """

    windows: tuple[int, int] | None = None
    chunk: int | None = None
    counted: bool = False
    wait: bool | None = None


EVERYTHING = Scope()


@dataclass(slots=True)
class Output:
    """Batches of result rows, made while they are read. `trends` is how many will be shown, where that is known."""

    batches: Iterator[pa.RecordBatch]
    trends: int | None = None

    @staticmethod
    def of_table(table: pa.Table) -> Output:
        return Output(iter(table.to_batches()))


@dataclass(frozen=True, slots=True)
class PartialResults:
    """Results in parts, where what belongs to one row of the result is spread over several places.

    Attributes:
        schema: The columns of a part.
        together: Columns of a part by which parts meet; none: all parts meet in one place.
        compute: Gives the part of some rows.
        merge: Gives the result rows of all parts that meet in one place.
        of_stretches: Whether rows come in stretches of time, any way they are cut, and not by what `Needs.together`
            says.
    """

    schema: pa.Schema
    together: tuple[str, ...]
    compute: Callable[[pa.Table, Scope], pa.Table]
    merge: Callable[[pa.Table, Scope], pa.Table]
    of_stretches: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a stream gives: batches of rows that have become final, and what to remember after it."""

    batches: Iterable[pa.RecordBatch]
    carry: Carry = field(default_factory=dict)


#: Before and after all times, which have 64 bits.
FIRST, LAST = -(2**63), 2**63


class Steps:
    """A program piece by piece: when it has something to do, and with which rows. Rows that wait are the place's; what
    outlives rows is the carry. Times and watermarks are in steps of the time column; a watermark of None is the end of
    all events.

    Where nothing else is said, rows are taken as soon as the watermark has passed them, so that no windows wait for
    others and there are no earlier rows to look at.
    """

    __slots__ = ()

    @property
    def pane(self) -> int | None:
        """Rows are kept and let go by panes of so many steps; None where any time can be a border."""
        return None

    @property
    def carries(self) -> bool:
        """Whether there is ever anything in the carry."""
        return False

    @property
    def folds(self) -> bool:
        """Whether a step takes rows that the watermark has passed into the carry, so that they need not wait for a
        window to close: a step is then worth taking whenever the watermark has moved, also before anything is due."""
        return False

    def due(self, waiting: tuple[int, int] | None, carry: Carry, watermark: int | None) -> int | None:
        """The watermark at which there is something to do next, for rows between these times; None for never."""
        return None if waiting is None else waiting[0] + 1

    def reads(self, before: int | None, watermark: int | None) -> tuple[int, int]:
        """The times, from and up to but without, of the rows that `step` has to see."""
        return FIRST, LAST if watermark is None else watermark

    def keeps_from(self, watermark: int) -> int:
        """The time from which rows are needed after a step; a border of panes."""
        return watermark

    def step(self, rows: pa.Table, carry: Carry, before: int | None, watermark: int | None) -> Step:
        """Move the watermark from `before`, over waiting rows of the times that `reads` says."""
        raise NotImplementedError

    def looks_at(self, changed: tuple[int, int], before: int | None) -> tuple[int, int]:
        """The times, from and up to but without, of the rows that `peek` has to see."""
        return 0, 0

    def peek(self, rows: pa.Table, changed: tuple[int, int], before: int | None) -> Iterable[pa.RecordBatch]:
        """Current rows of what is still open and changed by rows between these times."""
        return ()


def describe_key(rows: pa.Table, row: int, keys: Mapping[Path, str]) -> str:
    """The values of keys in a row, for messages."""
    shown = []
    for (column, *names), key in keys.items():
        value = rows.column(column)[row].as_py()
        for name in names:
            value = None if value is None else value[name]
        shown.append(f"{key}={value}")
    return ", ".join(shown) or "(none)"


class Program(Protocol):
    """A plan bound to the columns of some events: the same object in every place.

    Attributes:
        events: The columns of the events that it is bound to.
    """

    events: pa.Schema

    @property
    def text(self) -> str:
        """The query, for messages."""

    @property
    def work(self) -> Work:
        """The kernels that it calls."""

    @property
    def needs(self) -> Needs:
        """What a place does before rows come."""

    @property
    def tie_keys(self) -> TieKeys | None:
        """What events of one time are told apart by; None where nothing depends on which of them comes first."""
        return None

    @property
    def result(self) -> tuple[ResultColumn, ...]:
        """The columns of the result."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The same as an Arrow schema."""
        return result_schema(self.result)

    @property
    def moment(self) -> pa.DataType:
        """The type of times in prepared rows."""

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells it apart from programs whose states do not fit, besides the columns that it reads."""

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        """Prepared rows, by Arrow: what `needs` asks for, and what was dropped."""

    def adopt(self, rows: pa.Table) -> pa.Table:
        """Rows that another engine has made as `needs` says, as `prepare` would have made them."""

    def compute(self, rows: pa.Table, scope: Scope = EVERYTHING) -> Output:
        """Result rows of prepared rows."""

    def partials(self) -> PartialResults | None:
        """Where results of several places have to be merged; None where rows that meet are enough."""
        return None

    def cut(self, wanted: int | None = None) -> TimeCut | None:
        """Chunks of time, for a place that asks for more tasks; `wanted` is a length in nanoseconds. None where time
        cannot be cut."""
        return None

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        """The same piece by piece; None where nothing is final before the end. `in_parts` gives parts to be merged.
        `early`: rows of what is still open are asked for (`peek`), so rows wait until their windows have closed."""

    def problems_of_early_rows(self) -> list[Problem]:
        """Why rows of what is still open cannot be shown; none where they can."""

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        """What brings rows together, by its place in prepared rows, as messages call it."""
        return {}

    def describe_key(self, rows: pa.Table, row: int) -> str:
        """What tells the rows that meet with this one from others, for messages."""
        return describe_key(rows, row, self.shown_keys)


def is_shared(program: Program) -> TypeGuard[Shared]:
    """Whether a program is that of a workload, whose queries come and go while a state lives on. It is told without
    importing that class, which not everybody needs."""
    return hasattr(type(program), "going_on")
