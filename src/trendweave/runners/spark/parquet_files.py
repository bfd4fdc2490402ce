"""Parquet files that tasks read themselves, row group by row group: where files are, what folders and footers say of
their rows, and columns in the types in which Spark reads them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from trendweave.errors import DataError, Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the values of some columns; a column that is not known may hold anything.

    Attributes:
        rows: How many rows there are.
        low: One row with a value per column that no value is below.
        high: The same with values that none is above. NaN is above all numbers.
        nulls: How many values are NULL, of columns of which that is known.
    """

    rows: int
    low: pa.Table = field(default_factory=lambda: pa.table({}))
    high: pa.Table = field(default_factory=lambda: pa.table({}))
    nulls: Mapping[str, int] = field(default_factory=dict)

    def knows(self, column: str) -> bool:
        """Whether values of a column have bounds."""
        return column in self.low.column_names

    def is_all_null(self, column: str) -> bool:
        """Whether no row has a value."""
        return self.nulls.get(column) == self.rows

    def may_be_null(self, column: str) -> bool:
        """Whether some row may have no value."""
        return self.nulls.get(column) != 0

    def is_inside(self, column: str, value: object) -> bool:
        """Whether some row may have this value, which is of the kind of the column."""
        if self.is_all_null(column):
            return False
        if not self.knows(column):
            return True
        low, high = (table.column(column)[0].as_py() for table in (self.low, self.high))
        return bool(low <= value <= high)


def find_bounds(group: pq.RowGroupMetaData, places: Mapping[str, int], stored: pa.Schema, columns: pa.Schema) -> Bounds:
    """The bounds of columns that are no structs or lists.

    Args:
        group: What the file says about a row group.
        places: Columns that the file has, with their numbers in it.
        stored: The same columns in the types that Arrow reads them in.
        columns: The columns in the types of the events.
    """
    low, high, nulls = {}, {}, {}
    for name, place in places.items():
        found = group.column(place).statistics
        if found is None:
            continue
        if found.has_null_count:
            nulls[name] = found.null_count
        if not found.has_min_max:
            continue
        try:
            given, wanted = stored.field(name).type, columns.field(name).type
            pair = convert(pa.array([found.min, found.max], given), wanted, name)
        except (pa.ArrowException, DataError, ValueError, TypeError, OverflowError):
            continue  # a bound that cannot be read is none
        if pair.null_count:
            continue
        low[name], high[name] = pair.slice(0, 1), pair.slice(1, 1)
        if pa.types.is_floating(wanted):
            # NaN is left out of statistics, and it is above all.
            high[name] = pa.array([float("nan")], wanted)
    return Bounds(group.num_rows, pa.table(low), pa.table(high), nulls)


def read_folders(file: File, columns: pa.Schema) -> dict[str, pa.Scalar]:
    """The values that all rows of a file have, by column.

    Args:
        file: A file in such folders, or in none.
        columns: The columns of the events, in their types.
    """
    found = {}
    for folder, text in file.folders:
        name = find_name(columns.names, folder, "the table")
        if name is not None:
            found[name] = _read_value(text, columns.field(name).type, folder)
    return found


def add_folders(bounds: Bounds, values: dict[str, pa.Scalar]) -> Bounds:
    """Bounds of rows that have these values as well."""
    low = {name: bounds.low.column(name) for name in bounds.low.column_names if name not in values}
    high = {name: bounds.high.column(name) for name in bounds.high.column_names if name not in values}
    for name, value in values.items():
        if value.is_valid:
            low[name] = high[name] = pa.array([value.as_py()], value.type)
    nulls = {name: 0 if value.is_valid else bounds.rows for name, value in values.items()}
    return Bounds(bounds.rows, pa.table(low), pa.table(high), {**bounds.nulls, **nulls})


def _read_value(text: str | None, kind: pa.DataType, folder: str) -> pa.Scalar:
    if text is None:
        return pa.scalar(None, kind)
    try:
        return pc.cast(pa.scalar(text), kind)
    except pa.ArrowException as error:
        message = f"the folder {folder}={text} is not a value of type {kind}"
        raise DataError([Problem("TW308", message, "give the query spark.read.parquet(...)")]) from error


#: What Hive and Spark call the folder of rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
#: Names of file systems as Hadoop writes them, where Arrow has another one.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True, slots=True)
class File:
    """A file of events.

    Attributes:
        place: Where it is: a path of this machine, or an address such as s3://bucket/name, in which what is special is
            written as numbers.
        size: How many bytes it has; None where that is not known here.
        folders: What the folders `name=value` that it lies in say, as text; None for no value.
    """

    place: str
    size: int | None
    folders: tuple[tuple[str, str | None], ...] = ()


def list_files(frame: DataFrame, paths: Sequence[str], base: str | None, by_folders: bool = True) -> tuple[File, ...]:
    """The files that a DataFrame reads, in their order.

    Args:
        frame: What Spark makes of the paths.
        paths: The paths as they were given.
        base: The folder below which folders stand for columns, where it was given.
        by_folders: Whether folders stand for columns at all.
    """
    places = sorted(map(_place, frame.inputFiles()))
    roots = _find_roots([base] if base is not None else paths)
    files = []
    for place, size in zip(places, _find_sizes(places), strict=True):
        files.append(File(place, size, _read_folders(place, roots) if by_folders else ()))
    return tuple(files)


def open_file(place: str) -> pa.NativeFile:
    """A file, to be read at any place of it."""
    if not _is_elsewhere(place):
        return pa.OSFile(place)
    system, path = _file_system(place)
    return system.open_input_file(path)


def _place(address: str) -> str:
    """Spark writes addresses, with what is special in them as numbers."""
    scheme, _, rest = address.partition(":")
    if scheme == "file":
        return unquote(_path_of(address))
    return f"{_SCHEMES.get(scheme, scheme)}:{rest}"


def _path_of(address: str) -> str:
    """The path in an address, without what stands before it."""
    rest = address.partition(":")[2]
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


def _is_elsewhere(place: str) -> bool:
    return "://" in place and not place.startswith("/")


def _file_system(place: str) -> tuple[pafs.FileSystem, str]:
    try:
        return pafs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"{place} cannot be read by tasks themselves: {error}"
        hint = "give the query spark.read.parquet(...), which reads what Spark can reach"
        raise DataError([Problem("TW308", message, hint)]) from error


def _find_sizes(places: Sequence[str]) -> list[int | None]:
    """Of files that this machine can see."""
    if not places:
        return []
    if _is_elsewhere(places[0]):
        opened = [_file_system(place) for place in places]
        return [info.size for info in opened[0][0].get_file_info([path for _, path in opened])]
    return [os.stat(place).st_size if os.path.exists(place) else None for place in places]


def _find_roots(paths: Iterable[str]) -> tuple[int, ...]:
    """How many folders lead to each of the paths, the path itself among them. A pattern stands for one name per part,
    so that what it finds lies as deep as it is long."""
    depths = set()
    for path in paths:
        plain = _path_of(path) if ":" in path.split("/", 1)[0] else path
        absolute = plain if plain.startswith("/") else os.path.abspath(plain)
        depths.add(len(PurePosixPath(os.path.normpath(absolute)).parts))
    return tuple(sorted(depths))


def _read_folders(place: str, roots: Sequence[int]) -> tuple[tuple[str, str | None], ...]:
    path = PurePosixPath(unquote(_path_of(place)) if _is_elsewhere(place) else place)
    below = path.parts[:-1]
    if not any("=" in part for part in below):
        return ()
    known = [depth for depth in roots if depth < len(path.parts)]
    first = known[0] if known else len(below)
    pairs = [part.split("=", 1) for part in below[first:] if "=" in part]
    return tuple((unquote(name), None if value == _NO_VALUE else unquote(value)) for name, value in pairs)


Column: TypeAlias = pa.Array | pa.ChunkedArray

_t = pa.types


def convert(column: Column, wanted: pa.DataType, where: str) -> Column:
    """A column in another type, with the same values.

    Args:
        column: As Arrow reads it.
        wanted: The type that Spark reads it in.
        where: What it is, for errors.

    Raises:
        DataError: The column is of a type whose values do not have that one.
    """
    if column.type == wanted:
        return column
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([convert(chunk, wanted, where) for chunk in column.chunks], wanted)
    try:
        return _convert(column, wanted, where)
    except pa.ArrowInvalid as error:
        raise _misfit(f"{where} does not fit {wanted}: {error}") from error


def _convert(array: pa.Array, wanted: pa.DataType, where: str) -> pa.Array:
    given = array.type
    if isinstance(array, pa.ExtensionArray):
        return convert(array.storage, wanted, where)
    if _t.is_dictionary(given):
        return convert(array.dictionary_decode(), wanted, where)
    if _t.is_struct(given) and _t.is_struct(wanted):
        return _convert_struct(array, wanted, where)
    if _t.is_null(given):
        return pa.nulls(len(array), wanted)
    if not may_become(given, wanted):
        raise _misfit(f"{where} is of the type {given}, where Spark reads {wanted}")
    if _t.is_timestamp(given) and _t.is_timestamp(wanted):
        # The same moments: what has no zone is in UTC, as Spark takes it.
        return pc.cast(array, pa.timestamp(wanted.unit, given.tz)).view(wanted)
    return pc.cast(array, wanted)


def _convert_struct(array: pa.StructArray, wanted: pa.StructType, where: str) -> pa.Array:
    names = [part.name for part in array.type]
    parts = []
    for part in wanted:
        own = find_name(names, part.name, where)
        if own is None:
            parts.append(pa.nulls(len(array), part.type))
        else:
            # Flattened, a part is NULL where the whole is.
            parts.append(convert(array.flatten()[names.index(own)], part.type, f"{where}.{part.name}"))
    return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=array.is_null())


def find_name(names: list[str], wanted: str, where: str) -> str | None:
    """The name of a column in a file, whose case need not be the same; None where there is none.

    Raises:
        DataError: Several names differ in their case alone, and none of them is the one.
    """
    if wanted in names:
        return wanted
    alike = [name for name in names if name.lower() == wanted.lower()]
    if len(alike) > 1:
        raise _misfit(f"{where} has the columns {', '.join(alike)}, and {wanted} may be any of them")
    return alike[0] if alike else None


def may_become(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type are values of the other, as Spark reads files. Whether each of them fits is seen when
    they are cast."""
    if given == wanted:
        return True
    if _t.is_dictionary(given):
        return may_become(given.value_type, wanted)
    if isinstance(given, pa.BaseExtensionType):
        return may_become(given.storage_type, wanted)
    if (_t.is_list(given) or _t.is_large_list(given)) and _t.is_list(wanted):
        return may_become(given.value_type, wanted.value_type)
    if _t.is_map(given) and _t.is_map(wanted):
        return may_become(given.key_type, wanted.key_type) and may_become(given.item_type, wanted.item_type)
    if _t.is_struct(given) and _t.is_struct(wanted):
        same = [field.name for field in given] == [field.name for field in wanted]
        return same and all(may_become(own.type, other.type) for own, other in zip(given, wanted, strict=True))
    return any(is_given(given) and is_wanted(wanted) and fits(given, wanted) for is_given, is_wanted, fits in _RULES)


def _always(given: pa.DataType, wanted: pa.DataType) -> bool:
    return True


def _is_text(kind: pa.DataType) -> bool:
    return _t.is_string(kind) or _t.is_large_string(kind) or _t.is_string_view(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return _t.is_binary(kind) or _t.is_large_binary(kind) or _t.is_fixed_size_binary(kind) or kind == pa.binary_view()


def _is_wide(kind: pa.DataType) -> bool:
    return bool(_t.is_float64(kind))


#: Types of files, types of Spark, and what else must hold of the two.
_RULES: tuple[
    tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool], Callable[[pa.DataType, pa.DataType], bool]],
    ...,
] = (
    (_t.is_integer, _t.is_integer, _always),
    (_t.is_integer, _is_wide, lambda given, wanted: given.bit_width <= 32),
    (_t.is_integer, _t.is_decimal, _always),
    (_t.is_integer, _t.is_duration, lambda given, wanted: given.bit_width == 64),
    (_t.is_duration, _t.is_integer, lambda given, wanted: wanted.bit_width == 64),
    (_t.is_floating, _t.is_floating, lambda given, wanted: given.bit_width <= wanted.bit_width),
    (_t.is_decimal, _t.is_decimal, _always),
    (_is_text, _is_text, _always),
    (_is_bytes, _is_bytes, _always),
    (_is_bytes, _is_text, _always),
    (_is_text, _is_bytes, _always),
    (_t.is_date, _t.is_date, _always),
    # A zone is never taken away; nanoseconds are nothing that Spark reads.
    (_t.is_timestamp, _t.is_timestamp, lambda given, wanted: given.unit != "ns" and bool(wanted.tz or not given.tz)),
)


def _misfit(message: str) -> DataError:
    return DataError([Problem("TW308", message, "give a column one type in all files")])


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
