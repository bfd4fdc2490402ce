"""A run: the rows that a page gets, pictures of them, and what was left out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import EventStore, Query, Workload, plot
from trendweave.errors import OptionError, TrendweaveError
from trendweave.runners.nothing_found import tell_again
from trendweave.serve.worker.cells import describe_columns, kind_of, write_rows
from trendweave.serve.worker.events import Events, bounds_of, open_events
from trendweave.serve.worker.jobs import Job, Message
from trendweave.serve.worker.row_events import describe_events

#: The problem of a number that has more digits than its column can hold.
_TOO_LARGE = "TW402"
#: How long rows that are not shown are counted, in seconds: most results that are cut are not much longer.
_COUNTING = 1.0
#: The name of a query that is alone.
ALONE = ""
_MOST_PICTURES = 6
#: Rows of which a picture is drawn, at most.
MOST_DRAWN = 5_000


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


@dataclass(frozen=True, slots=True)
class Collected:
    """Rows that a page gets.

    Attributes:
        rows: The rows, of all queries.
        totals: How many there are of each query; of those that were counted where `is_whole` is false.
        is_whole: Whether all rows were counted.
    """

    rows: pa.Table
    totals: Counter[str]
    is_whole: bool

    def total_of(self, name: str) -> int | None:
        """How many rows a query has; None where that is not known."""
        return self.totals[name] if self.is_whole else None


def collect(batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int, names: Sequence[str]) -> Collected:
    """Take rows, about `most` of them.

    Args:
        batches: All rows.
        schema: Their columns.
        most: How many rows a page gets.
        names: The queries, which share them evenly; `ALONE` for one alone.
    """
    each = max(1, most // len(names))
    taken: list[pa.RecordBatch] = []
    totals: Counter[str] = Counter()
    end = None
    for batch in batches:
        for name, own in _split(batch, names):
            taken.append(own.slice(0, max(0, each - totals[name])))
            totals[name] += own.num_rows
        if all(totals[name] > each for name in names):
            end = end or time.monotonic() + _COUNTING
            if time.monotonic() > end:
                return Collected(pa.Table.from_batches(taken, schema), totals, False)
    return Collected(pa.Table.from_batches(taken, schema), totals, True)


def _split(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each query that a batch has."""
    if tuple(names) == (ALONE,):
        yield ALONE, batch
        return
    column = batch.column("query")
    for name in pc.unique(column).to_pylist():
        yield name, batch.filter(pc.equal(column, pa.scalar(name, column.type)))


def draw_rows(query: Query, rows: pa.Table) -> list[dict[str, str]]:
    """Pictures with their names, one per number where rows are windows; none where there is nothing to draw."""
    few = rows.slice(0, MOST_DRAWN)
    if query.kind == "intervals" or query.lists_trends:
        return _draw(few, query, None)
    names = [name for name in rows.column_names[-query.value_count :] if kind_of(rows.field(name).type) == "number"]
    return [picture for name in names[:_MOST_PICTURES] for picture in _draw(few, query, name)]


def _draw(rows: pa.Table, query: Query, value: str | None) -> list[dict[str, str]]:
    try:
        picture = plot(rows, query, value=value)
    except OptionError:  # rows without windows, or none at all, have nothing to be drawn along
        return []
    return [{"name": value or picture.title, "drawing": picture.inline(styled=False)}]
