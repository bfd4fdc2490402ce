"""A stream to watch: events are replayed at some rate, and what comes out is told a few times a second."""

from __future__ import annotations

import operator
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave import EventStore, Query, Workload
from trendweave.serve.asking import Alert, Stream
from trendweave.serve.folders import Refused
from trendweave.serve.worker.cells import describe_column, write_cell
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.sources import Events, bounds_of, open_events

#: How often a page is told what happened, in seconds; how many events are taken at once, at most.
_TELL, _MOST_AT_ONCE = 0.25, 5_000
#: The same where events come late: the watermark moves between pieces, and inside of one nothing is late.
_MOST_LATE_AT_ONCE = 50
#: Rows that a page is told at once; more are counted.
_MOST_ROWS = 60
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}


def replay(job: Job) -> Iterator[Message]:
    """What comes in and what comes out, until all events were replayed.

    Raises:
        TrendweaveError: The queries have problems, do not fit the events, or cannot run on a stream.
    """
    queries = job.queries()
    stream = job.asked.stream
    events = open_events(job)
    table = _in_order_of_arrival(_all_rows(job, events), events.time, stream.delay)
    session = queries.push(table.schema, events.time, events.type_for(queries), watermark=stream.watermark)
    if stream.alert is not None and stream.alert.column not in session.schema.names:
        raise Refused(f"rows have no column {stream.alert.column}; they have {', '.join(session.schema.names)}")
    yield {
        "event": "begins",
        "columns": [describe_column(one) for one in session.schema],
        "total": table.num_rows,
        "several": isinstance(queries, Workload),
    }
    told = _Told(_matching(queries, stream.alert), table.num_rows)
    for piece in _pieces(table, stream):
        if piece.num_rows:
            told.take(session.send_table(piece), piece.num_rows)
        if told.is_due():
            told.look(session)
            yield told.tell()
    told.look(session)  # a session begins anew when it has finished
    told.take(session.finish(), 0)
    yield {**told.tell(), "event": "ends"}


def _all_rows(job: Job, events: Events) -> pa.Table:
    """A store is read between the times that were chosen."""
    if not isinstance(events.found, EventStore):
        return events.found
    table = events.found.read()
    bounds = bounds_of(job.asked.needed_source(), events.found)
    if bounds is None:
        return table
    column = table.column(events.time)
    first, end = (_moment(bound, column.type) for bound in bounds)
    return table.filter(pc.and_(pc.greater_equal(column, first), pc.less(column, end)))


def _moment(bound: Any, type_: pa.DataType) -> pa.Scalar:
    """A time as a column has it; without a zone it is UTC."""
    if not pa.types.is_timestamp(type_):
        return pa.scalar(bound)
    found = datetime.fromisoformat(bound)
    zoned = found.replace(tzinfo=UTC) if type_.tz and found.tzinfo is None else found
    return pa.scalar(zoned).cast(type_)


def _in_order_of_arrival(table: pa.Table, time_: str, delay: float) -> pa.Table:
    """By time; with a delay, each event some random seconds later, so that some come behind others."""
    if time_ not in table.column_names:
        return table  # the query says so itself, with the columns that are there
    moments = table.column(time_)
    if delay <= 0:
        return table.take(pc.sort_indices(moments))
    seconds = _in_seconds(moments)
    arrivals = seconds + np.random.Generator(np.random.PCG64(1)).uniform(0, delay, seconds.size)
    return table.take(pa.array(np.argsort(arrivals, kind="stable")))


def _in_seconds(moments: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_timestamp(moments.type):
        steps = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[moments.type.unit]
        return np.asarray(moments.cast(pa.int64()).fill_null(0), float) / steps
    return np.asarray(moments.fill_null(0), float)


def _pieces(table: pa.Table, stream: Stream) -> Iterator[pa.Table]:
    """Pieces at the rate that was asked for; empty ones while there is nothing to send yet."""
    began, sent = time.monotonic(), 0
    most = _MOST_LATE_AT_ONCE if stream.delay else _MOST_AT_ONCE
    while sent < table.num_rows:
        due = table.num_rows if not stream.rate else int((time.monotonic() - began) * stream.rate) + 1
        size = min(most, due - sent, table.num_rows - sent)
        yield table.slice(sent, max(0, size))
        sent += max(0, size)
        if stream.rate and size < most:
            # Fast streams come in pieces, slow ones event by event.
            time.sleep(min(_TELL, max(0.02, 1 / stream.rate)))


def _matching(queries: Query | Workload, alert: Alert | None) -> Callable[[dict[str, Any]], bool]:
    """Which rows are told as alerts: those that compare so, or, where nothing was said, those that are matches."""
    if alert is not None:
        compare, column, value = _COMPARE[alert.comparison], alert.column, alert.value

        def compares(row: dict[str, Any]) -> bool:
            found = row.get(column)
            try:
                return found is not None and compare(float(found), value)
            except (TypeError, ValueError):
                return False

        return compares
    if isinstance(queries, Query):
        is_match = _shows_matches(queries)
        return lambda row: is_match
    matches = {name for name in queries if _shows_matches(queries[name])}
    return lambda row: row["query"] in matches


def _shows_matches(query: Query) -> bool:
    """Whether rows are single matches, and no numbers over many."""
    returns = getattr(query.plan, "returns", None) or getattr(getattr(query.plan, "trend", None), "returns", None)
    return returns not in ("aggregates", "counts", None)


@dataclass(slots=True)
class _Told:
    """What happened since the last message, and altogether."""

    is_alert: Callable[[dict[str, Any]], bool]
    total: int
    sent: int = 0
    rows: int = 0
    alerts: int = 0
    windows: int = 0
    per_query: dict[str, int] = field(default_factory=dict)
    new: list[dict[str, Any]] = field(default_factory=list)
    more: int = 0
    session: dict[str, Any] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)
    rates: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=8))
    seen_windows: deque[Any] = field(default_factory=lambda: deque(maxlen=256))

    def take(self, rows: pa.Table, events: int) -> None:
        """Rows that came out after some events."""
        self.sent += events
        self.rows += rows.num_rows
        for row in rows.to_pylist():
            if "query" in row and isinstance(row["query"], str):
                self.per_query[row["query"]] = self.per_query.get(row["query"], 0) + 1
            window = (row.get("window_start"), row.get("window_end"))
            if window != (None, None) and window not in self.seen_windows:
                self.seen_windows.append(window)
                self.windows += 1
            alert = self.is_alert(row)
            self.alerts += alert
            # Alerts find room even when rows have filled theirs.
            if len(self.new) < (2 * _MOST_ROWS if alert else _MOST_ROWS):
                self.new.append({"cells": [write_cell(value) for value in row.values()], "alert": alert})
            else:
                self.more += 1

    def is_due(self) -> bool:
        """Whether the page waits for news."""
        return time.monotonic() - self.last >= _TELL

    def look(self, session: Any) -> None:
        """Where a session stands."""
        dropped = session.dropped
        self.session = {
            "watermark": write_cell(session.watermark),
            "late": session.late,
            "dropped": dropped.null_time + dropped.null_type + dropped.other_type,
        }

    def tell(self) -> Message:
        """What a page shows; new rows are told once."""
        now = time.monotonic()
        self.rates.append((now, self.sent))
        (first, before), self.last = self.rates[0], now
        rate = (self.sent - before) / (now - first) if now > first else 0.0
        new, self.new = self.new, []
        more, self.more = self.more, 0
        return {
            "event": "tick",
            **self.session,
            "sent": self.sent,
            "total": self.total,
            "rate": round(rate, 1),
            "rows": self.rows,
            "alerts": self.alerts,
            "windows": self.windows,
            "queries": self.per_query,
            "new": new,
            "more": more,
        }
