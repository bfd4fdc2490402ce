"""A DataFrame of Spark into files of a store: each task writes its rows itself, the driver records all at once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from trendweave.runners.spark.arrow_types import to_arrow
from trendweave.store.layout.declaration import Declaration
from trendweave.store.layout.places import Place
from trendweave.store.layout.writing import deal, file_name, fit_columns, write_file

#: Rows that a task sorts and writes at once.
_ROWS = 4_000_000


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
            yield pa.RecordBatch.from_pydict({"name": [name], "rows": [own.num_rows]})


def write_frame(
    frame: DataFrame, number: str, place: Place, declared: Declaration, stored: pa.Schema
) -> tuple[list[str], int]:
    """Write the rows of a DataFrame; the names of the files, and how many rows they have.

    Args:
        frame: Events.
        number: What names the append.
        place: The folder of the store.
        declared: How events are laid out.
        stored: The columns that the store has now.

    Raises:
        DataError: The events do not fit the columns of the store.
    """
    fit_columns(to_arrow(frame.schema).empty_table(), declared, stored)
    task = WriteTask(place, number, declared, stored)
    written = frame.mapInArrow(task.__call__, "name STRING, rows LONG").collect()
    return [row["name"] for row in written], sum(row["rows"] for row in written)
