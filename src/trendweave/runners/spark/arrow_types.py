"""Spark's column types as those of Arrow, in every version of Spark that the package takes."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

# Before 4.2 Spark always wrote timestamps in UTC; since then it has to be told, and refuses them otherwise.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}


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
