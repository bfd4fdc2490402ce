"""Tables in files, told apart by their ending: Parquet, CSV, JSON lines, Arrow."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trendweave.cli.tables import write_lists_as_text
from trendweave.errors import DataError, Problem
from trendweave.pictures.times import write_far_times
from trendweave.table_files import KINDS, FileKind, read_columns_of_file, read_file


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Files of one kind. A folder among them has folders `key=value` in it, which stand for a column."""

    kind: FileKind
    paths: tuple[Path, ...]


def find_kind(path: str | Path) -> FileKind:
    """Find the kind of a file by its ending."""
    ending = Path(path).suffix.lower()
    if ending not in KINDS:
        raise table_error(f"the kind of {Path(path).name} is not known by its ending", f"use one of {' '.join(KINDS)}")
    return KINDS[ending]


def is_elsewhere(path: str) -> bool:
    """A path on another file system, such as s3a://bucket/events.parquet."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None


def table_error(message: str, hint: str) -> DataError:
    """Make the error of a table that cannot be read or written."""
    return DataError([Problem("TW308", message, hint)])


def find_files(paths: Sequence[str]) -> EventFiles:
    """What is at these paths: files, all files below a folder, or what a pattern with * and ? stands for."""
    found = [part for path in paths for root in _expand_pattern(path) for part in _find_files_at(root)]
    one_of_each = {kind: path.name for path, kind in found}
    if len(one_of_each) > 1:
        shown = ", ".join(sorted(one_of_each.values()))
        raise table_error(f"events come in files of several kinds: {shown}", "name files of one kind")
    return EventFiles(found[0][1], tuple(path for path, _ in found))


def _expand_pattern(path: str) -> list[Path]:
    if Path(path).exists():
        return [Path(path)]
    if matches := sorted(glob.glob(path)):
        return [Path(match) for match in matches]
    raise table_error(f"{path} cannot be read: there is no such file or folder", "is the path right?")


def _find_files_at(root: Path) -> list[tuple[Path, FileKind]]:
    if not root.is_dir():
        return [(root, find_kind(root))]
    # Names that begin with _ or . are notes of the programs that wrote the folder.
    below = [path for path in sorted(root.rglob("*")) if not _is_hidden(path.relative_to(root)) and path.is_file()]
    if not below:
        raise table_error(f"the folder {root.name} holds no files", "is the path right?")
    if any("=" in part for path in below for part in path.relative_to(root).parts[:-1]):
        return [(root, find_kind(below[0]))]
    return [(path, find_kind(path)) for path in below]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts)


# Reading


def read_schema(path: Path) -> pa.Schema:
    """The columns of a file, or of the files of a folder; only what has to be read for that is read."""
    return _put_together(find_files([str(path)]), read_columns_of_file).schema


def read_tables(found: EventFiles) -> pa.Table:
    """All rows; a column that only some files have is NULL in the others."""
    return _put_together(found, read_file)


def read_table(path: Path) -> pa.Table:
    """Read all rows of a file, or of the files of a folder."""
    return read_tables(find_files([str(path)]))


def _put_together(found: EventFiles, read: Callable[[Path], pa.Table]) -> pa.Table:
    for path in found.paths:
        if path.is_dir():
            message = f"{path.name} has folders named key=value, which only Spark reads as columns"
            raise table_error(message, "use --runner spark, or name the files themselves")
    tables = [read(path) for path in found.paths]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise table_error(f"the files do not go together: {error}", "give a column one type in all of them") from error


# Writing


def check_place(path: Path) -> None:
    """Find out before the work, not after it, that its result has no place."""
    find_kind(path)
    if not path.absolute().parent.is_dir():
        raise table_error(f"{path.name} cannot be written: there is no folder {path.parent}", "make the folder first")
    if path.is_dir():
        raise table_error(f"{path.name} cannot be written: it is a folder", "choose another name")


def is_folder(out: str) -> bool:
    """A result is one file where its path has an ending, and a folder of files otherwise, or where it ends with /."""
    return out.endswith("/") or not Path(out).suffix or is_elsewhere(out)


def check_folder(out: str, by_spark: bool = True) -> FileKind:
    """The kind of the files that a folder of results will hold, whoever writes them."""
    name = Path(out.rstrip("/"))
    kind = find_kind(name) if name.suffix else "parquet"
    if kind == "arrow" and by_spark:
        raise table_error(f"{name.name} cannot be written: Spark writes no Arrow files", "write Parquet, or one file")
    if not is_elsewhere(out) and name.exists():
        raise table_error(f"{name.name} cannot be written: it is there already", "choose another name, or remove it")
    return kind


def ending_of(kind: FileKind) -> str:
    """How files of a kind end."""
    return next(ending for ending, known in KINDS.items() if known == kind)


def make_folder(path: Path) -> None:
    """Make a folder, and those that it lies in."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise table_error(f"{path} cannot be made: {error}", "is its folder writable?") from error


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table into a file of the kind that its ending says.

    Args:
        table: The rows.
        path: The file, which is replaced if it is there.

    Raises:
        DataError: The file cannot be written.
    """
    try:
        _write(table, path)
    except OSError as error:
        hint = "does the folder exist, and is it writable?"
        raise table_error(f"{path.name} cannot be written: {error}", hint) from error


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    match find_kind(path):
        case "parquet":
            pyarrow.parquet.write_table(table, path)
        case "csv":
            pyarrow.csv.write_csv(write_lists_as_text(table), path)
        case "arrow":
            pyarrow.feather.write_feather(table, path, compression="uncompressed")
        case "json":
            rows = write_far_times(table).to_pylist()
            path.write_text("".join(write_json_line(row) for row in rows), encoding="utf-8")


def write_json_line(row: dict[str, object]) -> str:
    """Write a row as a JSON object on a line."""
    import json
    from decimal import Decimal

    def plain(value: object) -> object:
        # JSON has no exact large numbers; readers of all languages keep text.
        return int(value) if isinstance(value, Decimal) and abs(value) < 2**53 and value == int(value) else str(value)

    return json.dumps(row, default=plain) + "\n"
