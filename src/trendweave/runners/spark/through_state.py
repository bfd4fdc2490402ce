"""The stateful operator on pieces of a stream, by the interface that this Spark has."""

from __future__ import annotations

from pyspark.sql import DataFrame

from trendweave.runners.spark.older.frame_operator import FrameOperator
from trendweave.runners.spark.pieces import BUCKET
from trendweave.runners.spark.stream_operator import OUTPUT, StreamProcessor
from trendweave.runners.spark.versions import StateInterface, find_state_interface


def through_state(pieces: DataFrame, processor: StreamProcessor, early: bool, delay: int) -> DataFrame:
    """What the operator gives out, one call per bucket and micro-batch.

    Args:
        pieces: Of the stream.
        processor: The operator.
        early: Rows come more than once.
        delay: How far the watermark is behind the latest event, in milliseconds.
    """
    mode = "update" if early else "append"
    grouped = pieces.groupBy(BUCKET)
    match find_state_interface(pieces):
        case StateInterface.ROWS:
            return grouped.transformWithState(processor, OUTPUT, mode, "eventTime")
        case StateInterface.FRAMES:
            return grouped.transformWithStateInPandas(FrameOperator(processor), OUTPUT, mode, "eventTime")
    from trendweave.runners.spark.older.one_value_operator import transform_one_value

    return transform_one_value(pieces, BUCKET, processor, OUTPUT, mode, delay)
