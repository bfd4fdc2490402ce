"""Events piece by piece: rows come out once, when the watermark has made them final.

State is what is still needed: rows that wait, and what the program carries on. Whatever the cuts and the order of
arrival, the rows are those of one batch over all events that were not late.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.events import Kind, schema_of
from trendweave.interruptible import interruptible
from trendweave.programs.carry import check_owner, read_carry, write_carry
from trendweave.programs.program import NO_CARRY, Carry, Program, Steps
from trendweave.programs.steps import select_rows, take_step
from trendweave.programs.ties import count_ties
from trendweave.rows.dropped import NOTHING_DROPPED, Dropped, split_late
from trendweave.rows.encoded import TIME
from trendweave.rows.tables import as_arrow
from trendweave.rows.time_parsing import TimeReading, TimeUnit, read_times, read_value, warn_of_far_future
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.runners.events_at_once import TieWarning
from trendweave.runners.nothing_found import tell_of_other_types

#: Of a workload whose queries came at different times, so many programs are kept at hand.
_REMEMBERED = 8
#: What is done with fewer rows is done soon enough.
_MANY_ROWS = 10_000
#: Rows that wait are joined when they are in more pieces: each of them costs as much as many rows.
_MANY_PIECES = 32
_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")
#: The rows that wait, beside what the program carries.
_ROWS = "rows that wait"


@dataclass(frozen=True, slots=True)
class State:
    """The state of an incremental run: all that is needed to resume, here or elsewhere.

    Attributes:
        rows: Prepared rows of open windows; None before the first.
        carry: State that outlives rows, as tables by name.
        watermark: The time before which events are late, in steps of the time column; None before the first.
        late: Events behind the watermark, which were dropped.
        dropped: Rows that are not events, and events of types that the query does not name.
        owner: The query and the columns that the state belongs to.
        latest: The latest time of an event so far, in steps of the time column; None before the first.
        record: For a workload, its queries and when each was added.
        closed: The watermark up to which all final rows have been returned; nothing was due between it and `watermark`.
    """

    rows: pa.Table | None = None
    carry: Carry = field(default_factory=dict)
    watermark: int | None = None
    late: int = 0
    dropped: Dropped = NOTHING_DROPPED
    owner: str = ""
    latest: int | None = None
    record: str = ""
    closed: int | None = None

    def to_bytes(self) -> bytes:
        """The state as bytes, to resume in another process or later."""
        facts: dict[str, Any] = {"watermark": self.watermark, "late": self.late, "dropped": asdict(self.dropped)}
        facts |= {"latest": self.latest, "record": self.record, "closed": self.closed}
        rows = {} if self.rows is None else {_ROWS: self.rows}
        return write_carry({**self.carry, **rows}, self.owner, facts)

    @staticmethod
    def from_bytes(data: bytes) -> State:
        """The state that `to_bytes` wrote.

        Raises:
            DataError: The bytes are damaged, or of another version (TW311).
        """
        tables, owner, facts = read_carry(data)
        carry = {name: table for name, table in tables.items() if name != _ROWS}
        dropped = Dropped(**facts["dropped"])
        later = facts.get("latest"), facts.get("record", ""), facts.get("closed", facts["watermark"])
        return State(tables.get(_ROWS), carry, facts["watermark"], facts["late"], dropped, owner, *later)


@dataclass(frozen=True, slots=True)
class Given:
    """How events come whose times are still to be read.

    Attributes:
        columns: Their columns as they come.
        times: How times are read.
    """

    columns: pa.Schema
    times: TimeReading

    def read(self, events: pa.Table, time: str) -> pa.Table:
        """Events whose times are read."""
        return read_times(events, (time,), self.times)

    def read_moment(self, value: Any, time: str) -> Any:
        """One time, which a timestamp takes; None where it is none."""
        return read_value(value, self.columns.field(time).type, time, self.times)

    def read_watermark(self, watermark: Any, time: str) -> Any:
        """A watermark as the time column has it, or as a datetime."""
        if isinstance(watermark, datetime):
            return watermark
        moment = self.read_moment(watermark, time)
        if moment is None:
            message = f"the watermark {watermark!r} is not a time of the time column's type"
            raise DataError([Problem("TW312", message, "write it as times are, or give a datetime")])
        return moment

    def as_they_come(self, columns: pa.Schema, time: str) -> pa.Schema:
        """Some columns of the events, the times as they come."""
        return columns.set(columns.get_field_index(time), self.columns.field(time))


class Incremental:
    """An incremental engine. It has no state of its own: every call takes a state and returns the next one.

    A workload can also resume from a state of another workload: queries are identified by name and text. Unchanged
    queries resume; new ones ignore earlier events and return rows for windows and trends that begin after they were
    added.

    Attributes:
        columns: The event columns that the query needs.
        schema: The columns of the result.
        events: The schema of the events with which the engine was made.
        given: How times are parsed, with `time_unit` or `time_format`; None if times are used as they are.
        on_card: Whether a GPU computes: then Ctrl-C waits for it.
    """

    def __init__(self, program: Program, given: Given | None = None, on_card: bool = False) -> None:
        self._program = program = program.lasting()
        self._steps, self._record = program.steps(), program.record
        self._bound = {self._record: (self._program, self._steps)}
        needs = program.needs
        assert needs.time is not None, "programs whose rows have no time have no steps"
        self.time: str = needs.time
        self.type: str | None = needs.type
        self.time_type: TimeType = time_type(program.moment)
        self.schema: pa.Schema = program.schema
        self.given = given
        self.events: pa.Schema = program.events if given is None else given.columns
        self.columns: pa.Schema = program.columns_read
        self.owner: str = program.state_identity
        self._looked_at_times = False
        self._ties = TieWarning()
        self._on_card = on_card

    @property
    def never_closing(self) -> tuple[str | None, ...]:
        """The names of queries with one window over the whole input; None stands for a query without a name."""
        return self._program.never_closing

    @property
    def text(self) -> str:
        """The text of the query, or of all queries."""
        return self._program.text

    def start(self) -> State:
        """An empty state."""
        return State(owner=self.owner, record=self._record)

    def push(self, state: State, events: Any, watermark: Any = None) -> tuple[State, pa.Table]:
        """Add events, then advance the watermark.

        Args:
            state: The state that the last call returned, or `start()`.
            events: A table with the columns of the query. Events with a time before the state's watermark are late:
                dropped and counted.
            watermark: A time of the type of the time column; it never moves back. None leaves it where it is.

        Returns:
            The next state, and the rows that have become final.
        """
        table = self.read_times(as_arrow(events)[0])
        state = self.take(state, table)
        if not self._looked_at_times and table.num_rows:
            self._looked_at_times = True
            warn_of_far_future(table.column(self.time), self.time, self.unit)
        if watermark is None:
            return state, self.schema.empty_table()
        if self.given is not None:
            watermark = self.given.read_watermark(watermark, self.time)
        return self._close(state, watermark_step(watermark, self.time_type))

    def finish(self, state: State) -> pa.Table:
        """Return the remaining rows, when no more events will arrive."""
        dropped, types = state.dropped, self._program.needs.named_types
        if types and dropped.other_type and dropped.other_type + dropped.null_time + dropped.null_type == dropped.rows:
            tell_of_other_types(self._program.text, types, dropped.other_type)
        state, rows = self._close(self._check(state), None)
        return rows.replace_schema_metadata(state.dropped.metadata)

    def read(self, data: bytes) -> State:
        """A state from `State.to_bytes`. It must belong to this query; a workload also accepts that of another
        workload.
        """
        return self._check(State.from_bytes(data))

    def take_over(self, state: State) -> State:
        """The same for a `State` object."""
        return self._check(state)

    # For sessions, which count in steps of the time column

    @property
    def unit(self) -> TimeUnit | None:
        """The unit of times that are epoch numbers; None if times are used as they are."""
        return None if self.given is None else self.given.times.unit

    def read_times(self, events: pa.Table) -> pa.Table:
        """Events with parsed times, of the type that the query expects."""
        return events if self.given is None else self.given.read(events, self.time)

    def take(self, state: State, events: pa.Table) -> State:
        """Add events with parsed times to the state; no window is computed."""
        return self._take(self._check(state), fit_columns(events, self.columns))

    def advance(self, state: State, watermark: int) -> tuple[State, pa.Table]:
        """Move the watermark and return the rows that it makes final."""
        return self._close(self._check(state), watermark)

    def folds(self, state: State) -> bool:
        """Whether moving the watermark makes the state smaller even if no row becomes final."""
        steps = self._bind(self._check(state))[1]
        return steps is not None and steps.folds

    def held(self, state: State) -> int:
        """About how many rows, or keys of folded events, a state holds."""
        return max([0 if state.rows is None else state.rows.num_rows, *(one.num_rows for one in state.carry.values())])

    def due(self, earliest: int, latest: int, state: State) -> int | None:
        """The watermark at which further rows between these times first become due."""
        steps = self._bind(self._check(state))[1]
        assert steps is not None
        return steps.due((earliest, latest), NO_CARRY, state.closed)

    def next_due(self, state: State) -> int | None:
        """The watermark at which rows of the state next become due."""
        steps = self._bind(self._check(state))[1]
        assert steps is not None
        waiting = None
        if state.rows is not None and state.rows.num_rows:
            times = as_steps(state.rows.column(TIME), self.time_type)
            waiting = int(times.min()), int(times.max())
        return steps.due(waiting, state.carry, state.closed)

    # Pieces

    def _check(self, state: State) -> State:
        changed = state.owner != self.owner
        if changed and not (state.record and self._record):
            check_owner(state.owner, self.owner)
        if not changed and state.record in self._bound:
            return state
        # Another engine has left it: there its queries may be put together in another way.
        program = self._program.after_change(state.record, _after(state) if changed else None)
        if changed:
            return self._go_on(state, program)
        if program.record != state.record:
            return self._go_on(state, program)
        self._remember(program)
        return state

    def _go_on(self, state: State, program: Program) -> State:
        """The state as one of another program."""
        rows = None if state.rows is None else program.rewrite(state.rows)
        carry = program.still_carried(state.carry)
        self._remember(program)
        return replace(state, rows=rows, carry=carry, owner=self.owner, record=program.record)

    def _bind(self, state: State) -> tuple[Program, Steps | None]:
        """What computes a state that was checked: queries of a workload may have come at different times."""
        return self._bound[state.record]

    def _remember(self, program: Program) -> None:
        if len(self._bound) > _REMEMBERED:
            self._bound = {self._record: (self._program, self._steps)}
        self._bound[program.record] = (program, program.steps())

    def _take(self, state: State, events: pa.Table) -> State:
        late, latest = 0, _latest(events, self.time, self.time_type)
        if latest is not None and state.latest is not None:
            latest = max(latest, state.latest)
        if state.watermark is not None:
            events, late = split_late(events, self.time, self.type, self.time_type, state.watermark)
        rows, dropped = self._bind(state)[0].prepare(events)
        together = rows if state.rows is None else pa.concat_tables([state.rows, rows])
        if together.column(0).num_chunks > _MANY_PIECES:
            together = together.combine_chunks()
        latest = state.latest if latest is None else latest
        return replace(state, rows=together, late=state.late + late, dropped=state.dropped + dropped, latest=latest)

    def _close(self, state: State, watermark: int | None) -> tuple[State, pa.Table]:
        """What is final before the watermark (None: everything) is computed, and what only that needed is let go."""
        if watermark is not None and state.watermark is not None:
            watermark = max(watermark, state.watermark)
        nothing = self.schema.empty_table()
        program, steps = self._bind(state)
        if steps is None:
            if watermark is not None or state.rows is None:
                return replace(state, watermark=watermark, closed=watermark), nothing
            compute = self._ended_by_ctrl_c(state, lambda rows: list(program.compute(rows).batches))
            self._ties.look(program, state.rows)
            dropped = state.dropped + Dropped(same_time=count_ties(program, state.rows))
            state = replace(state, dropped=dropped)
            return state, pa.Table.from_batches(compute(state.rows), self.schema)
        if state.rows is None and not state.carry:
            return replace(state, watermark=watermark, closed=watermark), nothing
        state, result = self._ended_by_ctrl_c(state, self._step)(program, steps, state, watermark)
        if watermark is not None:
            settled = program.settled(watermark)
            if settled is not program:
                state = self._go_on(state, settled)
        return state, result

    def _ended_by_ctrl_c(self, state: State, work: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
        """Work on a state that Ctrl-C ends, where it is so much that it matters."""
        many = state.rows is not None and state.rows.num_rows >= _MANY_ROWS
        return interruptible(work) if many and not self._on_card else work

    def _step(self, program: Program, steps: Steps, state: State, watermark: int | None) -> tuple[State, pa.Table]:
        rows = state.rows
        if rows is None:
            rows = program.prepare(self.columns.empty_table())[0]
        times = as_steps(rows.column(TIME), self.time_type)
        step, kept = take_step(steps, rows, times, state.carry, state.closed, watermark)
        result = pa.Table.from_batches(step.batches, self.schema)
        dropped = state.dropped
        if not kept.all():
            # Events of one time are let go together, each once.
            final = select_rows(rows, ~kept)
            dropped += Dropped(same_time=count_ties(program, final))
            self._ties.look(program, final)
            rows = rows.filter(pa.array(kept)).combine_chunks()
        state = replace(state, rows=rows, carry=step.carry, watermark=watermark, closed=watermark, dropped=dropped)
        return state, result


def _after(state: State) -> int | None:
    """The first time after everything that has come so far, in steps; None where nothing has."""
    known = [] if state.latest is None else [state.latest + 1]
    known += [] if state.watermark is None else [state.watermark]
    return max(known, default=None)


def _latest(events: pa.Table, time: str, kind: TimeType) -> int | None:
    """The latest time of some events, in steps."""
    if not events.num_rows:
        return None
    column = events.column(time)
    steps = as_steps(column.filter(has_time(column)), kind)
    return int(steps.max()) if steps.size else None


def fit_columns(events: pa.Table, wanted: pa.Schema) -> pa.Table:
    """The columns that the query needs, in the types that it was made for."""
    columns, kinds, given = {}, schema_of(wanted), schema_of(events.schema)
    for one in wanted:
        name = one.name
        if name not in given or given[name].kind not in (kinds[name].kind, Kind.NULL):
            found = given[name].kind.value if name in given else "missing"
            message = f"column {name} of a piece is {found}; the query was made for {one.type}"
            raise DataError([Problem("TW312", message, "give every piece the same columns")])
        try:
            columns[name] = events.column(name).cast(one.type)
        except pa.ArrowException as error:
            message = f"column {name} of a piece does not fit {one.type}: {error}"
            raise DataError([Problem("TW312", message, "give every piece the same columns")]) from error
    return pa.table(columns)


def watermark_step(watermark: Any, kind: TimeType) -> int:
    """A watermark, given as a value of the time column, in steps."""
    try:
        moment = pa.array([watermark], kind.arrow)
        if kind.is_float and not np.isfinite(watermark):
            raise ValueError("it is not finite")
        if not kind.is_float and isinstance(watermark, float):
            raise TypeError("it is a float")
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        message = f"the watermark {watermark!r} is not a time of the time column's type, which is {kind.arrow}: {error}"
        raise DataError([Problem("TW312", message, "give it as a value of that type")]) from error
    return int(as_steps(pa.chunked_array([moment]), kind)[0])
