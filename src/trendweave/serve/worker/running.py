"""A run: the rows that a page gets, pictures of them, and what was left out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

import pyarrow as pa

from trendweave import EventStore, Query, Workload
from trendweave.errors import TrendweaveError
from trendweave.serve.worker.cells import describe_column, write_rows
from trendweave.serve.worker.drawing import draw_rows
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.sources import Events, bounds_of, open_events

#: How long rows that are not shown are counted, in seconds.
_COUNTING = 1.0
#: The problem of a number that has more digits than its column can hold.
_TOO_LARGE = "TW402"


def run(job: Job) -> Iterator[Message]:
    """What is being done, then the result.

    Raises:
        TrendweaveError: The queries have problems, or do not fit the events.
    """
    began = time.perf_counter()
    queries = job.queries()
    yield {"event": "doing", "what": "reading events"}
    events = open_events(job)
    read = time.perf_counter()
    is_stored = isinstance(events.found, EventStore)
    number = events.number
    yield {"event": "doing", "what": f"running over {number:,} {'stored ' if is_stored else ''}events"}
    try:
        rows, total = _find_rows(job, queries, events, None)
    except TrendweaveError as error:
        if error.problems[0].code != _TOO_LARGE:
            raise
        yield {"event": "notes", "notes": ["Counts have more than 38 digits, and are written as text."]}
        rows, total = _find_rows(job, queries, events, "text")
    ran = time.perf_counter()
    yield {"event": "doing", "what": "drawing"}
    yield from _tell_rows(job, queries, rows, events)
    yield {
        "event": "result",
        "rows": rows.num_rows,
        "total": total,
        "cut": total is None or total > rows.num_rows,
        "events": number,
        "stored": is_stored,
        "reading": round(read - began, 3),
        "running": round(ran - read, 3),
    }


def _find_rows(
    job: Job, queries: Query | Workload, events: Events, numbers: Literal["text"] | None
) -> tuple[pa.Table, int | None]:
    """The rows that a page gets, and how many there are."""
    if isinstance(events.found, EventStore):
        bounds = bounds_of(job.asked.needed_source(), events.found)
        found = queries.run(events.found, between=bounds, numbers=numbers)
        return found.slice(0, job.limits.rows), found.num_rows
    type_ = events.type_for(queries)
    queries.check(events.schema, events.time, type_)
    return _collect(queries.iter(events.found, events.time, type_, numbers=numbers), job.limits.rows)


def _collect(batches: Any, most: int) -> tuple[pa.Table, int | None]:
    """The first rows; how many there are, None where the others were not computed any more. Those behind the first ones
    are counted for a moment, as most results that are cut are not much longer."""
    taken: list[pa.RecordBatch] = []
    count, end = 0, None
    for batch in batches:
        if count < most:
            taken.append(batch)
        count += batch.num_rows
        if count > most:
            end = end or time.monotonic() + _COUNTING
            if time.monotonic() > end:
                return pa.Table.from_batches(taken, batches.schema).slice(0, most), batches.trends
    return pa.Table.from_batches(taken, batches.schema).slice(0, most), count


def _tell_rows(job: Job, queries: Query | Workload, rows: pa.Table, events: Events) -> Iterator[Message]:
    """The rows of each query, as many as have room, with pictures of them."""
    if isinstance(queries, Query):
        parts = [("", queries, rows)]
    else:
        type_ = events.type_for(queries)
        parts = [(name, queries[name], queries.rows(rows, name, events.time, type_)) for name in queries]
    room = job.limits.characters // len(parts)
    for name, query, own in parts:
        cells, all_fit = write_rows(own, room)
        yield {
            "event": "rows",
            "query": name,
            "columns": [describe_column(field, own.column(field.name)) for field in own.schema],
            "rows": cells,
            "fit": all_fit,
            "pictures": draw_rows(query, own.slice(0, len(cells))),
        }
