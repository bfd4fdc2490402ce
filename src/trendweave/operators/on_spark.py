"""Operators on Spark: on DataFrames one by one, or several in the same tasks; on streams, all that are no filters at
the beginning as one program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.operators.binding import Asked
from trendweave.runners.place import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def run_on_spark(asked: Asked, events: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """A lazy DataFrame of rows, or of a stream a streaming one.

    Args:
        asked: The operators.
        events: A DataFrame of any kind.
        options: The keyword arguments of the call.
    """
    from trendweave.runners.spark.operators import run_stages
    from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings, settle_numbers_on_spark
    from trendweave.runners.spark.stream import run_stream
    from trendweave.runners.spark.time_parsing import read_times_on_spark

    place = Place.SPARK_STREAM if events.isStreaming else Place.SPARK_BATCH
    settings = asked.settings(place, options, places.settings_of_session(events.sparkSession))
    events = settle_numbers_on_spark(read_times_on_spark(events, asked.time_columns, settings.times), asked.queries())
    asked.check(events)
    # All of them, so that what does not fit is told at once.
    asked.bind_all(arrow_schema(in_plain_strings(events).schema), settings)
    number = 0
    while number < len(asked.operators):
        plain = in_plain_strings(events)
        columns = arrow_schema(plain.schema)
        stages = asked.behind(number).bind_all(columns, settings)
        if events.isStreaming and not stages[0].is_filter:
            return run_stream(asked.bind_behind(number, columns, settings), plain, settings)
        events, done = run_stages(stages, plain, settings)
        number += done
    return events
