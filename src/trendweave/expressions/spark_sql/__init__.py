"""Row expressions as Spark SQL text. `arrow.evaluate` says the same with Arrow columns.

The text means the same whatever `spark.sql.ansi.enabled`, the time zone and other settings of the session are: it has
only `try_` functions and casts that cannot fail, and no cast between times, as those look at the session's zone. Inside
the text each kind of value has one type:

    whole numbers     BIGINT
    floats            DOUBLE
    decimals          as they are, compared exactly with decimals and whole numbers; arithmetic takes them as DOUBLE
    timestamps        TIMESTAMP; a TIMESTAMP_NTZ is UTC wall clock
    dates             DATE; next to a timestamp it is midnight UTC
    durations         BIGINT microseconds; next to a number the number of seconds as DOUBLE; as a result an INTERVAL
"""

from __future__ import annotations

from trendweave.expressions.spark_sql.translate import spark_sql
from trendweave.expressions.spark_sql.values import spark_column

__all__ = ["spark_column", "spark_sql"]
