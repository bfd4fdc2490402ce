"""A run: the rows that a page gets, pictures of them, and what was left out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

from trendweave import EventStore, Query, Workload
from trendweave.errors import TrendweaveError
from trendweave.runners.nothing_found import tell_again
from trendweave.serve.worker.cells import describe_columns, write_rows
from trendweave.serve.worker.collecting import ALONE, Collected, collect
from trendweave.serve.worker.drawing import MOST_DRAWN, draw_rows
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.row_events import describe_events
from trendweave.serve.worker.sources import Events, bounds_of, open_events

#: The problem of a number that has more digits than its column can hold.
_TOO_LARGE = "TW402"


def run(job: Job) -> Iterator[Message]:
    """What is being done, then the result.

    Raises:
        TrendweaveError: The queries have problems, or do not fit the events.
    """
    tell_again()
    began = time.perf_counter()
    queries = job.queries()
    yield {"event": "doing", "what": "reading events"}
    events = open_events(job)
    read = time.perf_counter()
    is_stored = isinstance(events.found, EventStore)
    number = events.number
    yield {"event": "doing", "what": f"running over {number:,} {'stored ' if is_stored else ''}events"}
    try:
        found, total = _find_rows(job, queries, events, None)
    except TrendweaveError as error:
        if error.problems[0].code != _TOO_LARGE:
            raise
        yield {"event": "notes", "notes": ["Counts have more than 38 digits, and are written as text."]}
        found, total = _find_rows(job, queries, events, "text")
    ran = time.perf_counter()
    yield {"event": "doing", "what": "drawing"}
    yield from _tell_rows(job, queries, found, events)
    yield {
        "event": "result",
        "rows": found.rows.num_rows,
        "total": total,
        "cut": total is None or total > found.rows.num_rows,
        "events": number,
        "stored": is_stored,
        "reading": round(read - began, 3),
        "running": round(ran - read, 3),
    }


def _find_rows(
    job: Job, queries: Query | Workload, events: Events, numbers: Literal["text"] | None
) -> tuple[Collected, int | None]:
    """The rows that a page gets, and how many there are; None where that is not known."""
    names = (ALONE,) if isinstance(queries, Query) else tuple(queries)
    if isinstance(events.found, EventStore):
        bounds = bounds_of(job.asked.needed_source(), events.found)
        table = queries.run(events.found, between=bounds, numbers=numbers)
        return collect(table.to_batches(), table.schema, job.limits.rows, names), table.num_rows
    type_ = events.type_for(queries)
    queries.check(events.schema, events.time, type_)
    batches = queries.iter(events.found, events.time, type_, numbers=numbers)
    found = collect(batches, batches.schema, job.limits.rows, names)
    return found, found.totals.total() if found.is_whole else batches.trends


def _tell_rows(job: Job, queries: Query | Workload, found: Collected, events: Events) -> Iterator[Message]:
    """The rows of each query, as many as have room, with pictures of them."""
    if isinstance(queries, Query):
        parts = [(ALONE, queries, found.rows)]
    else:
        type_ = events.type_for(queries)
        parts = [(name, queries[name], queries.rows(found.rows, name, events.time, type_)) for name in queries]
    room = job.limits.characters // len(parts)
    for name, query, own in parts:
        cells, all_fit = write_rows(own, room)
        yield {
            "event": "rows",
            "query": name,
            "columns": describe_columns(query, own.schema, own),
            "rows": cells,
            "total": found.total_of(name),
            "fit": all_fit,
            "pictures": draw_rows(query, own.slice(0, len(cells))),
            "drawn": min(len(cells), MOST_DRAWN),
            "events": describe_events(query, own.slice(0, len(cells)), room),
        }
