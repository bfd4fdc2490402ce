"""Making the indexes that the files of a store lack; of a file without an index, its footer tells the blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.errors import DataError
from trendweave.programs.operators.measured import is_float, measure
from trendweave.programs.operators.sums import no_sums
from trendweave.rows.times import TimeType, as_steps
from trendweave.store.index.files import Shelf
from trendweave.store.index.light import NumberColumn, build_light, compressed_size, own_schema
from trendweave.store.index.secondary import build_secondary
from trendweave.store.layout.files import DataFile, locate
from trendweave.store.layout.reading import OpenFiles, RowReader

LEAST, MOST = -(2**63), 2**63 - 1


class FileGroups:
    """The row groups of a file as blocks. Counts may be too high: rows without a time are among them."""

    def __init__(self, parquet: pq.ParquetFile, time: str, kind: TimeType, folders: dict[str, str | None]) -> None:
        described = parquet.metadata
        self._groups = [described.row_group(number) for number in range(described.num_row_groups)]
        self.schema: pa.Schema = own_schema(parquet)
        self._folders = folders
        self._places = {described.schema.column(place).path: place for place in range(described.num_columns)}
        self.size = len(self._groups)
        self.rows = np.array([group.num_rows for group in self._groups], np.int64)
        self.bytes = np.array([compressed_size(group) for group in self._groups], np.int64)
        self.group = np.arange(self.size, dtype=np.int32)
        self.count = self.rows
        self.first, self.last = self._time_bounds(time, kind)

    def _time_bounds(self, time: str, kind: TimeType) -> tuple[np.ndarray, np.ndarray]:
        """Of the time column, in steps. Bounds that are not known are those of 64 bits."""
        first, last = np.full(self.size, LEAST), np.full(self.size, MOST)
        for number in range(self.size):
            pair = self._bounds(number, time, kind.arrow)
            if pair is None:
                continue
            try:
                first[number], last[number] = as_steps(pa.chunked_array([pair]), kind)
            except DataError:
                continue
        return first, last

    def _bounds(self, number: int, name: str, kind: pa.DataType) -> pa.Array | None:
        if name not in self._places or name not in self.schema.names or name in self._folders:
            return None
        found = self._groups[number].column(self._places[name]).statistics
        if found is None or not found.has_min_max:
            return None
        own = self.schema.field(name).type
        try:
            if pa.types.is_temporal(own) and found.physical_type in ("INT32", "INT64"):
                # As numbers: Python's times are too coarse for nanoseconds.
                width = pa.int32() if own.bit_width == 32 else pa.int64()
                pair = pa.array([found.min_raw, found.max_raw], width).cast(own).cast(kind)
            else:
                pair = pa.array([found.min, found.max], own).cast(kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            return None
        return None if pair.null_count else pair

    def _count_known(self, number: int, name: str) -> int:
        """How many values are not NULL, at least."""
        if name not in self._places or name in self._folders:
            return 0
        found = self._groups[number].column(self._places[name]).statistics
        return int(self.rows[number]) - found.null_count if found is not None and found.has_null_count else 0

    def column(self, name: str, kind: pa.DataType) -> tuple[NumberColumn, np.ndarray]:
        """Bounds of a column, and in which row groups they are known. A float may always be NaN."""
        floats = is_float(kind)
        low = np.full(self.size, np.inf) if floats else np.full(self.size, MOST)
        high = np.full(self.size, -np.inf) if floats else np.full(self.size, LEAST)
        told = np.zeros(self.size, np.bool_)
        if name not in self.schema.names and name not in self._folders:
            told[:] = True  # the file has no such column: all is NULL
        for number in range(self.size):
            pair = self._bounds(number, name, kind)
            found = None if pair is None else measure(pa.chunked_array([pair]))
            if found is not None and not (floats and np.isnan(found.values).any()):
                low[number], high[number] = found.values
                told[number] = True
        none = np.zeros(self.size, np.int64)
        at_least = np.array([self._count_known(number, name) for number in range(self.size)], np.int64)
        nans = np.where(told, self.count, 0) if floats and name in self.schema.names else none
        return NumberColumn(low, high, at_least, nans, no_sums(self.size, floats)), told


#: Is told the name of a file and how many more of its rows are done.
Told = Callable[[str, int], None]


def build_indexes(
    shelf: Shelf,
    files: OpenFiles,
    chosen: Sequence[tuple[DataFile, bool]],
    columns: Sequence[str] = (),
    told: Told | None = None,
    events_per_block: int | None = None,
) -> None:
    """Write indexes of some files.

    Args:
        shelf: Where they lie.
        files: Opens data files.
        chosen: The files, and whether each has a light index already.
        columns: Columns to sort entries by.
        told: Is told how far it is.
        events_per_block: About how many events a block has.
    """
    there = shelf.list()
    for file, has_light in chosen:
        try:
            _build(shelf, RowReader(files, file, pa.schema([])), there, has_light, columns, told, events_per_block)
        except (DataError, OSError):
            if shelf.place.exists(locate(shelf.place, file)):
                raise
            # Another process has replaced the file and swept it away: it needs no index.


def _build(
    shelf: Shelf,
    reader: RowReader,
    there: Mapping[str, int],
    has_light: bool,
    columns: Sequence[str],
    told: Told | None,
    events_per_block: int | None,
) -> None:
    file = reader.file
    if shelf.time not in own_schema(reader.files.parquet(file)).names:
        return  # its time is the name of a folder
    if not has_light:
        made = build_light(reader, shelf.time, _about(told, file.name), events_per_block)
        shelf.write(file, shelf.light_name(file), *made)
    for column in columns:
        name = shelf.secondary_name(file, column)
        if name in there and shelf.load(file, name) is not None:
            continue
        if (entries := build_secondary(reader, shelf.time, column)) is not None:
            shelf.write(file, name, *entries)


def _about(told: Told | None, name: str) -> Callable[[int], None] | None:
    return None if told is None else lambda rows: told(name, rows)
