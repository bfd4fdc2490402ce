"""A stream of Spark that reads a store as it grows: every append once, in one order, also after compactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from trendweave.store.layout.files import DataFile
from trendweave.store.layout.places import Place
from trendweave.store.layout.reading import OpenFiles, RowReader
from trendweave.store.layout.sequence import Sequence as Order


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
