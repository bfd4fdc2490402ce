"""The one contract: a plan bound to the columns of some events is a program, and every place runs programs.

A place (a table in this process, pieces of events, a session, a Spark DataFrame, a Spark stream) does what its engine
does well: it reads columns, evaluates row expressions, filters, brings rows together and sorts them. What it has to do
stands in `Needs`. The rest is the program's: rows in, Arrow batches out, all at once (`compute`), in parts that are
merged (`partials`), or piece by piece (`steps`). Whatever else a place asks is a method as well: how rows are dealt out
(`split`, `cut`), what is asked of it (`plans`), whose a state is (`state_identity`), and how it goes on after a change
of queries (`after_change`). No place asks of what kind a program is.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias

import pyarrow as pa

from trendweave.errors import Problem
from trendweave.language.syntax_tree import Attribute, Expression
from trendweave.planning.plan import Path
from trendweave.results.types import ResultColumn, result_schema
from trendweave.rows.dropped import Dropped

if TYPE_CHECKING:
    from trendweave.programs.shared.program import Shared
    from trendweave.programs.shared.unit import SharingMetrics

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
class Split:
    """How rows may be dealt out to cores that compute at the same time.

    Attributes:
        keys: Attributes of prepared rows; rows with the same ones stay together.
        by_time: Whether chunks of time may be dealt out.
        prefers_time: Whether chunks of time are as good as keys, and spare sorting afterwards.
        why_not: Why rows are not dealt out, whatever they are; None where they may be.
    """

    keys: tuple[Path, ...] = ()
    by_time: bool = False
    prefers_time: bool = False
    why_not: str | None = None


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


#: Puts rows of a result into order.
Arrange: TypeAlias = Callable[[pa.Table], pa.Table]


def as_they_are(rows: pa.Table) -> pa.Table:
    """The order of rows that stand in order already."""
    return rows


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


def name_owner(facts: Sequence[str], columns: pa.Schema) -> str:
    """Names a query and the columns that it is computed from; what is carried belongs to one of these.

    Args:
        facts: What the query is.
        columns: The columns that it reads.

    Returns:
        Sixteen characters, the same on every machine.
    """
    types = [f"{field.name} {field.type}" for field in columns]
    return hashlib.sha256("\n".join([*facts, *types]).encode()).hexdigest()[:16]


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
    def plans(self) -> Sequence[Any]:
        """What is asked, for estimates of what it costs: the plan of each of several operators, and one of those
        queries that are computed together."""
        return (getattr(self, "plan", None),)

    @property
    def evaluates(self) -> bool:
        """Whether preparing rows is more than taking columns as they are."""
        needs = self.needs
        computed = any(not isinstance(expression, Attribute) for _, expression in needs.columns)
        tested = any(flag is not None and flag.condition is not None for flag in needs.flags)
        return computed or tested or needs.type is not None

    @property
    def facts(self) -> tuple[str, ...]:
        """What tells it apart from programs whose states do not fit, besides the columns that it reads."""

    @cached_property
    def columns_read(self) -> pa.Schema:
        """The columns of events that it reads."""
        return pa.schema([self.events.field(name) for name in self.needs.read])

    @cached_property
    def state_identity(self) -> str:
        """Whose a state is: programs that tell the same can resume from each other's."""
        return name_owner(self.facts, self.columns_read)

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

    def split(self) -> Split:
        """How its rows may be dealt out to cores."""
        if self.needs.time is None:
            return Split(why_not="rows of given intervals have no single time")
        if (reason := self.why_whole()) is not None:
            return Split(why_not=reason)
        keys, by_time = self.needs.own_keys, self.cut() is not None
        return Split(keys, by_time, why_not=None if keys or by_time else "there are no keys, and time is not cut")

    def why_whole(self) -> str | None:
        """Why all rows are computed together whatever keys they have; None where nothing is against parts."""
        return None

    #: Whether it keeps several cores busy where rows are not dealt out.
    uses_cores: bool = False

    def for_part(self, parts: int) -> Self:
        """The same as one of several cores asks it: limits of memory hold for all of them together, and what each
        counts is its own."""
        return self

    def add_counts(self, part: Program) -> None:
        """Count what a core has counted."""
        return None

    def arranging(self, by_time: bool = False) -> Arrange | None:
        """What puts rows of several parts in the order that `compute` gives them: `as_they_are` where parts stand in
        order; None where the order of rows is free. `by_time`: parts are chunks of time, one after the other."""
        return None

    def check_number(self, batches: Iterator[pa.RecordBatch], trends: int | None) -> Iterator[pa.RecordBatch]:
        """Batches of all parts, of which a limit holds together; `trends` is how many there will be, where that is
        known."""
        return batches

    def steps(self, in_parts: bool = False, early: bool = False) -> Steps | None:
        """The same piece by piece; None where nothing is final before the end. `in_parts` gives parts to be merged.
        `early`: rows of what is still open are asked for (`peek`), so rows wait until their windows have closed."""

    @property
    def never_closing(self) -> tuple[str | None, ...]:
        """The names of queries with one window over the whole input; None stands for a query without a name."""
        return (None,) if self.steps() is None else ()

    def problems_of_early_rows(self) -> list[Problem]:
        """Why rows of what is still open cannot be shown; none where they can."""

    @property
    def shown_keys(self) -> Mapping[Path, str]:
        """What brings rows together, by its place in prepared rows, as messages call it."""
        return {}

    def describe_key(self, rows: pa.Table, row: int) -> str:
        """What tells the rows that meet with this one from others, for messages."""
        return describe_key(rows, row, self.shown_keys)

    # Where queries come and go while a state lives on

    #: What queries share, counted while it computes; None where there is nothing to share.
    metrics: SharingMetrics | None = None

    @property
    def workload(self) -> Shared | None:
        """The same, where queries may come and go; None where it is always one."""
        return None

    @property
    def record(self) -> str:
        """The queries, and since when each is there; kept with every state. It tells another program how to go on."""
        return ""

    def count_what_is_planned(self) -> None:
        """Count what is shared whatever rows come."""
        return None

    def lasting(self) -> Self:
        """The same with rows that hold enough to be rewritten for other queries."""
        return self

    def on_streams(self, early: bool) -> Self:
        """The same, lasting, as a stream computes it, whose state is spread by keys; `early`: rows of what is still
        open are shown."""
        return self

    def after_change(self, record: str, came: int | None) -> Self:
        """The same after a program with this record: queries that it had go on, others are there since `came`, in steps
        of the time column (None: nothing has come yet)."""
        return self

    def settled(self, watermark: int) -> Self:
        """The same where nothing is open any more that began before some query came; often this very object."""
        return self

    def rewrite(self, rows: pa.Table) -> pa.Table:
        """Rows of a lasting program as rows of this one."""
        return rows

    def still_carried(self, carry: Carry) -> Carry:
        """Without what belonged to queries that are gone."""
        return carry
