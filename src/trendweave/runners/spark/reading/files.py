"""The files behind a DataFrame of Parquet: where they are, how large, and what their folders say."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from trendweave.errors import DataError, Problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What Hive and Spark call the folder of rows without a value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
#: Names of file systems as Hadoop writes them, where Arrow has another one.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}


@dataclass(frozen=True, slots=True)
class File:
    """A file of events.

    Attributes:
        place: Where it is: a path of this machine, or an address such as s3://bucket/name, in which what is special is
            written as numbers.
        size: How many bytes it has; None where that is not known here.
        folders: What the folders `name=value` that it lies in say, as text; None for no value.
    """

    place: str
    size: int | None
    folders: tuple[tuple[str, str | None], ...] = ()


def list_files(frame: DataFrame, paths: Sequence[str], base: str | None, by_folders: bool = True) -> tuple[File, ...]:
    """The files that a DataFrame reads, in their order.

    Args:
        frame: What Spark makes of the paths.
        paths: The paths as they were given.
        base: The folder below which folders stand for columns, where it was given.
        by_folders: Whether folders stand for columns at all.
    """
    places = sorted(map(_place, frame.inputFiles()))
    roots = _find_roots([base] if base is not None else paths)
    files = []
    for place, size in zip(places, _find_sizes(places), strict=True):
        files.append(File(place, size, _read_folders(place, roots) if by_folders else ()))
    return tuple(files)


def open_file(place: str) -> pa.NativeFile:
    """A file, to be read at any place of it."""
    if not _is_elsewhere(place):
        return pa.OSFile(place)
    system, path = _file_system(place)
    return system.open_input_file(path)


def _place(address: str) -> str:
    """Spark writes addresses, with what is special in them as numbers."""
    scheme, _, rest = address.partition(":")
    if scheme == "file":
        return unquote(_path_of(address))
    return f"{_SCHEMES.get(scheme, scheme)}:{rest}"


def _path_of(address: str) -> str:
    """The path in an address, without what stands before it."""
    rest = address.partition(":")[2]
    return "/" + rest[2:].partition("/")[2] if rest.startswith("//") else rest


def _is_elsewhere(place: str) -> bool:
    return "://" in place and not place.startswith("/")


def _file_system(place: str) -> tuple[pafs.FileSystem, str]:
    try:
        return pafs.FileSystem.from_uri(place)
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"{place} cannot be read by tasks themselves: {error}"
        hint = "give the query spark.read.parquet(...), which reads what Spark can reach"
        raise DataError([Problem("TW308", message, hint)]) from error


def _find_sizes(places: Sequence[str]) -> list[int | None]:
    """Of files that this machine can see."""
    if not places:
        return []
    if _is_elsewhere(places[0]):
        opened = [_file_system(place) for place in places]
        return [info.size for info in opened[0][0].get_file_info([path for _, path in opened])]
    return [os.stat(place).st_size if os.path.exists(place) else None for place in places]


def _find_roots(paths: Iterable[str]) -> tuple[int, ...]:
    """How many folders lead to each of the paths, the path itself among them. A pattern stands for one name per part,
    so that what it finds lies as deep as it is long."""
    depths = set()
    for path in paths:
        plain = _path_of(path) if ":" in path.split("/", 1)[0] else path
        absolute = plain if plain.startswith("/") else os.path.abspath(plain)
        depths.add(len(PurePosixPath(os.path.normpath(absolute)).parts))
    return tuple(sorted(depths))


def _read_folders(place: str, roots: Sequence[int]) -> tuple[tuple[str, str | None], ...]:
    path = PurePosixPath(unquote(_path_of(place)) if _is_elsewhere(place) else place)
    below = path.parts[:-1]
    if not any("=" in part for part in below):
        return ()
    known = [depth for depth in roots if depth < len(path.parts)]
    first = known[0] if known else len(below)
    pairs = [part.split("=", 1) for part in below[first:] if "=" in part]
    return tuple((unquote(name), None if value == _NO_VALUE else unquote(value)) for name, value in pairs)
