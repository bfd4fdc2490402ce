"""Frames of Spark that speak like pandas: neither this process nor Spark's DataFrames read them."""

from __future__ import annotations

from trendweave.errors import DataError, Problem


def refuse_pandas_on_spark(events: object) -> None:
    """Refuse a frame of `pyspark.pandas`, and say what to give instead.

    Args:
        events: Events of any kind.

    Raises:
        DataError: They are such a frame.
    """
    if type(events).__module__.startswith("pyspark.pandas"):
        message = "the events are a pandas-on-Spark frame"
        raise DataError([Problem("TW308", message, "give events.to_spark(), or events.to_pandas() if they are few")])
