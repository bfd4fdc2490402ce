"""The state of a stream, cut into buckets: how many there are, what each says about itself, and what it carries on
after rows are gone: one value per table.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructField, StructType

from trendweave.errors import DataError, Problem
from trendweave.programs.carry import StoredTables, check_owner, read_carry, write_carry
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.spark.blobs import Buckets

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle


_PARTITIONS = "spark.sql.shuffle.partitions"
#: So many where nobody asks for another number and the session has at least as many partitions.
MOST = 16


@dataclass(frozen=True, slots=True)
class StateBuckets:
    """So many buckets.

    Attributes:
        count: How many.
        spread: Their numbers are chosen so that each partition of the state gets as many as others. Buckets that
            somebody asked for are numbered one after the other, as they always were.
    """

    count: int
    spread: bool = False

    @staticmethod
    def choose(wanted: Literal["auto"] | int, spark: SparkSession) -> StateBuckets:
        """Those that were asked for, else as many as there are partitions: one call of a task each. Where there are
        more partitions than `MOST`, buckets are those of states from before there was a choice, which so go on.

        Args:
            wanted: The option.
            spark: The session.
        """
        if wanted != "auto":
            return StateBuckets(wanted)
        found = spark.conf.get(_PARTITIONS, None) or ""
        partitions = int(found) if found.isdecimal() else MOST + 1
        return StateBuckets(MOST) if partitions > MOST else StateBuckets(max(1, partitions), spread=True)

    @property
    def stored(self) -> int:
        """What a state says about its buckets: their number, less than 0 where they are spread."""
        return -self.count if self.spread else self.count

    def numbers(self) -> tuple[int, ...]:
        """The number of each bucket, in the state."""
        return tuple(Buckets(self.count).numbers().tolist()) if self.spread else tuple(range(self.count))


def describe_misfit(stored: int, wanted: int) -> tuple[str, str]:
    """What is wrong where a state has other buckets than a stream, and the hint.

    Args:
        stored: Of the state, as `StateBuckets.stored`.
        wanted: Of the stream, likewise.
    """
    message = f"the checkpoint was made with {_describe(stored)}, not {_describe(wanted)}"
    if stored > 0:
        return message, f"set buckets={stored}, or use a new checkpoint"
    return message, f"leave buckets out and set {_PARTITIONS} to {-stored}, as it was, or use a new checkpoint"


def _describe(stored: int) -> str:
    return f"{stored} buckets" if stored > 0 else f"{-stored} buckets, one for each partition"


#: Written into every state. A state of another version is converted where that is possible, else refused.
STATE_VERSION = 1
#: Of states whose rows were folded: a release that does not fold would miss them. It goes on with rows of version 1. In
#: version 2, largest values and sums of floats were in other columns.
FOLDED_VERSION = 3


def struct_of(**fields: DataType) -> StructType:
    """The type of a value in the state. It is not given as text, which each task would ask the JVM to read."""
    return StructType([StructField(name, kind) for name, kind in fields.items()])


BYTES, INT, LONG, TEXT = BinaryType(), IntegerType(), LongType(), StringType()
#: Bytes with their checksum.
CONTENT = struct_of(content=BYTES, checksum=LONG)
ABOUT = struct_of(
    version=INT,
    made_for=TEXT,
    buckets=INT,
    columns=BYTES,
    closed=LONG,
    next_piece=LONG,
    timer=LONG,
    earliest=LONG,
    latest=LONG,
    checksum=LONG,
)


@dataclass(frozen=True, slots=True)
class About:
    """What the state of a bucket is. Times are steps of the time column, `timer` is in milliseconds."""

    version: int
    made_for: str
    buckets: int
    columns: bytes
    closed: int | None = None
    next_piece: int = 0
    timer: int | None = None
    earliest: int | None = None
    latest: int | None = None

    @property
    def times(self) -> tuple[int, int] | None:
        """Rows wait between these times; None where none do."""
        return None if self.earliest is None or self.latest is None else (self.earliest, self.latest)

    def as_tuple(self) -> tuple[Any, ...]:
        """With a checksum at its end."""
        values = tuple(getattr(self, name) for name in self.__slots__)
        return (*values, zlib.crc32(repr(values).encode()))

    def with_times(self, earliest: int, latest: int) -> About:
        """With rows between these times as well."""
        return replace(
            self,
            earliest=earliest if self.earliest is None else min(earliest, self.earliest),
            latest=latest if self.latest is None else max(latest, self.latest),
        )

    @staticmethod
    def from_tuple(stored: tuple[Any, ...]) -> About:
        values: list[Any] = [bytes(value) if isinstance(value, bytearray) else value for value in stored[:-1]]
        about = About(*values)
        if about.as_tuple()[-1] != stored[-1]:
            message = "the metadata of the state is damaged: its checksum is wrong"
            hint = "restart from an intact checkpoint, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        return about


def check_about(stored: Any, fresh: About, columns: pa.Schema) -> About:
    """What is stored about a bucket, which must be what this stream would write; `fresh` where nothing is stored.

    Raises:
        DataError: It is damaged, of another version, or somebody else's (TW311).
    """
    if stored is None:
        return fresh
    stored = tuple(stored)
    if not STATE_VERSION <= stored[0] <= fresh.version:
        message = f"the state has version {stored[0]}, this release reads version {fresh.version}"
        raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
    about = About.from_tuple(stored)
    if about.made_for != fresh.made_for:
        message = "the checkpoint was made for another query, or for events with other columns"
        hint = "resume with the query and the release that made it, or start with a new checkpoint"
        raise DataError([Problem("TW311", message, hint)])
    if about.buckets != fresh.buckets:
        raise DataError([Problem("TW311", *describe_misfit(about.buckets, fresh.buckets))])
    if not pa.ipc.read_schema(pa.py_buffer(about.columns)).equals(columns):
        message = "the columns in the state are not those that this release computes"
        raise DataError([Problem("TW311", message, "run it with the release that wrote it")])
    return replace(about, version=fresh.version)


class CarryState:
    """What outlives rows, as one value of bytes with a checksum."""

    def __init__(self, handle: StatefulProcessorHandle, owner: str) -> None:
        self._value = handle.getValueState("carry", CONTENT)
        self._owner = owner

    def read(self) -> Carry:
        stored = self._value.get()
        if stored is None:
            return NO_CARRY
        content, checksum = bytes(stored[0]), stored[1]
        if zlib.crc32(content) != checksum:
            message = "the carried state is damaged: its checksum is wrong"
            hint = "restart from an intact checkpoint, or from the source with a new one"
            raise DataError([Problem("TW311", message, hint)])
        tables, owner, _ = read_carry(content)
        check_owner(owner, self._owner)
        return tables

    def write(self, before: Carry, carry: Carry) -> None:
        """What is carried on after `before`, which `read` gave."""
        if not carry and not before:
            return
        if not carry:
            self._value.clear()
            return
        content = write_carry(carry, self._owner)
        self._value.update((content, zlib.crc32(content)))


#: Under this name there is the list of all others: to list the keys of a map, Spark reads the whole map.
_NAMES = ""


class TableState:
    """The tables of a bucket."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._values = handle.getMapState("tables", struct_of(name=TEXT), CONTENT)

    def read(self) -> Carry:
        """The tables that are there; none is read yet."""
        stored = self._values.getValue((_NAMES,))
        return StoredTables([] if stored is None else json.loads(_check(stored)), self._read_table)

    def write(self, before: Carry, after: Carry) -> None:
        """What is carried on after `before`, which `read` gave."""
        for name in before:
            if name not in after:
                self._values.removeKey((name,))
        for name in _changed_names(before, after):
            self._put(name, as_stream(after[name]))
        if set(before) == set(after):
            return
        if after:
            self._put(_NAMES, json.dumps(sorted(after)).encode())
        else:
            self._values.removeKey((_NAMES,))

    def _put(self, name: str, content: bytes) -> None:
        self._values.updateValue((name,), (content, zlib.crc32(content)))

    def _read_table(self, name: str) -> pa.Table:
        stored = self._values.getValue((name,))
        if stored is None:
            raise _damaged(f"{name} is not there")
        return from_stream(_check(stored))


def _changed_names(before: Carry, after: Carry) -> list[str]:
    """The names of tables that are not the very objects of before."""
    there = after.at_hand() if isinstance(after, StoredTables) else after
    return [name for name, table in there.items() if name not in before or table is not before[name]]


def _check(stored: Any) -> bytes:
    content = bytes(stored[0])
    if zlib.crc32(content) != stored[1]:
        raise _damaged("its checksum is wrong")
    return content


def _damaged(reason: str) -> DataError:
    hint = "restart from an intact checkpoint, or from the source with a new one"
    return DataError([Problem("TW311", f"the carried state is damaged: {reason}", hint)])
