"""A DataFrame of Spark into files of a store: each task writes its rows itself, the driver records all at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from trendweave.errors import OptionError, Problem
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.versions import to_arrow
from trendweave.store.changes import about, record, tell_of_columns, tell_of_no_events
from trendweave.store.layout.commits import Commit
from trendweave.store.layout.declaration import Declaration
from trendweave.store.layout.places import Place
from trendweave.store.layout.writing import count_no_events, deal, file_name, fit_columns, write_file

if TYPE_CHECKING:
    from trendweave.store.event_store import EventStore

#: Rows that a task sorts and writes at once.
_ROWS = 4_000_000
#: What tasks tell of each file: all of its rows, and those that are no events.
_WRITTEN = "name STRING, rows LONG, no_time LONG, no_type LONG"


@dataclass(frozen=True)
class WriteTask:
    """For mapInArrow: rows in, names of files out.

    Attributes:
        place: The folder of the store, which tasks reach as the driver does.
        number: What names the append.
        declared: How events are laid out.
        stored: The columns of the store.
    """

    place: Place
    number: str
    declared: Declaration
    stored: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS:
                yield from self._write(held)
                held, rows = [], 0
        if rows:
            yield from self._write(held)

    def _write(self, held: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = fit_columns(pa.Table.from_batches(held), self.declared, self.stored)
        for bucket, own in deal(table, self.declared):
            # A task that is tried again writes other files; those of a failed try are in no record.
            name = file_name(self.number, bucket, self.declared).replace(".parquet", f"-{uuid.uuid4().hex}.parquet")
            write_file(self.place, self.number, name, own, self.declared)
            no_time, no_type = count_no_events(own, self.declared)
            counts = {"rows": [own.num_rows], "no_time": [no_time], "no_type": [no_type]}
            yield pa.RecordBatch.from_pydict({"name": [name]} | counts)


def append_frame(store: EventStore, frame: DataFrame, number: str, batch: tuple[str, int] | None) -> int:
    """Add the rows of a DataFrame to a store; how many there were.

    Args:
        store: The store.
        frame: Events.
        number: What names the append.
        batch: The name of a stream and the number of a batch.

    Raises:
        DataError: The events do not fit the columns of the store.
        OptionError: The store is a Delta table, which Spark itself can write.
    """
    if store.is_delta:
        hint = "write it with Spark's own Delta format, then build_index()"
        raise OptionError([Problem("TW408", "a DataFrame is not added to a Delta table here", hint)])
    columns = to_arrow(frame.schema)
    fit_columns(columns.empty_table(), store.declared, store.schema)
    tell_of_columns(store, columns)
    task = WriteTask(store.place, number, store.declared, store.schema)
    written = frame.mapInArrow(travelling(task), _WRITTEN).collect()
    rows, *no_events = (sum(row[name] for row in written) for name in ("rows", "no_time", "no_type"))
    tell_of_no_events(rows, *no_events)
    names = tuple(row["name"] for row in written)
    return rows if record(store, Commit(number, names, (), rows, about(batch))) else 0
