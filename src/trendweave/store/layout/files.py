"""Data files: where each one is, what its folders say, and how a changed one is told from the one that was indexed.

One schema holds for all of them: columns that were added later are NULL before, numbers may have become wider. What
was said when the store was made (columns, keys, layout) lies beside the data.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem
from trendweave.store.layout.places import OWN_FOLDER, Place, is_hidden

#: What Hive and Spark call the folder of rows without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_SUFFIXES = (".parquet", ".parq", ".pq")
#: Files that `append` writes tell their bucket, and how many there are.
_BUCKET = re.compile(r"bucket-(\d+)-of-(\d+)")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a store.

    Attributes:
        name: Its name relative to the folder of the store; it names the file in indexes as well.
        size: How many bytes it has.
        changed: When it was last written, in nanoseconds.
        folders: What the folders `name=value` that it lies in say, as text; None for no value.
        lies: Where it is read from, where that is not its name: an append that is not yet in place, or one that was
            replaced since.
    """

    name: str
    size: int
    changed: int
    folders: tuple[tuple[str, str | None], ...] = ()
    lies: str | None = None

    @property
    def location(self) -> str:
        """The name of the file to read."""
        return self.lies or self.name

    @property
    def bucket(self) -> tuple[int, int] | None:
        """The number of its bucket and how many there are, where `append` wrote it."""
        found = _BUCKET.search(posixpath.basename(self.name))
        return (int(found[1]), int(found[2])) if found else None


def data_file(place: Place, info: pafs.FileInfo, name: str | None = None) -> DataFile:
    """What is known of a file.

    Args:
        place: The folder of the store.
        info: What the file system says.
        name: The name that it will have, where it is another one now.
    """
    lies = place.relative(info.path)
    name = name or lies
    return DataFile(name, info.size, info.mtime_ns or 0, read_folders(name), lies if lies != name else None)


def list_data_files(place: Place) -> list[DataFile]:
    """All files of Parquet below a folder that are not hidden, in the order of their names."""
    found = []
    for info in place.list(deep=True):
        name = place.relative(info.path)
        if info.type == pafs.FileType.File and name.lower().endswith(_SUFFIXES) and not is_hidden(name):
            found.append(data_file(place, info))
    return sorted(found, key=lambda file: file.name)


def read_folders(name: str) -> tuple[tuple[str, str | None], ...]:
    """What the folders of a file say about all of its rows."""
    pairs = [part.split("=", 1) for part in name.split("/")[:-1] if "=" in part]
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)


def folder_types(files: Iterable[DataFile]) -> dict[str, pa.DataType]:
    """The types of columns that are folders: whole numbers where all values are such, else strings."""
    values: dict[str, set[str]] = {}
    for file in files:
        for key, value in file.folders:
            values.setdefault(key, set()).update(() if value is None else (value,))
    whole = re.compile(r"-?(0|[1-9]\d{0,17})")
    return {
        key: pa.int64() if seen and all(whole.fullmatch(value) for value in seen) else pa.string()
        for key, seen in values.items()
    }


def locate(place: Place, file: DataFile) -> str:
    """Where a file is now: an append may have come into its place since it was listed, and a compaction may have
    replaced it."""
    if not place.is_local or place.exists(file.location):
        return file.location
    others = (file.name, f"{OWN_FOLDER}/replaced/{file.name}")
    return next((name for name in others if place.exists(name)), file.location)


def open_moving(place: Place, file: DataFile) -> pa.NativeFile:
    """Open a file that another process may be putting into its place right now."""
    for _ in range(3):
        try:
            return place.open(locate(place, file))
        except FileNotFoundError:
            continue
    return place.open(locate(place, file))


def footer_digest(place: Place, file: DataFile) -> bytes:
    """A digest of the end of a file, where Parquet describes all the rest.

    Raises:
        DataError: The file is none of Parquet.
    """
    with open_moving(place, file) as source:
        length = _footer_length(file, source.read_at(8, max(0, file.size - 8)))
        return hashlib.blake2b(source.read_at(length, file.size - 8 - length), digest_size=16).digest()


def _footer_length(file: DataFile, end: bytes) -> int:
    length = int.from_bytes(end[:4], "little")
    if end[4:] != b"PAR1" or length + 12 > file.size:
        raise not_parquet(file, "its end is not that of a Parquet file")
    return length


def not_parquet(file: DataFile, why: object) -> DataError:
    """The error of a file that cannot be read."""
    hint = "remove it from the folder, or rename it to begin with an underscore"
    return DataError([Problem("TW331", f"{file.name} cannot be read: {why}", hint)])


_t = pa.types


def unite(schemas: Iterable[tuple[str, pa.Schema]]) -> pa.Schema:
    """The columns of all files, in the order in which they are met.

    Args:
        schemas: Names of files and what is in them.

    Raises:
        DataError: A column has types that do not go together; the error names the file.
    """
    columns: dict[str, pa.DataType] = {}
    seen: set[bytes] = set()
    for file, schema in schemas:
        written = schema.serialize().to_pybytes()
        if written in seen:
            continue
        seen.add(written)
        for field in schema:
            kind = plain_type(field.type)
            known = columns.get(field.name)
            wider = kind if known is None else wider_type(known, kind)
            if wider is None:
                message = f"the column {field.name} is {kind} in {file}, and {known} in other files"
                raise DataError([Problem("TW332", message, "give a column one type in all files")])
            columns[field.name] = wider
    return pa.schema(columns)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which values are read: dictionaries and views as what they hold."""
    if _t.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if _t.is_large_string(kind) or _t.is_string_view(kind):
        return pa.string()
    if _t.is_large_binary(kind) or kind == pa.binary_view():
        return pa.binary()
    return kind


def wider_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """A type that holds the values of both, exactly; None where there is none that people expect."""
    if one == other or _t.is_null(other):
        return one
    if _t.is_null(one):
        return other
    if _t.is_integer(one) and _t.is_integer(other) and _t.is_signed_integer(one) == _t.is_signed_integer(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    if _t.is_floating(one) and _t.is_floating(other):
        return max(one, other, key=lambda kind: kind.bit_width)
    for whole, real in ((one, other), (other, one)):
        if _t.is_integer(whole) and whole.bit_width <= 32 and _t.is_float64(real):
            return real
    if _t.is_timestamp(one) and _t.is_timestamp(other) and one.tz == other.tz:
        units = ("s", "ms", "us", "ns")
        return pa.timestamp(max(one.unit, other.unit, key=units.index), one.tz)
    if _t.is_decimal(one) and _t.is_decimal(other) and one.scale == other.scale:
        return max(one, other, key=lambda kind: kind.precision)
    return None


_FILE = f"{OWN_FOLDER}/store.json"
VERSION = 1
#: Rows of a row group: the smallest piece that is read.
GROUP_ROWS = 16_384
#: Files that events are dealt out to by their keys.
BUCKETS = 8


@dataclass(frozen=True)
class Declaration:
    """How a store is laid out.

    Attributes:
        schema: The columns that it was made with; others may have been added since.
        time: The column of the time.
        type: The column of the type, or None.
        keys: The columns that bring events together; events with the same keys lie in one bucket.
        index: Columns that entries are sorted by.
        buckets: How many there are.
        group_rows: How many rows a row group has.
    """

    schema: pa.Schema
    time: str
    type: str | None = None
    keys: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    buckets: int = 1
    group_rows: int = GROUP_ROWS

    def save(self, place: Place) -> bool:
        """Write it; False where there is one already."""
        facts = {
            "version": VERSION,
            "schema": self.schema.serialize().to_pybytes().hex(),
            "time": self.time,
            "type": self.type,
            "keys": self.keys,
            "index": self.index,
            "buckets": self.buckets,
            "group_rows": self.group_rows,
        }
        return place.write_once(_FILE, json.dumps(facts, indent=1).encode())


def load_declaration(place: Place) -> Declaration | None:
    """What was said of a folder; None where nothing was.

    Raises:
        DataError: It cannot be read, or a later version wrote it.
    """
    if not place.exists(_FILE):
        return None
    try:
        facts = json.loads(place.read(_FILE))
        if facts.pop("version") != VERSION:
            raise ValueError("it is of another version")
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(facts.pop("schema"))))
        keys, index = tuple(facts.pop("keys")), tuple(facts.pop("index"))
        return Declaration(schema, keys=keys, index=index, **facts)
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        message = f"{place.address}/{_FILE} cannot be read: {error}"
        raise DataError([Problem("TW331", message, "read the folder with other tools")]) from error
