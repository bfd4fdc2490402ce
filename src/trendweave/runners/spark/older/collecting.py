"""The rows of a DataFrame as an Arrow table on Spark 3.5, which has no `toArrow`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from trendweave.runners.spark.versions import to_arrow


def collect_batches(frame: DataFrame) -> pa.Table:
    """All rows, by the way that Spark's own `toPandas` takes."""
    plain: Any = frame
    session: Any = frame.sparkSession
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        table, _ = session.client.to_table(plain._plan.to_proto(session.client))
        return table
    batches = plain._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else to_arrow(frame.schema).empty_table()
