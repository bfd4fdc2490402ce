"""A session in this process that takes events one by one or in tables, and gives rows back when windows close.

An event that closes nothing is only put aside, which takes a few microseconds; the rows of a window are computed by
the event that closes it. Where events can be folded into numbers that is done for some thousands of them at a time, so
that the event that closes a window waits for its keys, and not for all of its events. Of an interval query, every step
that the watermark has passed is closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.language.durations import read_duration
from trendweave.rows.dropped import Dropped
from trendweave.rows.tables import as_arrow, as_python_rows, as_python_value
from trendweave.rows.time_parsing import warn_of_far_future
from trendweave.rows.times import TimeType, as_steps, as_times, has_time
from trendweave.runners.event_checks import row_checks
from trendweave.runners.incremental import Incremental, State

if TYPE_CHECKING:
    from trendweave.pictures.picture import Picture

#: Events that are put aside before they are prepared, at most. Those that are folded are prepared in some milliseconds,
#: so that no event waits for long; for others the event that closes a window waits for all of its events anyway.
_ASIDE, _ASIDE_TO_FOLD = 50_000, 4_096
_NEVER = 2**63
_MICROSECOND = timedelta(microseconds=1)
_NO_TIMES = (math.inf, -math.inf)
#: Float seconds beyond this do not fit 64 bits of microseconds.
_MOST_SECONDS = 9.2e12
_NOT_TAKEN = (pa.ArrowException, TypeError, ValueError, OverflowError)


class PushSession:
    """A push session, made by `push` of a query. The watermark follows the latest event with the given delay."""

    def __init__(
        self,
        engine: Incremental,
        watermark: str,
        state: bytes | None = None,
        draw: Callable[[], Picture] | None = None,
    ) -> None:
        self._use(engine)
        self._draw = draw
        self._delay = _in_steps(watermark, engine.time_type)
        self._state: State = engine.start()
        self._looked_at_times = False
        self._aside: list[dict[str, Any]] = []
        self._unfit: list[Problem] = []  # of events that Arrow does not take, to be told with the next call
        self._latest, self._watermark = -_NEVER, -_NEVER
        self._noted, self._due = _NEVER, _NEVER  # the first event since `_due` was looked for
        self._unfolded, self._next_fold = (
            0,
            _ASIDE_TO_FOLD,
        )  # events since rows were folded, and at how many they are again
        if state is not None:
            self._go_on(engine.read(state))

    def _use(self, engine: Incremental) -> None:
        if engine.never_closing:
            message = "a session never ends, but the query has one window over the whole input"
            hint = "add WITHIN, or run the query on a table"
            raise ExecutionError([Problem("TW409", message, hint, query=name) for name in engine.never_closing])
        self._engine, self._kind, self._time = engine, engine.time_type, engine.time
        self._fit = _read_rows(engine)
        self._most_aside = _ASIDE
        if engine.folds(engine.start()):
            self._most_aside = _ASIDE_TO_FOLD

    # What happened so far

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'; '.join(f'{label} {text}' for label, text in self._facts())}>"

    def _repr_html_(self) -> str:
        from trendweave.pictures.cards import Card

        pictures = () if self._draw is None else (self._draw(),)
        return Card(type(self).__name__, self._engine.text, self._facts(), pictures).html()

    def _facts(self) -> list[tuple[str, str]]:
        """What is told of the session, without changing anything in it."""
        begun = self.watermark
        return [
            ("watermark", "before the first event" if begun is None else str(begun)),
            ("late events", f"{self.late:,}"),
            ("rows have", ", ".join(self.schema.names)),
        ]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._engine.schema

    @property
    def late(self) -> int:
        """The number of late events, which were dropped. All queries of a workload share one watermark, so an event is
        late for all of them or for none.
        """
        return self._state.late

    @property
    def dropped(self) -> Dropped:
        """Rows that are not events, and events of types that no pattern names."""
        self._prepare()
        self._tell()
        return self._state.dropped

    @property
    def watermark(self) -> Any:
        """The watermark, in the type of the time column: earlier events are late. None before the first event."""
        if self._watermark == -_NEVER:
            return None
        return _as_time(self._watermark, self._kind)

    def state(self) -> bytes:
        """The state as bytes, to resume elsewhere: `push(..., state=...)`."""
        return self._up_to_now().to_bytes()

    def _up_to_now(self) -> State:
        self._prepare()
        self._tell()
        self._hold_watermark()
        return self._state

    def _go_on(self, state: State) -> None:
        self._state = state
        if state.watermark is not None:
            self._watermark, self._latest = state.watermark, state.watermark + self._delay
        self._look_ahead()

    # Events

    def send(self, event: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Add one event and return the rows that it makes final, usually none. An event that is refused changes
        nothing.
        """
        row = self._fit(event)
        moment = row[self._time]
        if moment is None or moment in _NO_TIMES or moment != moment:
            # No event: it is dropped and counted with the others that are put aside.
            self._put_aside(row)
            return []
        step = self._step(moment)
        if step < self._watermark:
            if self._engine.type is not None and row.get(self._engine.type) is None:
                # No event either, and what is no event is not late.
                self._put_aside(row)
                return []
            self._state = replace(self._state, late=self._state.late + 1)
            return []
        self._aside.append(row)
        self._note(step, step)
        if self._watermark >= self._due:
            return as_python_rows(self._close())
        if len(self._aside) >= self._most_aside:
            self._prepare()
        return []

    def send_table(self, events: Any) -> Any:
        """Add a table of events, in any order, and return the rows that it makes final, as a table of the same kind."""
        table, give_back = as_arrow(events)
        self._prepare()
        self._hold_watermark()
        table = self._engine.read_times(table)
        self._state = self._engine.take(self._state, table)
        self._fold(table.num_rows)
        if table.num_rows:
            times = table.column(self._time)
            steps = as_steps(times.filter(has_time(times)).cast(self._kind.arrow), self._kind)
            steps = steps[steps >= self._watermark]
            if steps.size:
                self._note(int(steps.min()), int(steps.max()))
        closed = self._close() if self._watermark >= self._due else self._engine.schema.empty_table()
        self._tell()
        return give_back(closed)

    def finish(self) -> pa.Table:
        """Return the rows of all open windows. The session then starts again with an empty state."""
        self._prepare()
        self._tell()
        rows = self._engine.finish(self._state)
        self._state = self._engine.start()
        self._latest, self._watermark = -_NEVER, -_NEVER
        self._noted, self._due = _NEVER, _NEVER
        return rows

    def _tell(self) -> None:
        """Of events that were left out, before anything closes: the next call goes on without them."""
        problems, self._unfit = self._unfit, []
        if problems:
            raise DataError(problems)

    def _step(self, moment: Any) -> int:
        if isinstance(moment, datetime) and pa.types.is_timestamp(self._kind.arrow):
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            nanoseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND * 1_000
            return nanoseconds // self._kind.step
        seconds: Any = moment  # the types of numbers say little about arithmetic
        if self._kind.is_float and isinstance(moment, Real) and abs(seconds) < _MOST_SECONDS:
            # The same two roundings as in `times.as_steps`.
            whole = math.floor(seconds)
            return whole * 1_000_000 + round((seconds - whole) * 1e6)
        if not self._kind.is_float and isinstance(moment, Integral):
            return int(moment)
        message = f"the time {moment!r} is not a value of the time column, which is {self._kind.arrow}"
        raise DataError([Problem("TW312", message, "give it as a value of that type")])

    def _put_aside(self, row: dict[str, Any]) -> None:
        self._aside.append(row)
        if len(self._aside) >= self._most_aside:
            self._prepare()

    def _note(self, earliest: int, latest: int) -> None:
        """Where the watermark is after events of these times, and where it must get for something to close."""
        if earliest < self._noted:  # what later events bring is due later
            self._noted = earliest
            due = self._engine.due(earliest, latest, self._state)
            self._due = self._due if due is None else min(self._due, due)
        if latest > self._latest:
            self._latest = latest
            self._watermark = max(self._watermark, latest - self._delay)

    def _prepare(self) -> None:
        if not self._aside:
            return
        rows, self._aside = self._aside, []
        try:
            self._take(rows)
        except _NOT_TAKEN:
            self._take_those_that_fit(rows)
        self._fold(len(rows))

    def _fold(self, events: int) -> None:
        """After so many further events, fold those that the watermark has passed, unless something is to close anyway.
        What that costs grows with what is carried and with what must still wait, so it is done after as many events."""
        self._unfolded += events
        if self._unfolded < self._next_fold or not -_NEVER < self._watermark < self._due:
            return
        if self._engine.folds(self._state):
            self._state, rows = self._engine.advance(self._state, self._watermark)
            assert not rows.num_rows, "nothing was due"
        self._folded()

    def _folded(self) -> None:
        self._unfolded, self._next_fold = 0, max(_ASIDE_TO_FOLD, self._engine.held(self._state))

    def _take(self, rows: list[dict[str, Any]]) -> None:
        table = pa.Table.from_pylist(rows, schema=self._engine.columns)
        self._state = self._engine.take(self._state, table)
        if not self._looked_at_times:
            self._looked_at_times = True
            warn_of_far_future(table.column(self._time), self._time, self._engine.unit)

    def _take_those_that_fit(self, rows: list[dict[str, Any]]) -> None:
        """One event that does not fit must not take the others with it."""
        for row in rows:
            try:
                self._take([row])
            except _NOT_TAKEN as error:
                message = f"the event {row} does not fit the columns of the query, and was left out: {error}"
                self._unfit.append(Problem("TW312", message, "give every event values of the same types"))

    def _hold_watermark(self) -> None:
        """The state learns where the watermark is, unless something is still to close."""
        if -_NEVER < self._watermark < self._due:
            self._state = replace(self._state, watermark=self._watermark)

    def _close(self) -> pa.Table:
        self._prepare()
        self._tell()
        self._state, rows = self._engine.advance(self._state, self._watermark)
        self._folded()
        self._look_ahead()
        return rows

    def _look_ahead(self) -> None:
        """Where the watermark must get for something to close."""
        due = self._engine.next_due(self._state)
        self._noted, self._due = _NEVER, _NEVER if due is None else due


def _read_rows(engine: Incremental) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function that copies the values of an event, its time read, or refuses it."""
    given, time = engine.given, engine.time
    if given is None:
        return row_checks(engine.columns)
    fit = row_checks(given.as_they_come(engine.columns, time))

    def read(event: Mapping[str, Any]) -> dict[str, Any]:
        row = fit(event)
        row[time] = given.read_moment(row[time], time)
        return row

    return read


def _in_steps(watermark: str, kind: TimeType) -> int:
    """Rounded up: an event is never late too early."""
    return -(-read_duration(watermark, "watermark", or_none_at_all=True) // kind.step)


def _as_time(step: int, kind: TimeType) -> Any:
    return as_python_value(as_times(np.array([step]), kind)[0])
