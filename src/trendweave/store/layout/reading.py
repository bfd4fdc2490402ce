"""Rows of data files, row group by row group, in the columns of the store."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trendweave.errors import DataError, Problem
from trendweave.store.layout.files import DataFile, not_parquet, open_moving
from trendweave.store.layout.places import Place

#: Files that stay open: opening one reads its footer again.
_OPEN_FILES = 64
#: Spark marks files whose old times are those of another calendar.
_OTHER_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class OpenFiles:
    """The files that were read last, open. It travels to other processes empty."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._open: OrderedDict[str, pq.ParquetFile] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[OpenFiles], tuple[Place]]:
        return OpenFiles, (self.place,)

    def parquet(self, file: DataFile) -> pq.ParquetFile:
        """A file, open.

        Raises:
            DataError: It is gone, or it is none of Parquet.
        """
        with self._lock:
            if (found := self._open.get(file.name)) is not None:
                self._open.move_to_end(file.name)
                return found
        opened = self._open_anew(file)
        with self._lock:
            self._open[file.name] = opened
            while len(self._open) > _OPEN_FILES:
                self._open.popitem(last=False)
        return opened

    def _open_anew(self, file: DataFile) -> pq.ParquetFile:
        try:
            source = open_moving(self.place, file)
            opened = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=not self.place.is_local)
        except (OSError, pa.ArrowException) as error:
            raise not_parquet(file, error) from error
        if any(mark in (opened.metadata.metadata or {}) for mark in _OTHER_CALENDAR):
            raise not_parquet(file, "it has times of another calendar, as Spark 2 wrote them")
        return opened


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads rows of one file in the columns of the store.

    Attributes:
        files: Opens it.
        file: The file.
        schema: The columns of the store.
    """

    files: OpenFiles
    file: DataFile
    schema: pa.Schema

    @property
    def groups(self) -> int:
        """How many row groups the file has."""
        return int(self.files.parquet(self.file).metadata.num_row_groups)

    def read(self, groups: Sequence[int], columns: Sequence[str], threads: bool = True) -> pa.Table:
        """Rows of some row groups, in their order. A column that the file lacks is NULL.

        Raises:
            DataError: The file cannot be read, or a value does not fit the column of the store.
        """
        parquet = self.files.parquet(self.file)
        of_folders = dict(self.file.folders)
        stored = set(parquet.schema_arrow.names)
        inside = [name for name in columns if name in stored and name not in of_folders]
        if inside:
            try:
                found = parquet.read_row_groups(list(groups), columns=inside, use_threads=threads)
            except (OSError, pa.ArrowException) as error:
                raise not_parquet(self.file, error) from error
            rows = found.num_rows
        else:
            found, rows = None, sum(parquet.metadata.row_group(group).num_rows for group in groups)
        made = {}
        for name in columns:
            kind = self.schema.field(name).type
            if name in of_folders:
                made[name] = pa.repeat(pc.cast(pa.scalar(of_folders[name], pa.string()), kind), rows)
            elif found is None or name not in stored:
                made[name] = pa.nulls(rows, kind)
            else:
                made[name] = self._in_type(found.column(name), kind, name)
        return pa.table(made, schema=pa.schema([self.schema.field(name) for name in columns]))

    def _in_type(self, column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
        if column.type == kind:
            return column
        try:
            return column.cast(kind)
        except pa.ArrowException as error:
            message = f"the column {name} of {self.file.name} is {column.type}, and {kind} in the store: {error}"
            raise DataError([Problem("TW332", message, "give a column one type in all files")]) from error
