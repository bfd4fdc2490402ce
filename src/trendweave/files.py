"""Tables in files, told apart by their ending: Parquet, CSV, JSON lines, Arrow."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from trendweave.errors import DataError, Problem

ENDINGS = (".parquet", ".csv", ".json", ".jsonl", ".ndjson", ".arrow", ".feather")


def read_schema(path: Path) -> pa.Schema:
    """The columns of a file; only what has to be read for that is read."""
    import pyarrow.parquet as pq

    if _ending(path) == ".parquet":
        with _readable(path):
            return pq.read_schema(path)
    return read_table(path).schema


def read_table(path: Path) -> pa.Table:
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.json
    import pyarrow.parquet

    readers = {
        ".parquet": lambda: pyarrow.parquet.read_table(path),
        ".csv": lambda: pyarrow.csv.read_csv(path),
        ".arrow": lambda: pyarrow.feather.read_table(path),
        ".feather": lambda: pyarrow.feather.read_table(path),
    }
    with _readable(path):
        return readers.get(_ending(path), lambda: pyarrow.json.read_json(path))()


def write_table(table: pa.Table, path: Path) -> None:
    try:
        _write(table, path)
    except OSError as error:
        message = f"{path.name} cannot be written: {error}"
        raise DataError([Problem("TW308", message, "is the folder there, and may it be written to?")]) from error


def _write(table: pa.Table, path: Path) -> None:
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    match _ending(path):
        case ".parquet":
            pyarrow.parquet.write_table(table, path)
        case ".csv":
            pyarrow.csv.write_csv(table, path)
        case ".arrow" | ".feather":
            pyarrow.feather.write_feather(table, path, compression="uncompressed")
        case _:
            path.write_text("".join(_json_line(row) for row in table.to_pylist()), encoding="utf-8")


def _json_line(row: dict[str, object]) -> str:
    import json
    from decimal import Decimal

    def plain(value: object) -> object:
        # JSON has no exact large numbers; readers of all languages keep text.
        return int(value) if isinstance(value, Decimal) and abs(value) < 2**53 and value == int(value) else str(value)

    return json.dumps(row, default=plain) + "\n"


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        message = f"the kind of {path.name} is not known by its ending"
        raise DataError([Problem("TW308", message, f"use one of {' '.join(ENDINGS)}")])
    return ending


class _readable:
    """Turns what goes wrong while a file is read into our own error."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | pa.ArrowException):
            message = f"{self._path.name} cannot be read: {error}"
            raise DataError(
                [Problem("TW308", message, "is it there, and is its content what its ending says?")]
            ) from error
