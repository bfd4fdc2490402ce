"""A stream to watch: events are replayed at some rate, and what comes out is told a few times a second."""

from __future__ import annotations

import operator
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave import Query, Workload
from trendweave.runners.nothing_found import tell_again
from trendweave.serve.asking import Alert, Refused, Stream
from trendweave.serve.worker.cells import describe_column, describe_columns, kind_of, write_cell
from trendweave.serve.worker.events import all_rows, open_events
from trendweave.serve.worker.jobs import Job, Message

#: How often a page is told what happened, in seconds.
_TELL = 0.25
#: Rows that a page is told at once; more are counted. Windows that are remembered, so that each is counted once.
_MOST_ROWS, _MOST_WINDOWS = 60, 256
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}
#: How many events are taken at once, at most.
_MOST_AT_ONCE = 5_000
#: The same where events come late: the watermark moves between pieces, and inside of one nothing is late.
_MOST_LATE_AT_ONCE = 50
#: So many seconds may the events that were sent be behind those that were asked for.
_MOST_BEHIND = _TELL / 2


def replay(job: Job) -> Iterator[Message]:
    """What comes in and what comes out, until all events were replayed.

    Raises:
        TrendweaveError: The queries have problems, do not fit the events, or cannot run on a stream.
    """
    tell_again()
    queries = job.queries()
    stream = job.asked.stream
    events = open_events(job)
    table = _in_order_of_arrival(all_rows(job, events), events.time, stream.delay)
    session = queries.push(table.schema, events.time, events.type_for(queries), watermark=stream.watermark)
    if stream.alert is not None:
        check_alert(stream.alert, session.schema)
    several = isinstance(queries, Workload)
    yield {
        "event": "begins",
        "columns": describe_columns(queries, session.schema)
        if isinstance(queries, Query)
        else list(map(describe_column, session.schema)),
        "total": table.num_rows,
        "several": several,
    }
    news = StreamNews(find_alerts(queries, stream.alert), table.num_rows, several)
    for piece in _pieces(table, stream):
        if piece.num_rows:
            news.take(session.send_table(piece), piece.num_rows)
        if news.is_due():
            news.look(session)
            yield news.tell()
    news.look(session)  # a session begins anew when it has finished
    news.take(session.finish(), 0)
    yield {**news.tell(), "event": "ends"}


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
    most = _MOST_LATE_AT_ONCE if stream.delay else _MOST_AT_ONCE
    if not stream.rate:
        yield from (table.slice(first, most) for first in range(0, table.num_rows, most))
        return
    # The first event may have to wait for kernels that are compiled; the others do not hurry for it.
    yield table.slice(0, 1)
    began, sent = time.monotonic(), min(1, table.num_rows)
    while sent < table.num_rows:
        now = time.monotonic()
        # What took longer than events may be behind is not caught up with: they would come faster than was asked for.
        began = max(began, now - sent / stream.rate - _MOST_BEHIND)
        size = max(0, min(most, int((now - began) * stream.rate) + 1 - sent, table.num_rows - sent))
        yield table.slice(sent, size)
        sent += size
        if size < most:
            # Fast streams come in pieces, slow ones event by event.
            time.sleep(min(_TELL, max(0.02, 1 / stream.rate)))


@dataclass(slots=True)
class StreamNews:
    """What happened since the last message, and altogether; `several` says that rows name the query they are of."""

    is_alert: Callable[[dict[str, Any]], bool]
    total: int
    several: bool
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
    seen_windows: dict[Any, None] = field(default_factory=dict)

    def take(self, rows: pa.Table, events: int) -> None:
        """Rows that came out after some events."""
        self.sent += events
        self.rows += rows.num_rows
        for row in rows.to_pylist():
            if self.several:
                self.per_query[row["query"]] = self.per_query.get(row["query"], 0) + 1
            window = (row.get("window_start"), row.get("window_end"))
            if window != (None, None) and window not in self.seen_windows:
                self.seen_windows[window] = None
                self.windows += 1
                if len(self.seen_windows) > _MOST_WINDOWS:
                    self.seen_windows.pop(next(iter(self.seen_windows)))
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


def check_alert(alert: Alert, schema: pa.Schema) -> None:
    """An alert compares a column of numbers.

    Raises:
        Refused: Rows have no such column, or it holds something else.
    """
    if alert.column not in schema.names:
        raise Refused(f"rows have no column {alert.column}; they have {', '.join(schema.names)}")
    type_ = schema.field(alert.column).type
    if kind_of(type_) != "number":
        raise Refused(f"an alert compares numbers, and {alert.column} is {type_}")


def find_alerts(queries: Query | Workload, alert: Alert | None) -> Callable[[dict[str, Any]], bool]:
    """Which rows are told as alerts: those that compare so, or, where nothing was said, those that are matches."""
    if alert is not None:
        compare, column, value = _COMPARE[alert.comparison], alert.column, alert.value

        def compares(row: dict[str, Any]) -> bool:
            # As they are: large counts would lose digits as floats.
            return row[column] is not None and compare(row[column], value)

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
