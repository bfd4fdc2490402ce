"""A stateful operator of rows as one of pandas frames, for Spark 4.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trendweave.runners.spark.older.frames import read_frames, write_frames
from trendweave.runners.spark.sessions.travelling import travelling_state
from trendweave.runners.spark.versions import StatefulProcessor

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues


class FrameOperator(StatefulProcessor):
    """Everything but the form of rows is that of the operator inside."""

    def __init__(self, processor: StatefulProcessor) -> None:
        self._processor = processor

    def __reduce__(self) -> tuple[Any, ...]:
        return travelling_state(type(self), self.__dict__)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._processor.init(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        return write_frames(self._processor.handleInputRows(key, read_frames(rows), timerValues))

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        return write_frames(self._processor.handleExpiredTimer(key, timerValues, expiredTimerInfo))

    def close(self) -> None:
        self._processor.close()
