"""What the state of a bucket says about itself, and what it carries on after rows are gone."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructField, StructType

from trendweave.errors import DataError, Problem
from trendweave.programs.carry import check_owner, read_carry, write_carry
from trendweave.programs.program import NO_CARRY, Carry
from trendweave.runners.spark.packing.state_buckets import describe_misfit

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

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
