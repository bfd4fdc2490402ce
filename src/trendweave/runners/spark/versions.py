"""What this version of Spark can do: the one place that asks. What stands in for the rest is in `older`."""

from __future__ import annotations

import json
from enum import Enum
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from trendweave.errors import ExecutionError, Problem

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
else:
    try:
        from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    except ImportError:  # Spark 3.5
        StatefulProcessor = object

__all__ = [
    "OLDEST",
    "StateInterface",
    "StatefulProcessor",
    "check_version",
    "collect_arrow",
    "find_state_interface",
    "has_data_sources",
    "read_progress",
    "to_arrow",
]

#: Older versions lack functions that every query needs.
OLDEST = (3, 5)


class StateInterface(Enum):
    """How Spark hands rows and state to a stateful operator in Python."""

    ROWS = "transformWithState"  # since 4.1
    FRAMES = "transformWithStateInPandas"  # 4.0
    ONE_VALUE = "applyInPandasWithState"  # 3.5: all state of a key is one value

    @property
    def needs_rocksdb(self) -> bool:
        """Whether Spark supports this state only in RocksDB."""
        return self is not StateInterface.ONE_VALUE


def check_version() -> None:
    """Refuse a Spark that is too old, before it says so in words of its own.

    Raises:
        ExecutionError: It is (TW424).
    """
    if tuple(int(part) for part in pyspark.__version__.split(".")[:2]) < OLDEST:
        message = f"Spark {OLDEST[0]}.{OLDEST[1]} or newer is needed, and this is Spark {pyspark.__version__}"
        hint = "update Spark, or run the query without it, on an Arrow table"
        raise ExecutionError([Problem("TW424", message, hint)])


def find_state_interface(events: DataFrame) -> StateInterface:
    """The newest interface that there is."""
    grouped = events.groupBy()
    return next(one for one in StateInterface if hasattr(grouped, one.value))


def has_data_sources(spark: SparkSession) -> bool:
    """Whether sources of data can be written in Python: since 4.0."""
    return hasattr(spark, "dataSource")


def read_progress(progress: Any) -> dict[str, Any]:
    """What Spark says about a micro-batch, as its JSON has it: before 4.0 that is all that there is."""
    told = json.loads(progress.json) if hasattr(progress, "json") else progress
    metrics = told.get("observedMetrics") or {}
    return {**told, "observedMetrics": {name: _by_column(row) for name, row in metrics.items()}}


def _by_column(row: dict[str, Any]) -> dict[str, Any]:
    """Over Spark Connect the values of a row are told apart from its columns."""
    if row.keys() != {"values", "schema"}:
        return row
    return {field["name"]: value for field, value in zip(row["schema"]["fields"], row["values"], strict=True)}


def to_arrow(schema: StructType) -> pa.Schema:
    """Write a Spark schema as an Arrow one, timestamps with a zone in UTC.

    Args:
        schema: Columns of a Spark DataFrame.

    Returns:
        The same columns, with the names and types that Spark hands to Python tasks.

    Raises:
        PySparkTypeError: Arrow lacks the type of a column.
    """
    return to_arrow_schema(schema, **_IN_UTC)


# Before 4.2 Spark always wrote timestamps in UTC; since then it has to be told, and refuses them otherwise.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


def collect_arrow(frame: DataFrame) -> pa.Table:
    """All rows as a table: what `toArrow` gives since 4.0."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    from trendweave.runners.spark.older import collect_batches

    return collect_batches(frame)
