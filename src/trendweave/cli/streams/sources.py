"""Where the streams of a command come from and go to: files and Kafka, through Spark's own readers and writers.

A record that cannot be read as the schema says is dropped and counted: a stream that ended there would end there again
after every restart, and a row of NULLs would be a wrong event.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import StringType, StructField, StructType

from trendweave.cli.answers import Answers
from trendweave.cli.failure import Failure
from trendweave.cli.files import is_elsewhere, table_error
from trendweave.cli.spark_files import escape_path, find_hint, write_lists_as_json
from trendweave.cli.spark_messages import find_plain_message
from trendweave.cli.spark_separators import find_csv_options
from trendweave.cli.streams.keys import make_keys
from trendweave.cli.streams.live_view import SOURCE

StreamFormat = Literal["parquet", "json", "csv"]

#: The column in which Spark leaves a record that it cannot read.
_UNREADABLE = "trendweave_unreadable"
_READ_OPTIONS: dict[StreamFormat, dict[str, str | bool]] = {
    "parquet": {},
    "json": {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREADABLE},
    "csv": {
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _UNREADABLE,
        "header": True,
        "enforceSchema": False,
        "columnPruning": False,
    },
}
_WRITE_OPTIONS: dict[StreamFormat, dict[str, str | bool]] = {
    "parquet": {},
    "json": {"ignoreNullFields": False},
    "csv": {"header": True},
}


@dataclass(frozen=True, slots=True)
class FileSource:
    """All files of a folder, and those that come. Without a schema, it is that of the Parquet files that are there."""

    events: str
    format: StreamFormat
    schema: str | None
    options: Mapping[str, str]

    def read(self, spark: SparkSession) -> DataFrame:
        """Make the stream of events; records that cannot be read are dropped and counted."""
        path = self._path()
        schema = self._found(spark, path) if self.schema is None else read_schema(self.schema)
        if self.format != "parquet":
            schema = _add_place_for_unreadable(schema)
        reader = spark.readStream.format(self.format).schema(schema)
        separated = find_csv_options(spark, path, self.options) if self.format == "csv" else {}
        with _explain_unreadable(self.events):
            events = reader.options(**_READ_OPTIONS[self.format], **separated, **self.options).load(path)
        return events if self.format == "parquet" else _drop_unreadable(events)

    def _path(self) -> str:
        """A pattern with * and ? is for Spark to spell out, again and again as folders come."""
        if is_elsewhere(self.events) or (not Path(self.events).exists() and glob.has_magic(self.events)):
            return self.events
        if not Path(self.events).is_dir():
            raise table_error(f"{self.events} cannot be read: there is no such folder", "a stream reads a folder")
        return escape_path(Path(self.events))

    def _found(self, spark: SparkSession, path: str) -> StructType:
        try:
            return spark.read.option("mergeSchema", True).parquet(path).schema
        except (PySparkException, Py4JError) as error:
            message = f"the columns cannot be taken from {self.events}: {find_plain_message(error)}"
            hint = find_hint(message) or 'give them: --schema "time timestamp, type string, ..."'
            raise table_error(message, hint) from error


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A Kafka topic whose values are JSON objects."""

    servers: str
    topic: str
    schema: str
    starting: str
    options: Mapping[str, str]

    def read(self, spark: SparkSession) -> DataFrame:
        """Make the stream of events; records that cannot be read are dropped and counted."""
        place = {
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": self.starting,
        }
        schema = _add_place_for_unreadable(read_schema(self.schema))
        with explain_missing_connector():
            records = spark.readStream.format("kafka").options(**place, **self.options).load()
        reading = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREADABLE}
        event = F.from_json(F.col("value").cast("string"), schema, reading)
        parsed = records.select(event.alias("event"))
        # A record without a value is no event either.
        why = F.when(F.col("event").isNull(), F.lit("")).otherwise(F.col("event").getField(_UNREADABLE))
        columns = [F.col("event").getField(name).alias(name) for name in schema.names[:-1]]
        return _drop_unreadable(parsed.select(*columns, why.alias(_UNREADABLE)))


@dataclass(frozen=True, slots=True)
class FileSink:
    """A folder of files. Spark notes which of them count, so that its readers see each row once. `by` is a column for
    whose values there are folders in it, called column=value."""

    out: str
    format: StreamFormat
    options: Mapping[str, str]
    by: str | None = None

    def make_writer(self, rows: DataFrame, answers: Answers) -> DataStreamWriter:
        """Make what writes the rows, not started yet."""
        options = {**_WRITE_OPTIONS[self.format], **self.options}
        rows = write_lists_as_json(rows) if self.format == "csv" else rows
        writer = rows.writeStream.format(self.format).options(**options).option("path", self.out)
        return writer if self.by is None else writer.partitionBy(self.by)


@dataclass(frozen=True, slots=True)
class TopicSink:
    """A Kafka topic; each row is a JSON object, and so is its key. Kafka may get a row twice where the command was
    killed. `keys` are the columns of keys; without them those of groups."""

    servers: str
    topic: str
    options: Mapping[str, str]
    keys: tuple[str, ...] = ()

    def make_writer(self, rows: DataFrame, answers: Answers) -> DataStreamWriter:
        """Make what writes the rows, not started yet."""
        value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)), {"ignoreNullFields": "false"})
        place = {"kafka.bootstrap.servers": self.servers, "topic": self.topic}
        records = rows.select(*make_keys(rows.columns, answers, self.keys), value.alias("value"))
        return records.writeStream.format("kafka").options(**place, **self.options)


Source = FileSource | TopicSource
Sink = FileSink | TopicSink


def read_schema(text: str) -> StructType:
    """Read columns and their types, as Spark SQL writes them."""
    try:
        return cast(StructType, StructType.fromDDL(text))
    except (PySparkException, Py4JError) as error:
        message = f"the schema cannot be read: {find_plain_message(error)}"
        raise table_error(message, 'write it as "time timestamp, type string, price double"') from error


def _add_place_for_unreadable(schema: StructType) -> StructType:
    return StructType([*schema.fields, StructField(_UNREADABLE, StringType())])


def _drop_unreadable(events: DataFrame) -> DataFrame:
    unread = F.col(_UNREADABLE).isNotNull()
    counted = events.observe(SOURCE, F.count_if(unread).alias("unreadable"))
    return counted.where(~unread).drop(_UNREADABLE)


@contextmanager
def _explain_unreadable(what: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        message = f"{what} cannot be read: {find_plain_message(error)}"
        raise table_error(message, "is it a folder of such files?") from error


@contextmanager
def explain_missing_connector() -> Iterator[None]:
    """Spark's Kafka connector is no part of Spark itself."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if "kafka" not in str(error).lower() or "find data source" not in str(error).lower():
            raise
        coordinates = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
        hint = f"add --packages {coordinates}, or the jars of it and of what it needs with --jars"
        raise Failure("Spark has no Kafka connector on its class path", hint) from error
