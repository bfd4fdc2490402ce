"""What older versions of Spark lack."""

from __future__ import annotations

from pyspark.sql import DataFrame

from trendweave.errors import Problem


def find_version_problems(events: DataFrame) -> list[Problem]:
    """Tell why this Spark cannot run streams: before 4.1 a stateful operator takes pandas frames alone.

    Args:
        events: A stream of events.

    Returns:
        One problem, or none.
    """
    if hasattr(events.groupBy(), "transformWithState"):
        return []
    message = f"streams need Spark 4.1 or newer, and this is Spark {events.sparkSession.version}"
    return [Problem("TW409", message, "run the query on a batch of events, or update Spark")]
