"""The rows of one query out of those of a workload, in whatever table they are."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from trendweave.errors import DataError, Problem
from trendweave.results.united_columns import QUERY, Shown, narrow


def select_rows(result: Any, name: str, columns: Sequence[Shown]) -> Any:
    """Rows of one query, with its columns alone.

    Args:
        result: Rows of a workload.
        name: The name of the query.
        columns: The columns of its own result.

    Raises:
        DataError: The result is not one of a workload with this query.
    """
    package = type(result).__module__.split(".")[0]
    if isinstance(result, list | tuple):
        return [_select_values(row, columns) for row in result if row[QUERY] == name]
    if package == "pyspark":
        _check_columns(result.columns, name, columns)
        from trendweave.runners.spark.rows_of_query import select_rows_on_spark

        return select_rows_on_spark(result, name, columns)
    if package == "pandas":
        _check_columns(result.columns, name, columns)
        return _select_in_pandas(result, name, columns)
    if package == "polars":
        names = result.collect_schema().names() if hasattr(result, "collect") else result.columns
        _check_columns(names, name, columns)
        return _select_in_polars(result, name, columns)
    from trendweave.rows.tables import as_arrow

    metadata = getattr(getattr(result, "schema", None), "metadata", None)
    table, _ = as_arrow(result)
    _check_columns(table.column_names, name, columns)
    return narrow(table.replace_schema_metadata(metadata), name, columns)


def _check_columns(given: Sequence[str], name: str, columns: Sequence[Shown]) -> None:
    missing = [column for column in (QUERY, *(shown.name for shown in columns)) if column not in given]
    if missing:
        message = f"the result lacks {', '.join(missing)}, which rows of query {name} have"
        raise DataError(
            [Problem("TW308", message, "give what run() of this workload gave, with the same time and type")]
        )


def _select_values(row: Mapping[str, Any], columns: Sequence[Shown]) -> dict[str, Any]:
    return {
        column.name: _select_fields(row[column.name], column.fields) if column.fields else row[column.name]
        for column in columns
    }


def _select_fields(events: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[dict[str, Any]]:
    return [{field: event[field] for field in fields} for event in events]


def _select_in_pandas(frame: Any, name: str, columns: Sequence[Shown]) -> Any:
    own = frame[frame[QUERY] == name].reset_index(drop=True)[[column.name for column in columns]]
    for column in columns:
        values = own[column.name]
        if column.fields:
            own[column.name] = values.map(lambda events, fields=column.fields: _select_fields(events, fields))
        elif hasattr(values.dtype, "numpy_dtype"):
            # The query alone has plain numbers, unless some of its own are NULL.
            own[column.name] = values if values.isna().any() else values.astype(values.dtype.numpy_dtype)
    return own.infer_objects()


def _select_in_polars(frame: Any, name: str, columns: Sequence[Shown]) -> Any:
    pl: Any = sys.modules["polars"]  # whoever has such a frame has imported it

    def select(column: Shown) -> Any:
        if not column.fields:
            return pl.col(column.name)
        fields = [pl.element().struct.field(field) for field in column.fields]
        return pl.col(column.name).list.eval(pl.struct(fields))

    return frame.filter(pl.col(QUERY) == name).select([select(column) for column in columns])
