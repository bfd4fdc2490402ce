"""A stream that a command runs on Spark: where its events come from and its rows go, and how it is followed.

A record that cannot be read as the schema says is dropped and counted: a stream that ended there would end there again
after every restart, and a row of NULLs would be a wrong event.
"""

from __future__ import annotations

import glob
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import NumericType, StringType, StructField, StructType

from trendweave import Options, Workload
from trendweave.cli.answers import QUERY, Answers, describe_answers
from trendweave.cli.failure import Failure
from trendweave.cli.files import is_elsewhere, table_error
from trendweave.cli.live_view import METRICS, MOST_COUNTED, ROWS, SOURCE, LinesView, LiveView, MicroBatch, rows_of
from trendweave.cli.options import Asked
from trendweave.cli.spark_files import escape_path, find_csv_options, find_hint, write_lists_as_json
from trendweave.cli.spark_session import (
    explain_spark_errors,
    find_plain_message,
    find_worker_message,
    is_local,
    strip_states,
)
from trendweave.cli.stream import Stream, StreamFormat
from trendweave.consoles import make_console
from trendweave.errors import DataError, Problem, near_names
from trendweave.runners.spark.versions import collect_arrow, read_progress

_MOST_PARTITIONS = 16
_LOOK_EVERY = 0.25  # seconds
_PATIENCE = 30  # seconds for a micro-batch whose rows are out to be noted as done
#: The column in which Spark leaves a record that it cannot read.
_UNREADABLE = "trendweave_unreadable"
_KEEP_UNREADABLE: dict[str, str | bool] = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _UNREADABLE}
_READ_OPTIONS: dict[StreamFormat, dict[str, str | bool]] = {
    "parquet": {},
    "json": _KEEP_UNREADABLE,
    "csv": {**_KEEP_UNREADABLE, "header": True, "enforceSchema": False, "columnPruning": False},
}
_WRITE_OPTIONS: dict[StreamFormat, dict[str, str | bool]] = {
    "parquet": {},
    "json": {"ignoreNullFields": False},
    "csv": {"header": True},
}


class Stopped(Exception):
    """Raised in a micro-batch whose rows are not wanted any more, so that Spark does not note it as done."""


class Streaming:
    """What was asked of a stream, and then the stream itself.

    A view gets the rows where they go nowhere else, and what Spark says about each micro-batch. Rows are shown and the
    micro-batch is noted as done, or neither: stopping waits for the note of the one that was shown, and no other is
    shown after it. So the next start goes on where the view ended.
    """

    _query: StreamingQuery
    _answers: Answers
    _view: LinesView

    def __init__(self, given: Stream, asked: Asked) -> None:
        self.given, self._asked = given, asked
        self._showing = threading.Lock()
        self._over = False
        self._shown = -1
        self._seen = ""
        self.reader_is_gone = False

    @property
    def session(self) -> tuple[str, dict[str, str]]:
        """The master, and settings for a session that does nothing but run this stream."""
        master = self.given.master or "local[*]"
        settings = {
            # The only store that keeps state of this kind; Avro, so that its columns can change with releases.
            "spark.sql.streaming.stateStore.providerClass": (
                "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
            ),
            "spark.sql.streaming.stateStore.encodingFormat": "avro",
            # One store per partition: more than there are buckets, or cores, only cost.
            "spark.sql.shuffle.partitions": str(min(self.given.buckets or _MOST_PARTITIONS, _cores(master))),
            # What the user's schema calls a timestamp is one with a zone, as in any Spark; texts without one are UTC.
            "spark.sql.timestampType": "TIMESTAMP_LTZ",
        }
        return master, settings | self.given.settings

    def start(self, spark: SparkSession, stack: ExitStack) -> None:
        """Start the stream, with a view that the stack closes."""
        given = self.given
        with explain_spark_errors():
            rows = self._ask(read_events(given, spark))
        # Whether the type is a column changes nothing of what tells rows apart.
        self._answers = describe_answers(self._asked, rows, given.time, given.type or None)
        # Times stand first.
        counts_seconds = isinstance(rows.schema[isinstance(self._asked, Workload)].dataType, NumericType)
        if sys.stdout.isatty():
            self._view = LiveView(make_console(), given.title, self._answers, counts_seconds)
        else:
            self._view = LinesView(sys.stdout, make_console(errors=True), self._answers, counts_seconds)
        stack.callback(self._view.close)
        if given.to == "console":
            writer = rows.writeStream.foreachBatch(self._show)
        else:
            writer = make_writer(given, rows, self._answers)
        writer = writer.outputMode("update" if given.early else "append")
        writer = writer.option("checkpointLocation", given.checkpoint)
        if given.available_now:
            writer = writer.trigger(availableNow=True)
        elif given.trigger is not None:
            writer = writer.trigger(processingTime=given.trigger)
        with explain_stream_errors(), explain_missing_connector():
            self._query = writer.start()

    def _ask(self, events: DataFrame) -> DataFrame:
        """Put the query on its stream; nothing runs yet."""
        options: Options = {**self.given.options, "metrics": METRICS}
        type_ = self.given.choose_type(self._asked, events.columns)
        rows: DataFrame = self._asked.run(events, self.given.time, type_, **options)
        # Rows of each query are counted where they are not too many to count one by one.
        names = list(self._asked) if isinstance(self._asked, Workload) and len(self._asked) <= MOST_COUNTED else []
        each = [F.count_if(F.col(QUERY) == name).alias(rows_of(number)) for number, name in enumerate(names)]
        return rows.observe(ROWS, F.count(F.lit(1)).alias("rows"), *each)

    def follow(self, wants_to_stop: Callable[[], bool]) -> None:
        """Until the stream ends, fails or is stopped."""
        try:
            with explain_stream_errors():
                # Spark takes parts of a second, and says so nowhere in its types.
                while not self._query.awaitTermination(_LOOK_EVERY):  # type: ignore[arg-type]
                    self._tell()
                    if wants_to_stop():
                        self._view.announce_stop()
                        self._stop()
                        break
                self._tell()
        except Failure:
            if not self.reader_is_gone:
                raise

    def _stop(self) -> None:
        with self._showing:
            self._over = True
        until = time.monotonic() + _PATIENCE
        while self._query.isActive and self._done() < self._shown and time.monotonic() < until:
            time.sleep(_LOOK_EVERY / 5)
        self._query.stop()

    def _done(self) -> int:
        """The last micro-batch that Spark has noted as done; it tells of one after it has."""
        last = self._query.lastProgress
        return -1 if last is None else read_progress(last)["batchId"]

    def _show(self, batch: DataFrame, number: int) -> None:
        if self._over:
            raise Stopped
        rows: pa.Table = collect_arrow(batch)
        with self._showing:
            if self._over:
                raise Stopped
            self._shown = number
            if rows.num_rows:
                try:
                    self._view.show_rows(self._answers.sort(rows))
                except BrokenPipeError:
                    self._over = self.reader_is_gone = True
                    raise

    def _tell(self) -> None:
        """To the view, each micro-batch once. Spark writes the times of their beginnings so that they are in order."""
        last = self._query.lastProgress
        if last is None or read_progress(last)["timestamp"] <= self._seen:
            return
        for progress in map(read_progress, self._query.recentProgress):
            if progress["timestamp"] > self._seen:
                self._seen = progress["timestamp"]
                batch = MicroBatch.read(progress)
                if batch is not None:
                    self._view.show_progress(batch)


def _cores(master: str) -> int:
    if not is_local(master):
        return _MOST_PARTITIONS
    number = re.match(r"local\[(\d+)", master)
    if number is not None:
        return max(1, int(number[1]))
    return (os.cpu_count() or 1) if "[" in master else 1


# Where events come from, and where rows go


def read_events(given: Stream, spark: SparkSession) -> DataFrame:
    """Make the stream of events; records that cannot be read are dropped and counted."""
    return _read_files(given, spark) if given.from_ == "files" else _read_topic(given, spark)


def _read_files(given: Stream, spark: SparkSession) -> DataFrame:
    """All files of a folder, and those that come. Without a schema, it is that of the Parquet files that are there."""
    events, format = str(given.events), given.format or "parquet"
    path = _find_path(events)
    schema = _find_schema(spark, events, path) if given.schema is None else read_schema(given.schema)
    if format != "parquet":
        schema = _add_place_for_unreadable(schema)
    reader = spark.readStream.format(format).schema(schema)
    separated = find_csv_options(spark, path, given.reading) if format == "csv" else {}
    try:
        found = reader.options(**_READ_OPTIONS[format], **separated, **given.reading).load(path)
    except (PySparkException, Py4JError) as error:
        message = f"{events} cannot be read: {find_plain_message(error)}"
        raise table_error(message, "is it a folder of such files?") from error
    return found if format == "parquet" else _drop_unreadable(found)


def _find_path(events: str) -> str:
    """A pattern with * and ? is for Spark to spell out, again and again as folders come."""
    if is_elsewhere(events) or (not Path(events).exists() and glob.has_magic(events)):
        return events
    if not Path(events).is_dir():
        raise table_error(f"{events} cannot be read: there is no such folder", "a stream reads a folder")
    return escape_path(Path(events))


def _find_schema(spark: SparkSession, events: str, path: str) -> StructType:
    try:
        return spark.read.option("mergeSchema", True).parquet(path).schema
    except (PySparkException, Py4JError) as error:
        message = f"the columns cannot be taken from {events}: {find_plain_message(error)}"
        hint = find_hint(message) or 'give them: --schema "time timestamp, type string, ..."'
        raise table_error(message, hint) from error


def _read_topic(given: Stream, spark: SparkSession) -> DataFrame:
    """A Kafka topic whose values are JSON objects."""
    place = {
        "kafka.bootstrap.servers": str(given.servers),
        "subscribe": str(given.topic),
        "startingOffsets": given.starting or "latest",
    }
    schema = _add_place_for_unreadable(read_schema(str(given.schema)))
    with explain_missing_connector():
        records = spark.readStream.format("kafka").options(**place, **given.reading).load()
    event = F.from_json(F.col("value").cast("string"), schema, cast("dict[str, str]", _KEEP_UNREADABLE))
    parsed = records.select(event.alias("event"))
    # A record without a value is no event either.
    why = F.when(F.col("event").isNull(), F.lit("")).otherwise(F.col("event").getField(_UNREADABLE))
    columns = [F.col("event").getField(name).alias(name) for name in schema.names[:-1]]
    return _drop_unreadable(parsed.select(*columns, why.alias(_UNREADABLE)))


def make_writer(given: Stream, rows: DataFrame, answers: Answers) -> DataStreamWriter:
    """Make what writes the rows into files or a topic, not started yet.

    Spark notes which files of a folder count, so that its readers see each row once; of many queries there is a folder
    for each, called query=name. Kafka may get a row twice where the command was killed.
    """
    if given.to == "kafka":
        value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in rows.columns)), {"ignoreNullFields": "false"})
        place = {"kafka.bootstrap.servers": str(given.servers), "topic": str(given.out_topic)}
        records = rows.select(*make_keys(rows.columns, answers, given.out_key or ()), value.alias("value"))
        return records.writeStream.format("kafka").options(**place, **given.writing)
    format = given.out_format or "parquet"
    rows = write_lists_as_json(rows) if format == "csv" else rows
    options = {**_WRITE_OPTIONS[format], **given.writing}
    writer = rows.writeStream.format(format).options(**options).option("path", str(given.out))
    return writer.partitionBy(QUERY) if answers.names else writer


def make_keys(columns: Sequence[str], answers: Answers, chosen: Sequence[str]) -> list[Column]:
    """Make the column `key`, a JSON object.

    Rows of one group have one key, so they stay in one partition, in order.

    Args:
        columns: The columns of the rows.
        answers: What tells them apart.
        chosen: The columns of keys that the user has named; without them those of groups, and of many queries the name
            of the query before them.

    Returns:
        The column; none where there is nothing to make a key of, and Kafka spreads rows over all partitions.

    Raises:
        DataError: There is no such column.
    """
    for name in chosen:
        if name not in columns:
            hint = near_names(name, columns) or f"the rows have {', '.join(columns)}"
            raise DataError([Problem("TW301", f"unknown column {name} in --out-key", hint)])
    if chosen:
        return [_write(chosen).alias("key")]
    if not answers.names:
        return [_write(answers.groups[""]).alias("key")] if answers.groups[""] else []
    # Queries that have the same groups share an expression, so that a thousand rules do not make a thousand.
    queries_by_groups: dict[tuple[str, ...], list[str]] = {}
    for query in answers.names:
        queries_by_groups.setdefault(answers.groups[query], []).append(query)
    cases = [
        F.when(F.col(QUERY).isin(queries), _write([QUERY, *groups])) for groups, queries in queries_by_groups.items()
    ]
    return [F.coalesce(*cases).alias("key")]


def _write(names: Sequence[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in names)), {"ignoreNullFields": "false"})


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


@contextmanager
def explain_stream_errors() -> Iterator[None]:
    """What ended a stream, as a message without stacks and without the plan that Spark adds."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error).split("\n=== Streaming Query ===")[0]
        if (ours := find_worker_message(text)) is not None:
            raise Failure(ours) from error
        hint = "--log FILE --conf spark.log.level=ERROR writes Spark's own log"
        raise Failure(f"the stream failed: {find_cause(text)}", hint) from error


_CAUSE = re.compile(r"^(?:Caused by: )?((?:[\w$]+\.)*\w*(?:Error|Exception): .*)$", re.MULTILINE)
_STREAM = re.compile(r"^\[STREAM_FAILED\].*? terminated with exception: ", re.DOTALL)


def find_cause(text: str) -> str:
    """Find the last exception that a text of nested stacks names, without its package; the first line if there is
    none."""
    found = _CAUSE.findall(text)
    said = re.sub(r"^(?:[\w$]+\.)+", "", found[-1]) if found else _STREAM.sub("", text).partition("\n")[0]
    return strip_states(said)
