"""A stream that a command runs: started, shown while it runs, and stopped in order."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import NumericType

from trendweave import Options, Workload
from trendweave.cli.answers import QUERY, Answers, Asked, describe_answers
from trendweave.cli.failure import Failure
from trendweave.cli.options import Numbers, TimeOptions, add_times, choose_type_column
from trendweave.cli.spark_messages import find_worker_message, strip_states
from trendweave.cli.spark_session import is_local
from trendweave.cli.streams.live_view import METRICS, MOST_COUNTED, ROWS, MicroBatch, View, rows_of
from trendweave.cli.streams.sources import Sink, Source, explain_missing_connector
from trendweave.runners.spark.versions import collect_arrow, read_progress

_MOST_PARTITIONS = 16
_LOOK_EVERY = 0.25  # seconds
_PATIENCE = 30  # seconds for a micro-batch whose rows are out to be noted as done


def session_settings(master: str, buckets: int | None) -> dict[str, str]:
    """For a session that does nothing but run this stream."""
    return {
        # The only store that keeps state of this kind; Avro, so that its columns can change with releases.
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.encodingFormat": "avro",
        # One store per partition: more than there are buckets, or cores, only cost.
        "spark.sql.shuffle.partitions": str(min(buckets or _MOST_PARTITIONS, _cores(master))),
        # What the user's schema calls a timestamp is one with a zone, as in any Spark; texts without one are UTC.
        "spark.sql.timestampType": "TIMESTAMP_LTZ",
    }


def _cores(master: str) -> int:
    if not is_local(master):
        return _MOST_PARTITIONS
    number = re.match(r"local\[(\d+)", master)
    if number is not None:
        return max(1, int(number[1]))
    return (os.cpu_count() or 1) if "[" in master else 1


@dataclass(frozen=True, slots=True)
class StreamRun:
    """What is to run. Without a sink, rows go to the view. `trigger` is None for as soon as possible."""

    asked: Asked
    source: Source
    sink: Sink | None
    checkpoint: str
    time: str
    type: str | None
    numbers: Numbers
    watermark: str
    early: bool
    buckets: int | None
    trigger: str | None
    available_now: bool
    sharing: Literal["auto", "always", "never"] | None = None
    device: Literal["cpu", "threads", "gpu", "auto"] | None = None
    times: TimeOptions = field(default_factory=TimeOptions)
    order_by: Sequence[str] | None = None
    rule_columns: Sequence[Literal["version", "description"]] = ()

    def rows(self, spark: SparkSession) -> DataFrame:
        """Put the query on its stream; nothing runs yet."""
        events = self.source.read(spark)
        options: Options = {
            "numbers": self.numbers,
            "watermark": self.watermark,
            "early": self.early,
            "buckets": self.buckets,
            "metrics": METRICS,
            "device": self.device,
        }
        add_times(options, self.times)
        if self.order_by:
            options["order_by"] = self.order_by
        if isinstance(self.asked, Workload):
            options["sharing"] = self.sharing
            options["rule_columns"] = self.rule_columns
        found: DataFrame = self.asked.run(events, self.time, self.find_type(events.columns), **options)
        return found.observe(ROWS, F.count(F.lit(1)).alias("rows"), *self._count_each())

    def find_type(self, columns: Sequence[str]) -> str | None:
        """The type column, on events with these columns."""
        return choose_type_column(self.asked, self.type, columns)

    def _count_each(self) -> list[Column]:
        """Rows of each query, where they are not too many to count one by one."""
        names = list(self.asked) if isinstance(self.asked, Workload) else []
        if len(names) > MOST_COUNTED:
            return []
        return [F.count_if(F.col(QUERY) == name).alias(rows_of(number)) for number, name in enumerate(names)]

    def answers(self, rows: DataFrame) -> Answers:
        """What tells rows apart, and whose they are."""
        # Whether the type is a column changes nothing of what tells rows apart.
        return describe_answers(self.asked, rows, self.time, self.type)

    def counts_seconds(self, rows: DataFrame) -> bool:
        """Tell whether times, which stand first, are plain numbers of seconds."""
        return isinstance(rows.schema[isinstance(self.asked, Workload)].dataType, NumericType)


class Stopped(Exception):
    """Raised in a micro-batch whose rows are not wanted any more, so that Spark does not note it as done."""


class RunningStream:
    """`view` gets the rows where they go nowhere else, and what Spark says about each micro-batch.

    Rows are shown and the micro-batch is noted as done, or neither: `stop` waits for the note of the one that was
    shown, and no other is shown after it. So the next start goes on where the view ended.
    """

    def __init__(self, run: StreamRun, rows: DataFrame, view: View) -> None:
        self._run, self._view = run, view
        self._answers = run.answers(rows)
        self._showing = threading.Lock()
        self._over = False
        self._shown = -1
        self._seen = ""
        self.reader_is_gone = False
        if run.sink is None:
            writer = rows.writeStream.foreachBatch(self._show)
        else:
            writer = run.sink.make_writer(rows, self._answers)
        writer = writer.outputMode("update" if run.early else "append")
        writer = writer.option("checkpointLocation", run.checkpoint)
        if run.available_now:
            writer = writer.trigger(availableNow=True)
        elif run.trigger is not None:
            writer = writer.trigger(processingTime=run.trigger)
        with explain_stream_errors(), explain_missing_connector():
            self._query: StreamingQuery = writer.start()

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
