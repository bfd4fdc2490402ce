"""Tables in files, told apart by their ending: Parquet, CSV, JSON lines, Arrow."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from trendweave.errors import DataError, Problem

_JSON = (".json", ".jsonl", ".ndjson")
_ENDINGS = ".parquet .csv .json .jsonl .ndjson .arrow .feather"


def read_file(path: str | Path) -> pa.Table:
    """All rows of a file.

    Args:
        path: The path of a file of Parquet, CSV, JSON (an object a line) or Arrow.

    Raises:
        DataError: There is no such file, it cannot be read, or its kind is not known.
    """
    found = Path(path)
    ending = found.suffix.lower()
    if found.is_dir():
        hint = "trendweave.EventStore.over(path), or on Spark trendweave.read(spark, path)"
        raise _refuse(f"{path} is a folder, and one file is read at once", hint)
    if not found.is_file():
        raise _refuse(f"there is no file {path}", "events are a table, or the path of a file")
    try:
        if ending == ".parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(found).read()
        if ending == ".csv":
            import pyarrow.csv

            # An empty cell is NULL, with quotes and without.
            options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
            return pyarrow.csv.read_csv(found, convert_options=options)
        if ending in _JSON:
            import pyarrow.json

            return pyarrow.json.read_json(found)
        if ending in (".arrow", ".feather"):
            import pyarrow.feather

            return pyarrow.feather.read_table(found)
    except (OSError, pa.ArrowException) as error:
        hint = "is its content what its ending says?"
        if ending in _JSON and _begins_with(found, b"["):
            hint = f"it is one array, and JSON has an object a line here: jq -c '.[]' {found.name} > lines.json"
        raise _refuse(f"{found.name} cannot be read: {error}", hint) from error
    raise _refuse(
        f"the kind of {found.name} is not known by its ending", f"use one of {_ENDINGS}, or read it into a table"
    )


def _begins_with(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(1024).lstrip().startswith(sign)


def _refuse(message: str, hint: str) -> DataError:
    return DataError([Problem("TW308", message, hint)])
