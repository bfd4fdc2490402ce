"""A query on files of events, through Spark: what Spark reads, and where the rows go."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from trendweave import Options, ParquetEvents, Query, read
from trendweave.cli.answers import Asked, describe_answers
from trendweave.cli.failure import Failure
from trendweave.cli.files import FileKind, explain_unreadable, find_files, find_kind, is_elsewhere, table_error
from trendweave.cli.spark_messages import find_plain_message
from trendweave.cli.spark_separators import find_csv_options
from trendweave.cli.spark_session import explain_spark_errors
from trendweave.errors import DataError
from trendweave.rows.given_times.result_times import check_result_times
from trendweave.runners.spark.versions import collect_arrow

_LOG = logging.getLogger("trendweave")
#: What a file cannot be read with is an error; Spark would make NULLs of it.
_OPTIONS: dict[FileKind, dict[str, str | bool]] = {
    "parquet": {"mergeSchema": True},
    "csv": {"header": True, "inferSchema": True, "mode": "FAILFAST", "enforceSchema": False, "columnPruning": False},
    "json": {"inferTimestamp": True, "mode": "FAILFAST"},
    "arrow": {},
}


def choose_files(paths: Sequence[str], local: bool) -> tuple[FileKind, list[str]]:
    """The kind of the files and the paths for Spark; looks at the disk of this machine alone.

    Where the workers run elsewhere, or the files lie elsewhere, only Spark can look: the ending of the path says what
    is there, and a path without one is a folder of Parquet.
    """
    if local and not any(map(is_elsewhere, paths)):
        found = find_files(paths)
        if found.kind == "csv":
            _check_headers(found.paths)
        kind, names = found.kind, [escape_path(path) for path in found.paths]
    else:
        kinds = {find_kind(path) if Path(path).suffix else "parquet" for path in paths}
        if len(kinds) > 1:
            raise table_error("events come in files of several kinds", "name files of one kind")
        kind, names = kinds.pop(), list(paths)
    if kind == "arrow":
        message = f"{Path(names[0]).name} cannot be read: Spark has no reader for .arrow and .feather files"
        raise table_error(message, "use --runner local, or Parquet")
    return kind, names


def _check_headers(paths: Sequence[Path]) -> None:
    """Spark goes by the places of columns in CSV, and takes the header of one file for that of all."""
    headers: dict[bytes, Path] = {}
    for path in paths:
        if path.is_file():
            with explain_unreadable(path), path.open("rb") as file:
                headers.setdefault(file.readline().strip(), path)
    if len(headers) > 1:
        shown = ", ".join(sorted(path.name for path in headers.values()))
        raise table_error(
            f"files have different columns, or another order of them: {shown}",
            "make the columns the same in all of them",
        )


def escape_path(path: Path) -> str:
    """Spark takes a path for a pattern; this one means itself."""
    return "file:" + re.sub(r"([\\*?\[\]{}])", r"\\\1", str(path.absolute()))


def read_events(spark: SparkSession, kind: FileKind, paths: list[str]) -> DataFrame | ParquetEvents:
    """Read files with Spark, or Parquet files by its tasks themselves where they can open them.

    Args:
        spark: The session.
        kind: What the files are.
        paths: Files or folders, as Spark writes paths.

    Returns:
        The events, not read yet but for their columns.

    Raises:
        DataError: Spark cannot read them.
    """
    by_tasks = kind == "parquet" and all(path.startswith("file:") for path in paths)
    try:
        if by_tasks:
            return read(spark, paths, **_OPTIONS[kind])
        # Headers of several files are the same.
        separated = find_csv_options(spark, paths[0]) if kind == "csv" else {}
        return spark.read.format(kind).options(**_OPTIONS[kind], **separated).load(paths)
    except (PySparkException, Py4JError, DataError) as error:
        said = error.__cause__ if isinstance(error.__cause__, Exception) else error
        message = f"the events cannot be read: {find_plain_message(said)}"
        hint = find_hint(message) or "are the files there, and is their content what their ending says?"
        raise table_error(message, hint) from error


def find_hint(message: str) -> str:
    """Find the hint where Spark's message tells the cause; an empty text where it does not."""
    if "TIMESTAMP(NANOS" not in message:
        return ""
    return "Spark reads no Parquet times in nanoseconds: write them in microseconds, or use --runner local"


def read_plainly(spark: SparkSession, kind: FileKind, paths: list[str]) -> DataFrame:
    """Read files with Spark, as a DataFrame; as for `read_events`."""
    events = read_events(spark, kind, paths)
    return events.to_spark() if isinstance(events, ParquetEvents) else events


def write_rows(rows: DataFrame, folder: str, kind: FileKind) -> None:
    """A folder with one file per task, written by the tasks."""
    options = {"header": True} if kind == "csv" else {}
    rows = write_lists_as_json(rows) if kind == "csv" else rows
    try:
        with explain_spark_errors():
            rows.write.format(kind).options(**options).mode("error").save(folder)
    except Failure:
        # Spark leaves the folder without files; the next try should find its place free.
        with suppress(OSError):
            Path(folder).rmdir()
        raise


def write_lists_as_json(rows: DataFrame) -> DataFrame:
    """Replace lists, for which CSV has no place, by JSON."""
    columns = [
        F.to_json(F.col(quoted), {"ignoreNullFields": "false"}).alias(field.name)
        if isinstance(field.dataType, ArrayType)
        else F.col(quoted)
        for field, quoted in ((field, f"`{field.name.replace('`', '``')}`") for field in rows.schema.fields)
    ]
    return rows.select(*columns)


def tell_of_no_rows(rows: pa.Table) -> None:
    """Say that a result is empty. Why that is so, Spark would have to look for in the events once more."""
    if not rows.num_rows:
        _LOG.warning(
            "the result is empty: check whether events have the types and values of the query; "
            "on files that fit into memory, --runner local says why"
        )


class SparkRun:
    """A query or a workload on Spark, whose dropped rows are told after the one action on its result."""

    def __init__(
        self, asked: Asked, events: DataFrame | ParquetEvents, time: str, type_: str | None, options: Options
    ) -> None:
        self._asked, self._time, self._type, self._options = asked, time, type_, options
        self._seen = Observation()
        counted: Options = {**options, "observation": self._seen}
        self._result: DataFrame = asked.run(events, time, type_, **counted)

    def rows(self) -> pa.Table:
        """All rows on this machine, by query, ordered by window and group."""
        with explain_spark_errors():
            table = collect_arrow(self._result)
        check_result_times(table, self._time, self._options)
        self._report()
        tell_of_no_rows(table)
        return describe_answers(self._asked, table, self._time, self._type).sort(table)

    def write(self, folder: str, kind: FileKind) -> None:
        """A folder with one file per task, written by the tasks; of a workload, such a folder per query in it."""
        if isinstance(self._asked, Query):
            write_rows(self._result, folder, kind)
        else:
            rows = self._result.persist()  # one run for all of them
            for name in self._asked:
                own = self._asked.rows(rows, name, self._time, self._type)
                write_rows(own, f"{folder.rstrip('/')}/{name}", kind)
        self._report()

    def _report(self) -> None:
        try:
            seen = self._seen.get
        except Py4JError:
            # Spark has observed nothing, where there was not a single row.
            seen = {}
        no_time, no_type = seen.get("null_time", 0), seen.get("null_type", 0)
        if no_time or no_type:
            _LOG.warning("dropped %d rows without a time and %d without a type, of %d", no_time, no_type, seen["rows"])
