"""Tables in files, told apart by their ending: Parquet, CSV, JSON lines, Arrow."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from trendweave.errors import DataError, Problem

FileKind: TypeAlias = Literal["parquet", "csv", "json", "arrow"]
#: What files are by their endings.
KINDS: dict[str, FileKind] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
}
COMMA = ","
#: What separates columns of CSV where the header has no comma.
_OTHER_SEPARATORS = (";", "\t", "|")
_QUOTED = re.compile(r'"[^"]*"')


def read_file(path: str | Path) -> pa.Table:
    """All rows of a file.

    Args:
        path: The path of a file of Parquet, CSV, JSON (an object a line) or Arrow.

    Raises:
        DataError: There is no such file, it cannot be read, or its kind is not known.
    """
    found = Path(path)
    kind = KINDS.get(found.suffix.lower())
    if found.is_dir():
        hint = "trendweave.EventStore.over(path), or on Spark trendweave.read(spark, path)"
        raise _refuse(f"{path} is a folder, and one file is read at once", hint)
    if not found.is_file():
        raise _refuse(f"there is no file {path}", "events are a table, or the path of a file")
    try:
        if kind == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(found).read()
        if kind == "csv":
            import pyarrow.csv

            # An empty cell is NULL, with quotes and without.
            options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
            separated = pyarrow.csv.ParseOptions(delimiter=find_separator(found))
            return pyarrow.csv.read_csv(found, convert_options=options, parse_options=separated)
        if kind == "json":
            import pyarrow.json

            return pyarrow.json.read_json(found)
        if kind == "arrow":
            import pyarrow.feather

            return pyarrow.feather.read_table(found)
    except (OSError, pa.ArrowException) as error:
        hint = "does its content match its suffix?"
        if kind == "json" and _begins_with(found, b"["):
            hint = f"it is one array; JSON files have one object per line here: jq -c '.[]' {found.name} > lines.json"
        raise _refuse(f"{found.name} cannot be read: {error}", hint) from error
    raise _refuse(
        f"the kind of {found.name} is not known by its ending", f"use one of {' '.join(KINDS)}, or read it into a table"
    )


def read_columns_of_file(path: str | Path) -> pa.Table:
    """A table with the columns of a file; Parquet tells them without its rows.

    Args:
        path: As for `read_file`.

    Raises:
        DataError: As for `read_file`.
    """
    if Path(path).suffix.lower() == ".parquet" and Path(path).is_file():
        import pyarrow.parquet

        with suppress(OSError, pa.ArrowException):
            return pyarrow.parquet.read_schema(path).empty_table()
    return read_file(path)


def find_separator(path: Path) -> str:
    """What separates the columns of a CSV file.

    Args:
        path: The file, which is there.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        return choose_separator(next((line for line in file if line.strip()), ""))


def choose_separator(header: str) -> str:
    """What separates columns: a comma, unless a header has none and has `;`, a tab or `|`.

    Args:
        header: The line with the names of the columns; what stands in quotes does not count.
    """
    plain = _QUOTED.sub("", header)
    found = max(_OTHER_SEPARATORS, key=plain.count)
    return found if COMMA not in plain and found in plain else COMMA


def _begins_with(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(1024).lstrip().startswith(sign)


def _refuse(message: str, hint: str) -> DataError:
    return DataError([Problem("TW308", message, hint)])
