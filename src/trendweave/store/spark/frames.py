"""A plain DataFrame over the files of a store that can hold what is asked for; Spark reads and filters them itself."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from trendweave.errors import OptionError, Problem
from trendweave.expressions.spark_sql import spark_column
from trendweave.rows.times import TimeType
from trendweave.store.layout.moments import read_between

if TYPE_CHECKING:
    from trendweave.store.event_store import EventStore

#: A condition on a column: its name, a comparison, and a value.
Condition = tuple[str, str, Any]
_COMPARISONS = {
    "=": Column.__eq__,
    "<>": Column.__ne__,
    "<": Column.__lt__,
    "<=": Column.__le__,
    ">": Column.__gt__,
    ">=": Column.__ge__,
}


def read_frame(
    spark: SparkSession,
    store: EventStore,
    columns: Sequence[str] | None,
    where: Sequence[Condition],
    between: Sequence[Any] | None,
) -> DataFrame:
    """The rows of a store as Spark reads them.

    Args:
        spark: The session.
        store: The store.
        columns: Those that are shown; None for all.
        where: Conditions that all hold.
        between: Two moments; only events from the first on and before the second are shown.

    Raises:
        TrendweaveError: A column is not there, or a condition cannot be read.
    """
    store.check_columns([*(columns or ()), *(name for name, _, _ in where)])
    for name, comparison, _ in where:
        if comparison not in _COMPARISONS:
            hint = f"use one of {' '.join(_COMPARISONS)}"
            raise OptionError([Problem("TW408", f"{name} cannot be compared by {comparison!r}", hint)])
    steps = read_between(between, store.kind)
    schema = from_arrow_schema(store.schema)
    paths = _find_paths(store, where, steps)
    if paths:
        frame = spark.read.schema(schema).option("basePath", _address(store, "")).parquet(*paths)
        frame = frame.select(*(spark_column((name,)) for name in store.schema.names))
    else:
        frame = spark.createDataFrame([], schema)
    for name, comparison, value in where:
        frame = frame.where(_compare(F.col(spark_column((name,))), comparison, value, store.schema.field(name).type))
    time = F.col(spark_column((store.time,)))
    for step, compare in zip(steps, (Column.__ge__, Column.__lt__), strict=True):
        if step is not None:
            moments = F.round(time * 1e6) if store.kind.is_float else time
            frame = frame.where(compare(moments, _moment(step, store.kind)))
    return frame if columns is None else frame.select(*(spark_column((name,)) for name in columns))


def _compare(column: Column, comparison: str, value: Any, kind: pa.DataType) -> Column:
    """NaN is above all numbers; Parquet's bounds, by which Spark leaves row groups out, do not tell of it."""
    found = _COMPARISONS[comparison](column, F.lit(value))
    above = pa.types.is_floating(kind) and comparison in (">", ">=", "<>") and value == value
    return found | F.isnan(column) if above else found


def _find_paths(store: EventStore, where: Sequence[Condition], steps: tuple[int | None, int | None]) -> list[str]:
    """The files that may hold such events, as the light index tells."""
    blocks, (low, end) = store.blocks, steps
    possible = np.ones(blocks.count.size, np.bool_)
    for name, comparison, value in where:
        possible &= blocks.may_hold(name, comparison, value)
    possible &= (blocks.last >= low) if low is not None else True
    possible &= (blocks.first < end) if end is not None else True
    files = np.zeros(len(store.files), np.bool_)
    files[blocks.file[possible]] = True
    if low is None and end is None:
        # Blocks are of events with a time.
        files |= np.bincount(blocks.file, blocks.count, len(store.files)) < store.file_rows
    chosen = [store.files[number] for number in np.flatnonzero(files)]
    if any(file.lies is not None for file in chosen):
        raise OptionError([Problem("TW408", "an append is being committed", "call refresh(), and try again")])
    return [_by_itself(_address(store, file.name)) for file in chosen]


def _address(store: EventStore, name: str) -> str:
    """Where Spark finds a file, or the folder."""
    folder = "file://" + store.place.path("") if store.place.is_local else unquote(store.place.address)
    return posixpath.join(folder, name)


def _by_itself(path: str) -> str:
    """A path in which letters that could stand for others do not."""
    return "".join(f"\\{letter}" if letter in "*?[]{}" else letter for letter in path)


def _moment(step: int, kind: TimeType) -> Column:
    if pa.types.is_timestamp(kind.arrow):
        micros = -(-step * kind.step // 1000)  # the first microsecond that is not before it
        moment = F.timestamp_micros(F.lit(micros))
        return moment if kind.arrow.tz is not None else F.to_timestamp_ntz(F.lit(_iso(micros)))
    return F.lit(step)


def _iso(micros: int) -> str:
    return str(pa.scalar(micros, pa.timestamp("us")).as_py().isoformat(sep=" ", timespec="microseconds"))
