"""What events have: their columns, the types that occur, the first rows, and the months of a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import EventStore
from trendweave.rows.given_times.far_future import describe_far_future
from trendweave.rows.given_times.units import TimeUnit
from trendweave.serve.folders import find_file
from trendweave.serve.worker.cells import describe_column, write_rows
from trendweave.serve.worker.job import Job, Message
from trendweave.serve.worker.own_words import translate
from trendweave.serve.worker.sources import Events, open_events, reading_of

_FIRST_ROWS, _MOST_TYPES, _MOST_MONTHS, _MOST_SEEN = 20, 60, 600, 32


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is kept of events that were looked at: a few rows of them."""

    events: Events
    rows: int
    types: tuple[str, ...]
    first: str
    last: str
    note: str = ""


#: What this process has looked at, the oldest first.
_SEEN: dict[tuple[Any, ...], _Seen] = {}
#: The first and the last time of stores that do not know them.
_EDGES: dict[tuple[Any, ...], tuple[Any, Any]] = {}


def describe_columns(job: Job) -> Message:
    """All that a page shows of a source, and completes names by."""
    seen = _look(job)
    events = seen.events
    shown = events.found if isinstance(events.found, pa.Table) else events.schema.empty_table()
    cells, _ = write_rows(shown, 100_000)
    return {
        "event": "columns",
        "columns": [describe_column(field) for field in events.schema],
        "time": events.time,
        "type": events.type,
        "types": list(seen.types),
        "rows": seen.rows,
        "first": seen.first,
        "last": seen.last,
        "note": translate(seen.note),
        "months": _months(seen.first, seen.last) if job.asked.needed_source().kind == "store" else [],
        "sample": cells,
    }


def events_for_check(job: Job) -> Events:
    """Events of which only columns matter."""
    return _look(job).events


def _look(job: Job) -> _Seen:
    """Looked at once: files anew when they have changed, stores each time."""
    source = job.asked.needed_source()
    if source.kind == "store":
        return _see(job)
    key: tuple[Any, ...] = (source,)
    if source.kind == "file":
        state = find_file(job.folder, source.name).stat()
        key = (source, job.folder, state.st_mtime_ns, state.st_size)
    if key not in _SEEN:
        if len(_SEEN) >= _MOST_SEEN:
            _SEEN.pop(next(iter(_SEEN)))
        _SEEN[key] = _see(job)
    return _SEEN[key]


def _see(job: Job) -> _Seen:
    events = open_events(job)
    if isinstance(events.found, EventStore):
        told = events.found.describe()
        first, last = (told.first, told.last) if told.first is not None else _edges_of_store(events, told)
        return _Seen(events, told.rows, _types_of_store(events), _write(first), _write(last))
    table = events.found
    few = replace(events, found=table.slice(0, _FIRST_ROWS).combine_chunks())
    seen = _Seen(few, table.num_rows, _types_of(table, events.type), "", "")
    if events.time not in table.column_names or pa.types.is_nested(table.schema.field(events.time).type):
        return seen
    times = table.column(events.time)
    edges = pc.min_max(times).as_py()
    note = describe_far_future(times, events.time, _unit_of(job))
    return replace(seen, first=_write(edges["min"]), last=_write(edges["max"]), note=note)


def _unit_of(job: Job) -> TimeUnit | None:
    source = job.asked.needed_source()
    return reading_of(source).unit if source.kind == "file" else None


def _types_of(table: pa.Table, type_: str | None) -> tuple[str, ...]:
    if type_ is None or type_ not in table.column_names:
        return ()
    values = pc.unique(table.column(type_)).drop_null().slice(0, 1_000).to_pylist()
    return tuple(sorted(map(str, values))[:_MOST_TYPES])


def _types_of_store(events: Events) -> tuple[str, ...]:
    """Of its first row group, as all of a store may be much."""
    store = events.found
    if events.type is None or not store.groups.file.size:
        return ()
    return _types_of(store.read([0], [events.type]), events.type)


def _edges_of_store(events: Events, told: Any) -> tuple[Any, Any]:
    """The first and the last time of a store that has no index; read once, while its data stays the same."""
    key = (told.address, told.files, told.data_bytes, told.rows)
    if key not in _EDGES:
        found = pc.min_max(events.found.read(None, [events.time]).column(events.time)).as_py()
        _EDGES[key] = (found["min"], found["max"])
    return _EDGES[key]


def _write(moment: Any) -> str:
    if isinstance(moment, datetime):
        return moment.replace(tzinfo=None).isoformat(sep=" ")
    return "" if moment is None else str(moment)


def _months(first: str, last: str) -> list[dict[str, str]]:
    """The months from the first to the last event, each from its first day to that of the next one."""
    try:
        month, end = date.fromisoformat(first[:10]).replace(day=1), date.fromisoformat(last[:10])
    except ValueError:
        return []
    found: list[dict[str, str]] = []
    while month <= end and len(found) < _MOST_MONTHS:
        following = (month + timedelta(days=31)).replace(day=1)
        found.append({"name": f"{month:%Y-%m}", "start": month.isoformat(), "end": following.isoformat()})
        month = following
    return found
