"""Spark results next to those of the in-process runner, and settings of the session for the length of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import trendweave
from tests.reference.comparer import same_value

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def settings(spark: SparkSession, **values: Any) -> Iterator[None]:
    """`settings(spark, chunks="off")` is spark.trendweave.chunks; underscores are dots in names that begin with sql."""
    names = {
        name: f"spark.{name.replace('_', '.')}" if name.startswith("sql_") else f"spark.trendweave.{name}"
        for name in values
    }
    before = {name: spark.conf.get(full, None) for name, full in names.items()}
    for name, value in values.items():
        spark.conf.set(names[name], str(value))
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.unset(names[name]) if value is None else spark.conf.set(names[name], value)


def frame_from(spark: SparkSession, table: pa.Table, folder: Path) -> DataFrame:
    """By way of a file, which keeps all types, and in several parts, so that rows arrive in no order."""
    file = folder / "events.parquet"
    pq.write_table(table, file, row_group_size=max(1, table.num_rows // 3))
    return spark.read.parquet(str(file)).repartition(3)


def assert_as_local(query: str, frame: DataFrame, table: pa.Table, **options: Any) -> None:
    """The same columns, types and rows as in process, and at least one row."""
    expected = trendweave.query(query).run(table, **options)
    result = trendweave.query(query).run(frame, **options)
    found = result.toArrow()
    assert [(field.name, _kind(field.type)) for field in found.schema] == [
        (field.name, _kind(field.type)) for field in expected.schema
    ]
    assert result.columns == found.column_names
    assert_same(expected, found)
    assert expected.num_rows, "a test that compares nothing with nothing"


def _kind(kind: pa.DataType) -> pa.DataType:
    """Spark names the session's zone, and has one width of text."""
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    return pa.string() if pa.types.is_large_string(kind) else kind


def assert_same(expected: pa.Table, found: pa.Table) -> None:
    """Rows in any order; floats within the comparer's tolerance, everything else exactly."""
    left, right = (sorted(_rows(table), key=_place) for table in (expected, found))
    assert len(left) == len(right), f"{len(left)} rows expected, {len(right)} found"
    differing = [
        (one, other)
        for one, other in zip(left, right, strict=True)
        if not all(same_value(a, b) for a, b in zip(one, other, strict=True))
    ]
    assert not differing, (
        f"{len(differing)} rows differ, the first: {differing[0][0]} expected, {differing[0][1]} found"
    )


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = column.cast(pa.timestamp("us", "UTC"))
        columns.append(column.to_pylist())
    return list(zip(*columns, strict=True))


def _place(row: tuple[Any, ...]) -> tuple[str, ...]:
    """Windows and groups tell rows apart; floats, which may differ in their last bits, come last."""
    exact = [repr(value) for value in row if not isinstance(value, float)]
    return (*exact, *(f"{value:.6e}" for value in row if isinstance(value, float)))
