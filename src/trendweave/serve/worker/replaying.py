"""A stream to watch: events are replayed at some rate, and what comes out is told a few times a second."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave import Query, Workload
from trendweave.runners.nothing_found import tell_again
from trendweave.serve.asking import Stream
from trendweave.serve.worker.alerts import check_alert, find_alerts
from trendweave.serve.worker.cells import describe_column, describe_columns
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.news import TELL, StreamNews
from trendweave.serve.worker.sources import all_rows, open_events

#: How many events are taken at once, at most.
_MOST_AT_ONCE = 5_000
#: The same where events come late: the watermark moves between pieces, and inside of one nothing is late.
_MOST_LATE_AT_ONCE = 50
#: So many seconds may the events that were sent be behind those that were asked for.
_MOST_BEHIND = TELL / 2


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
            time.sleep(min(TELL, max(0.02, 1 / stream.rate)))
