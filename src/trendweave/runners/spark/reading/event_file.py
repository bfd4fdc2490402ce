"""One Parquet file of events: its row groups, what is known of them, and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.errors import DataError, Problem
from trendweave.runners.spark.reading.bounds import Bounds, find_bounds
from trendweave.runners.spark.reading.columns import convert, find_name
from trendweave.runners.spark.reading.files import File, open_file
from trendweave.runners.spark.reading.folders import add_folders, read_folders

#: Rows that are decoded at once.
_ROWS = 1 << 18
#: Spark marks files whose old times are those of another calendar.
_OTHER_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class EventFile:
    """A file that is open, with the columns of the events in their types; those that it lacks are NULL."""

    def __init__(self, file: File, columns: pa.Schema) -> None:
        self._file, self._columns = file, columns
        with self._explained():
            source = open_file(file.place)
            self._parquet = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
            self._stored: pa.Schema = self._parquet.schema_arrow
        written = self._parquet.metadata.metadata or {}
        if any(mark in written for mark in _OTHER_CALENDAR):
            message = f"{self.name} has times of another calendar, as Spark 2 wrote them"
            raise DataError([Problem("TW308", message, "give the query spark.read.parquet(...)")])

    @property
    def name(self) -> str:
        """The name of the file, without its folders."""
        return PurePosixPath(self._file.place).name

    def close(self) -> None:
        """Close the file."""
        self._parquet.close(force=True)

    def groups(self, first: int, end: int) -> list[int]:
        """The row groups that begin between two bytes of the file."""
        described = self._parquet.metadata
        return [number for number in range(described.num_row_groups) if first <= _begin(described, number) < end]

    def bounds(self, group: int) -> Bounds:
        """What is known of the rows of a group."""
        described = self._parquet.metadata.row_group(group)
        found = find_bounds(described, self._places, self._renamed, self._columns)
        missing = {name: found.rows for name, own in self._names.items() if own is None}
        known = Bounds(found.rows, found.low, found.high, {**found.nulls, **missing})
        return add_folders(known, self._of_folders)

    def tables(self, groups: Sequence[int], names: Sequence[str]) -> Iterator[pa.Table]:
        """Rows of groups, some at a time, with columns of these names."""
        inside = {name: own for name in names if (own := self._names.get(name)) is not None}
        if not inside:
            for group in groups:
                yield self._fit(pa.table({}), names, self._parquet.metadata.row_group(group).num_rows)
            return
        with self._explained():
            batches = self._parquet.iter_batches(
                _ROWS, row_groups=list(groups), columns=sorted(set(inside.values())), use_threads=False
            )
            for batch in batches:
                yield self._fit(pa.Table.from_batches([batch]), names, batch.num_rows)

    def _fit(self, read: pa.Table, names: Sequence[str], rows: int) -> pa.Table:
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        for name in names:
            kind = self._columns.field(name).type
            own = self._names.get(name)
            if name in self._of_folders:
                columns[name] = pa.repeat(self._of_folders[name], rows)
            elif own is None:
                columns[name] = pa.nulls(rows, kind)
            else:
                columns[name] = convert(read.column(own), kind, f"the column {name} of {self.name}")
        return pa.table(columns)

    @cached_property
    def _names(self) -> dict[str, str | None]:
        """The columns of the events by the names that the file gives them; None where it has none."""
        return {
            name: None if name in self._of_folders else find_name(self._stored.names, name, self.name)
            for name in self._columns.names
        }

    @cached_property
    def _renamed(self) -> pa.Schema:
        """The types of the file, under the names of the events' columns."""
        pairs = ((name, own) for name, own in self._names.items() if own is not None)
        return pa.schema([self._stored.field(own).with_name(name) for name, own in pairs])

    @cached_property
    def _places(self) -> dict[str, int]:
        """Which column of the file has the values of a column, where it is one."""
        schema = self._parquet.schema
        leaves = {schema.column(place).path: place for place in range(len(schema.names))}
        nested = {field.name for field in self._stored if pa.types.is_nested(field.type)}
        return {
            name: leaves[own]
            for name, own in self._names.items()
            if own is not None and own in leaves and own not in nested
        }

    @cached_property
    def _of_folders(self) -> dict[str, pa.Scalar]:
        return read_folders(self._file, self._columns)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            hint = "is it there, and is it a Parquet file?"
            raise DataError([Problem("TW308", f"{self.name} cannot be read: {error}", hint)]) from error


def _begin(described: pq.FileMetaData, group: int) -> int:
    """Where a row group begins in its file; without columns, it begins nowhere else than the file."""
    if not described.num_columns:
        return 0
    first = described.row_group(group).column(0)
    return first.data_page_offset if first.dictionary_page_offset is None else first.dictionary_page_offset
