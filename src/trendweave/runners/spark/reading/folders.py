"""Columns whose values are the names of folders, such as `day=2024-03-01`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.runners.spark.reading.bounds import Bounds
from trendweave.runners.spark.reading.columns import find_name
from trendweave.runners.spark.reading.files import File


def read_folders(file: File, columns: pa.Schema) -> dict[str, pa.Scalar]:
    """The values that all rows of a file have, by column.

    Args:
        file: A file in such folders, or in none.
        columns: The columns of the events, in their types.
    """
    found = {}
    for folder, text in file.folders:
        name = find_name(columns.names, folder, "the table")
        if name is not None:
            found[name] = _read_value(text, columns.field(name).type, folder)
    return found


def add_folders(bounds: Bounds, values: dict[str, pa.Scalar]) -> Bounds:
    """Bounds of rows that have these values as well."""
    low = {name: bounds.low.column(name) for name in bounds.low.column_names if name not in values}
    high = {name: bounds.high.column(name) for name in bounds.high.column_names if name not in values}
    for name, value in values.items():
        if value.is_valid:
            low[name] = high[name] = pa.array([value.as_py()], value.type)
    nulls = {name: 0 if value.is_valid else bounds.rows for name, value in values.items()}
    return Bounds(bounds.rows, pa.table(low), pa.table(high), {**bounds.nulls, **nulls})


def _read_value(text: str | None, kind: pa.DataType, folder: str) -> pa.Scalar:
    if text is None:
        return pa.scalar(None, kind)
    try:
        return pc.cast(pa.scalar(text), kind)
    except pa.ArrowException as error:
        message = f"the folder {folder}={text} is not a value of type {kind}"
        raise DataError([Problem("TW308", message, "give the query spark.read.parquet(...)")]) from error
