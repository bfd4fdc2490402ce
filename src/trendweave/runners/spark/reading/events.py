"""Events in Parquet files, which Spark only looks at and tasks read themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from trendweave.errors import DataError, OptionError, Problem, near_names
from trendweave.runners.spark.reading.files import File, list_files

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # a client of Spark Connect may lack it, and never meets it
    Py4JError = PySparkException
#: What Spark's reader may be told: all of them are about which files and columns there are, none about values.
_OPTIONS = ("mergeSchema", "basePath", "recursiveFileLookup", "pathGlobFilter", "modifiedBefore", "modifiedAfter")


class ParquetEvents:
    """Events in Parquet files. Use them like a DataFrame in `query.run` and so on; the rows are the same.

    Attributes:
        files: The files, as they were found when this object was made.
    """

    def __init__(self, frame: DataFrame, files: tuple[File, ...]) -> None:
        self._frame = frame
        self.files = files

    @property
    def schema(self) -> StructType:
        """The columns, in the types that Spark reads them in."""
        return self._frame.schema

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._frame.columns

    @property
    def sparkSession(self) -> SparkSession:
        """The session that runs queries."""
        return self._frame.sparkSession

    def to_spark(self) -> DataFrame:
        """The same events as a plain DataFrame, which Spark reads."""
        return self._frame

    def __repr__(self) -> str:
        shown = ", ".join(f"{field.name}: {field.dataType.simpleString()}" for field in self.schema)
        return f"ParquetEvents[{shown}]"


def read(spark: SparkSession, path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], **options: Any) -> Any:
    """Events in Parquet files, for queries on Spark whose tasks read the files themselves.

    Rows do not pass through the JVM: tasks read the columns that a query needs and skip row groups that cannot
    contribute. Spark lists files and columns, and the rows are those of `query.run(spark.read.parquet(path))`.

    Args:
        spark: The session.
        path: A file, a folder, a glob such as `events/2024-*`, or several of them. Folders `name=value` become columns.
        **options: Of Spark's reader: `mergeSchema`, `basePath`, `recursiveFileLookup`, `pathGlobFilter`,
            `modifiedBefore`, `modifiedAfter`.

    Returns:
        The events, as `ParquetEvents`, for `run`, `schema` and `check` of queries and workloads; `to_spark()` returns a
        DataFrame.

    Raises:
        DataError: There are no such files, or they are not Parquet files.
        OptionError: An option is not one of these.
    """
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        hint = near_names(unknown[0], _OPTIONS) or "give the query spark.read.parquet(...) for other options"
        message = f"read knows the options {', '.join(_OPTIONS)}, not {', '.join(unknown)}"
        raise OptionError([Problem("TW408", message, hint)])
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    paths = [os.fspath(one) for one in given]
    try:
        frame = spark.read.format("parquet").options(**options).load(paths)
        schema = frame.schema
    except (PySparkException, Py4JError) as error:
        raise DataError([_cannot_read(paths, error)]) from error
    by_folders = str(options.get("recursiveFileLookup", "")).lower() != "true"
    base = options.get("basePath")
    assert schema is not None
    return ParquetEvents(frame, list_files(frame, paths, None if base is None else str(base), by_folders))


def _cannot_read(paths: Sequence[str], error: Exception) -> Problem:
    said = str(error).split("\n", 1)[0].split("SQLSTATE", 1)[0].strip()
    hint = "are they there, and are they Parquet files?"
    if "CONFLICTING_DIRECTORY_STRUCTURES" in str(error):
        hint = "give the folder that holds all of them, or name it as basePath"
    elif "NANOS" in str(error):
        hint = "Spark reads no times in nanoseconds: write them in microseconds"
    elif not paths:
        hint = "name a file or a folder"
    return Problem("TW308", f"{', '.join(paths) or 'no path'} cannot be read as Parquet: {said}", hint)
