"""What separates the columns of CSV files that Spark reads: the same as in process, wherever the files lie."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from trendweave.table_files import COMMA, choose_separator, find_separator


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
