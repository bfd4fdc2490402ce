"""Commands on Spark: what Spark reads of files of events, and where the rows go."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from trendweave import ParquetEvents, Query, Workload, read
from trendweave.cli.failure import Failure
from trendweave.cli.files import find_files, find_kind, is_elsewhere, table_error
from trendweave.cli.spark_session import explain_spark_errors, find_plain_message, is_local, session
from trendweave.errors import DataError
from trendweave.rows.time_parsing import check_result_times
from trendweave.runners.spark.versions import collect_arrow
from trendweave.table_files import COMMA, FileKind, choose_separator, find_separator

if TYPE_CHECKING:
    from rich.console import Console

    from trendweave.cli.running import Running

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
            try:
                with path.open("rb") as file:
                    headers.setdefault(file.readline().strip(), path)
            except OSError as error:
                raise table_error(f"{path.name} cannot be read: {error}", "may it be read?") from error
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


def find_csv_options(spark: SparkSession, path: str, given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The options that Spark needs to read CSV files at a path.

    Args:
        spark: The session, which is asked where this machine does not have the files.
        path: A file, a folder or a pattern, as Spark writes paths.
        given: Options of the user, who may have named the separator.
    """
    if any(name.lower() in ("sep", "delimiter") for name in given or ()):
        return {}
    local = _find_local_file(path)
    return {"sep": _ask_spark(spark, path) if local is None else find_separator(local)}


def _find_local_file(path: str) -> Path | None:
    """The file at a path of this machine, or the first one below it; None where only Spark can look."""
    if not path.startswith("file:"):
        return None
    place = Path(re.sub(r"\\(.)", r"\1", path.removeprefix("file:")))
    if place.is_file():
        return place
    return next(_find_visible_files(place), None) if place.is_dir() else None


def _find_visible_files(folder: Path) -> Iterator[Path]:
    # Names that begin with _ or . are notes of the programs that wrote the folder.
    below = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return (file for file in below if not any(part[0] in "_." for part in file.relative_to(folder).parts))


def _ask_spark(spark: SparkSession, path: str) -> str:
    """By the header as a single text; a comma where there is nothing to read yet."""
    try:
        return choose_separator(",".join(spark.read.option("header", True).csv(path).columns))
    except (PySparkException, Py4JError):
        return COMMA


def find_hint(message: str) -> str:
    """Find the hint where Spark's message tells the cause; an empty text where it does not."""
    if "TIMESTAMP(NANOS" not in message:
        return ""
    return "Spark reads no Parquet times in nanoseconds: write them in microseconds, or use --runner local"


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


def compute_on_spark(command: Running, asked: Any, console: Console) -> None:
    """Run what a command asks, and write the rows; all that can be wrong without Spark is found before it starts."""
    folder = command.find_folder(asked)
    master, options, sides = command.master or "local[*]", command.options, list[Any]()
    if command.store is not None:
        store, options = command.open_store()
        sides.append(store)
    chosen = [] if sides else [choose_files(paths, is_local(master)) for paths in command.sides]
    with session(master, command.settings, progress=console.is_terminal) as spark:
        sides += [read_events(spark, *one) for one in chosen]
        seen = None
        if command.store is not None:
            options["spark"] = spark
        elif isinstance(asked, Query | Workload):
            options["observation"] = seen = Observation()
        else:
            sides = [one.to_spark() if isinstance(one, ParquetEvents) else one for one in sides]
        columns = command.columns(asked, sides[0])
        found: DataFrame = asked.run(*sides, **columns, **options)
        if folder is not None and not command.is_written_here(asked):
            _write_by_tasks(command, asked, found, sides[0], folder)
            _tell_of_dropped(seen)
            return
        with explain_spark_errors():
            rows = collect_arrow(found)
            if command.store is None:
                check_result_times(rows, command.time, command.options)
            _tell_of_dropped(seen)
            if not rows.num_rows and isinstance(asked, Query | Workload):
                # Why that is so, Spark would have to look for in the events once more.
                _LOG.warning(
                    "the result is empty: check whether events have the types and values of the query; "
                    "on files that fit into memory, --runner local says why"
                )
            rows = command.put_in_order(asked, rows, sides)
        command.write(asked, rows, sides[0], folder)


def _write_by_tasks(command: Running, asked: Any, rows: DataFrame, events: Any, kind: FileKind) -> None:
    """A folder with one file per task, written by the tasks; of a workload, such a folder per query in it."""
    if not isinstance(asked, Workload):
        write_rows(rows, command.out, kind)
        return
    for name, own in command.split(asked, rows.persist(), events):  # one run for all of them
        write_rows(own, f"{command.out.rstrip('/')}/{name}", kind)


def _tell_of_dropped(observation: Observation | None) -> None:
    """Say how many rows were dropped, after the one action on a result."""
    try:
        seen = {} if observation is None else observation.get
    except Py4JError:
        # Spark has observed nothing, where there was not a single row.
        return
    no_time, no_type = seen.get("null_time", 0), seen.get("null_type", 0)
    if no_time or no_type:
        _LOG.warning("dropped %d rows without a time and %d without a type, of %d", no_time, no_type, seen["rows"])
