"""Changes of a store: events that are added, and files that become one. Each is seen whole or not at all."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.errors import OptionError, Problem
from trendweave.rows.tables import as_arrow, refuse_pandas_on_spark
from trendweave.rows.time_parsing import AS_THEY_ARE, TimeReading, read_times, warn_of_far_future
from trendweave.store.index.building import Told, build_indexes
from trendweave.store.layout.commits import Commit, alone, append_to_delta, is_committed, new_number, settle
from trendweave.store.layout.files import DataFile, Declaration
from trendweave.store.layout.reading import RowReader
from trendweave.store.layout.writing import (
    Extent,
    choose_files,
    compare_columns,
    count_no_events,
    deal,
    file_name,
    fit_columns,
    write_file,
)

_LOG = logging.getLogger("trendweave")
#: Stores, and what was told of columns of events that were added to them in this process.
_TOLD: set[tuple[str, str]] = set()

if TYPE_CHECKING:
    from trendweave.store.event_store import EventStore


def append_events(
    store: EventStore, events: Any, batch: tuple[str, int] | None, times: TimeReading = AS_THEY_ARE
) -> int:
    """Add events; how many there were. See `EventStore.append`."""
    refuse_pandas_on_spark(events)
    number = new_number(batch)
    if batch is not None and is_committed(store.place, number):
        return 0
    if type(events).__module__.split(".")[0] == "pyspark":
        from trendweave.runners.spark.time_parsing import read_times_on_spark
        from trendweave.store.spark.frames import append_frame

        return append_frame(store, read_times_on_spark(events, (store.time,), times), number, batch)
    table = read_times(as_arrow(events)[0], (store.time,), times)
    columns, table = table.schema, fit_columns(table, store.declared, store.schema)
    tell_of_columns(store, columns)
    tell_of_no_events(table.num_rows, *count_no_events(table, store.declared))
    warn_of_far_future(table.column(store.time), store.time, times.unit)
    if store.is_delta:
        added = append_to_delta(store.place, table, batch)
        store.refresh()
        return table.num_rows if added else 0
    names = []
    for bucket, own in deal(table, store.declared):
        names.append(file_name(number, bucket, store.declared))
        write_file(store.place, number, names[-1], own, store.declared)
    return table.num_rows if record(store, Commit(number, tuple(names), (), table.num_rows, about(batch))) else 0


def tell_of_columns(store: EventStore, columns: pa.Schema) -> None:
    """Warn of columns that events lack, and of those that the store gets; the same once per store."""
    new, lacking = compare_columns(columns, store.schema)
    told = [f"the events have no column {name}, which is NULL in the store" for name in lacking]
    told += [f"the column {name} of the events is new in the store, and NULL in earlier ones" for name in new]
    for message in told:
        if (store.place.address, message) not in _TOLD:
            _TOLD.add((store.place.address, message))
            _LOG.warning("%s", message)


def tell_of_no_events(rows: int, no_time: int, no_type: int) -> None:
    """Warn of rows of an append that queries will not read."""
    if no_time or no_type:
        _LOG.warning(
            "of %d rows, %d have no time and %d no type: they are stored, and queries drop them", rows, no_time, no_type
        )


def about(batch: tuple[str, int] | None) -> dict[str, Any]:
    """What a record tells of a batch of a stream."""
    return {} if batch is None else {"stream": batch[0], "number": batch[1]}


def record(store: EventStore, commit: Commit) -> bool:
    """Record a change, put files in their place and index them; False where somebody else recorded the same."""
    if not commit.save(store.place):
        return False
    settle(store.place, [commit])
    store.refresh()
    new = [file for file in store.files if file.name in commit.files]
    try:
        build_indexes(store.shelf, store.open_files, [(file, False) for file in new], store.declared.index)
    except OSError as error:
        _LOG.warning("events were added; their index could not be written: %s", error)
    store.look_again()
    return True


def compact_files(store: EventStore, enough_rows: int, told: Told | None) -> int:
    """Merge files; how many there were. See `EventStore.compact`."""
    if store.is_delta:
        hint = "use the table's own OPTIMIZE, then build_index()"
        raise OptionError([Problem("TW408", "a Delta table is not compacted here", hint)])
    with alone(store.place, "compact"):
        settle(store.place)
        store.refresh()
        merged = 0
        for files in choose_files(_extents(store), enough_rows):
            _merge(store, files)
            merged += len(files)
            if told is not None:
                told(files[0].name, len(files))
    return merged


def _extents(store: EventStore) -> list[Extent]:
    parts = zip(store.files, store.file_rows.tolist(), *(times.tolist() for times in store.file_times), strict=True)
    return [
        Extent(file, rows, first, last) if first <= last else Extent(file, rows, None, None)
        for file, rows, first, last in parts
    ]


def _merge(store: EventStore, files: Sequence[DataFile]) -> None:
    """Write some files of one bucket as one."""
    number, (bucket, buckets) = new_number(), files[0].bucket or (0, 1)
    readers = [RowReader(store.open_files, file, store.schema) for file in files]
    tables = [one.read(range(one.groups), store.schema.names) for one in readers]
    one_bucket = Declaration(store.schema, store.time, group_rows=store.declared.group_rows)
    names, rows = [], 0
    for _, table in deal(pa.concat_tables(tables), one_bucket):
        names.append(file_name(number, bucket, Declaration(store.schema, store.time, buckets=buckets)))
        write_file(store.place, number, names[-1], table, one_bucket)
        rows += table.num_rows
    record(store, Commit(number, tuple(names), tuple(file.name for file in files), rows))
