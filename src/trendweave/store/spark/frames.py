"""Plain DataFrames and streams of Spark over a store: a DataFrame over the files that can hold what is asked for, a
stream that follows appends, and a stream or DataFrame written into the store.
"""

from __future__ import annotations

import posixpath
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from trendweave.errors import OptionError, Problem
from trendweave.expressions.spark_sql import spark_column
from trendweave.rows.times import TimeType
from trendweave.runners.spark.versions import to_arrow
from trendweave.runners.spark.workers import travelling
from trendweave.store.changes import about, record, tell_of_columns, tell_of_no_events
from trendweave.store.layout.commits import Commit
from trendweave.store.layout.commits import Sequence as Order
from trendweave.store.layout.files import DataFile, Declaration
from trendweave.store.layout.moments import read_between
from trendweave.store.layout.places import Place
from trendweave.store.layout.reading import OpenFiles, RowReader
from trendweave.store.layout.writing import count_no_events, deal, file_name, fit_columns, write_file

if TYPE_CHECKING:
    from trendweave.rows.time_parsing import TimeUnit
    from trendweave.store.event_store import EventStore


#: A condition on a column: its name, a comparison, and a value.
Condition = tuple[str, str, Any]
_COMPARISONS = {
    "=": Column.__eq__,
    "<>": Column.__ne__,
    "<": Column.__lt__,
    "<=": Column.__le__,
    ">": Column.__gt__,
    ">=": Column.__ge__,
}


def read_frame(
    spark: SparkSession,
    store: EventStore,
    columns: Sequence[str] | None,
    where: Sequence[Condition],
    between: Sequence[Any] | None,
) -> DataFrame:
    """The rows of a store as Spark reads them.

    Args:
        spark: The session.
        store: The store.
        columns: Those that are shown; None for all.
        where: Conditions that all hold.
        between: Two moments; only events from the first on and before the second are shown.

    Raises:
        TrendweaveError: A column is not there, or a condition cannot be read.
    """
    store.check_columns([*(columns or ()), *(name for name, _, _ in where)])
    for name, comparison, _ in where:
        if comparison not in _COMPARISONS:
            hint = f"use one of {' '.join(_COMPARISONS)}"
            raise OptionError([Problem("TW408", f"{name} cannot be compared by {comparison!r}", hint)])
    steps = read_between(between, store.kind)
    schema = from_arrow_schema(store.schema)
    paths = _find_paths(store, where, steps)
    if paths:
        frame = spark.read.schema(schema).option("basePath", _address(store, "")).parquet(*paths)
        frame = frame.select(*(spark_column((name,)) for name in store.schema.names))
    else:
        frame = spark.createDataFrame([], schema)
    for name, comparison, value in where:
        frame = frame.where(_compare(F.col(spark_column((name,))), comparison, value, store.schema.field(name).type))
    time = F.col(spark_column((store.time,)))
    for step, compare in zip(steps, (Column.__ge__, Column.__lt__), strict=True):
        if step is not None:
            moments = F.round(time * 1e6) if store.kind.is_float else time
            frame = frame.where(compare(moments, _moment(step, store.kind)))
    return frame if columns is None else frame.select(*(spark_column((name,)) for name in columns))


def _compare(column: Column, comparison: str, value: Any, kind: pa.DataType) -> Column:
    """NaN is above all numbers; Parquet's bounds, by which Spark leaves row groups out, do not tell of it."""
    found = _COMPARISONS[comparison](column, F.lit(value))
    above = pa.types.is_floating(kind) and comparison in (">", ">=", "<>") and value == value
    return found | F.isnan(column) if above else found


def _find_paths(store: EventStore, where: Sequence[Condition], steps: tuple[int | None, int | None]) -> list[str]:
    """The files that may hold such events, as the light index tells."""
    blocks, (low, end) = store.blocks, steps
    possible = np.ones(blocks.count.size, np.bool_)
    for name, comparison, value in where:
        possible &= blocks.may_hold(name, comparison, value)
    possible &= (blocks.last >= low) if low is not None else True
    possible &= (blocks.first < end) if end is not None else True
    files = np.zeros(len(store.files), np.bool_)
    files[blocks.file[possible]] = True
    if low is None and end is None:
        # Blocks are of events with a time.
        files |= np.bincount(blocks.file, blocks.count, len(store.files)) < store.file_rows
    chosen = [store.files[number] for number in np.flatnonzero(files)]
    if any(file.lies is not None for file in chosen):
        raise OptionError([Problem("TW408", "an append is being committed", "call refresh(), and try again")])
    return [_by_itself(_address(store, file.name)) for file in chosen]


def _address(store: EventStore, name: str) -> str:
    """Where Spark finds a file, or the folder."""
    folder = "file://" + store.place.path("") if store.place.is_local else unquote(store.place.address)
    return posixpath.join(folder, name)


def _by_itself(path: str) -> str:
    """A path in which letters that could stand for others do not."""
    return "".join(f"\\{letter}" if letter in "*?[]{}" else letter for letter in path)


def _moment(step: int, kind: TimeType) -> Column:
    if pa.types.is_timestamp(kind.arrow):
        micros = -(-step * kind.step // 1000)  # the first microsecond that is not before it
        moment = F.timestamp_micros(F.lit(micros))
        return moment if kind.arrow.tz is not None else F.to_timestamp_ntz(F.lit(_iso(micros)))
    return F.lit(step)


def _iso(micros: int) -> str:
    return str(pa.scalar(micros, pa.timestamp("us")).as_py().isoformat(sep=" ", timespec="microseconds"))


class FilePartition(InputPartition):
    """A file that a task reads."""

    def __init__(self, file: DataFile) -> None:
        super().__init__(file.name)
        self.file = file


class StoreStreamReader(DataSourceStreamReader):
    """Offsets are numbers of appends."""

    def __init__(self, place: Place, schema: pa.Schema) -> None:
        self._place, self._schema = place, schema
        self._order = Order(place)

    def initialOffset(self) -> dict[str, int]:
        """Before the first append."""
        return {"appends": 0}

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        """After the last one. Spark before 4.2 asks without arguments."""
        return {"appends": self._order.count()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The files between two offsets."""
        return [FilePartition(file) for file in self._order.files(start["appends"], end["appends"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file."""
        assert isinstance(partition, FilePartition), "partitions are made above"
        reader = RowReader(OpenFiles(self._place), partition.file, self._schema)
        for group in range(reader.groups):
            yield from reader.read([group], self._schema.names, threads=False).combine_chunks().to_batches()

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is kept for earlier offsets."""

    def stop(self) -> None:
        """Nothing is held."""


def follow(spark: SparkSession, place: Place, schema: pa.Schema) -> DataFrame:
    """A streaming DataFrame of all events of a store, those that are there and those to come.

    Args:
        spark: The session.
        place: The folder of the store, which tasks reach as the driver does.
        schema: The columns of the stream; columns that are added later are not among them.
    """
    columns = pa.schema([pa.field(field.name, _for_spark(field.type)) for field in schema])

    class StoreSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "trendweave_store"

        def schema(self) -> StructType:
            return from_arrow_schema(columns, prefer_timestamp_ntz=True)

        def streamReader(self, schema: StructType) -> StoreStreamReader:
            return StoreStreamReader(place, columns)

    spark.dataSource.register(StoreSource)
    return spark.readStream.format("trendweave_store").load()


def _for_spark(kind: pa.DataType) -> pa.DataType:
    """Spark counts microseconds, and has no unsigned numbers."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.int64()}[kind.bit_width]
    return kind


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


class Sink:
    """For `writeStream.foreachBatch`: each batch is added once, however often Spark hands it over.

    A batch is known by the name of the sink and its number, which Spark keeps in the checkpoint of the query.
    """

    def __init__(
        self, store: EventStore, name: str, time_unit: TimeUnit | None = None, time_format: str | None = None
    ) -> None:
        self._store, self._name = store, name
        self._time_unit, self._time_format = time_unit, time_format

    def __call__(self, frame: Any, number: int) -> None:
        self._store.append(frame, (self._name, number), self._time_unit, self._time_format)
