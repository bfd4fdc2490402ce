"""A stateful operator on Spark 3.5, and on 4.0 over Connect, whose state is one value: `applyInPandasWithState`.

There a key has one time at which it is called without rows, if the watermark has passed it. That is the first of its
timers; timers that the watermark has passed already are served at once, as newer versions do it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from trendweave.errors import DataError, Problem
from trendweave.rows.encoded import TIME
from trendweave.rows.times import time_type
from trendweave.runners.spark.older.frames import read_frames, write_frames
from trendweave.runners.spark.older.one_value import OneValueHandle
from trendweave.runners.spark.older.state_offsets import read_whole_offsets

if TYPE_CHECKING:
    import pandas as pd

_STATE = "content binary"
_MOMENT = "trendweave_moment"
#: Spark asks for a column with a watermark and drops rows that are behind it; ours never are, they look themselves. It
#: hands them out in nanoseconds, which end in 2262.
_FAR_AHEAD, _FAR_AHEAD_SECONDS = "TIMESTAMP_SECONDS(9214646400L)", 9_214_646_400


@dataclass(frozen=True, slots=True)
class Watermark:
    """What an operator asks for the watermark."""

    milliseconds: int

    def getCurrentWatermarkInMs(self) -> int:
        return self.milliseconds


@dataclass(frozen=True, slots=True)
class OneValueOperator:
    """For applyInPandasWithState: one call per bucket and micro-batch, of an operator of rows.

    Attributes:
        processor: The operator.
        end: Times from here on cannot be told from rows that are late, in steps of the time column.
    """

    processor: Any
    end: int

    def __setstate__(self, state: dict[str, Any]) -> None:
        """It comes to a worker before the rows do."""
        read_whole_offsets()
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {"processor": self.processor, "end": self.end}

    def __call__(self, key: Any, frames: Iterable[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        stored = state.getOption
        handle = OneValueHandle(None if stored is None else bytes(stored[0]))
        watermark = Watermark(state.getCurrentWatermarkMs())
        self.processor.init(handle)
        if not state.hasTimedOut:
            rows = self._refuse_far_times(read_frames(frames))
            yield from write_frames(self.processor.handleInputRows(key, rows, watermark))
        while passed := sorted(timer for timer in handle.timers if timer < watermark.milliseconds):
            handle.deleteTimer(passed[0])
            yield from write_frames(self.processor.handleExpiredTimer(key, watermark, None))
        self.processor.close()
        content = handle.to_bytes()
        if content is not None:
            state.update((content,))
            if handle.timers:
                state.setTimeoutTimestamp(min(handle.timers))
        elif stored is not None:
            state.remove()

    def _refuse_far_times(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            if row.rows and row.latest >= self.end:
                message = "an event lies beyond the year 2261, which this version of Spark cannot keep state for"
                raise DataError([Problem("TW310", message, "remove broken times, or update Spark")])
            yield row


def transform_one_value(
    pieces: DataFrame, bucket: str, processor: Any, output: str, mode: str, delay: int
) -> DataFrame:
    """What an operator gives out.

    Args:
        pieces: Rows, whose watermark Spark knows from before they were packed.
        bucket: The column that they are grouped by.
        processor: The operator.
        output: The columns that come out.
        mode: Of the output.
        delay: How far the watermark is behind, in milliseconds.
    """
    moment = F.expr(_FAR_AHEAD).alias(_MOMENT, metadata={"spark.watermarkDelayMs": delay})
    grouped = pieces.select("*", moment).groupBy(bucket)
    end = _FAR_AHEAD_SECONDS * 1_000_000_000 // time_type(processor.schema.field(TIME).type).step
    call = OneValueOperator(processor, end).__call__
    return grouped.applyInPandasWithState(call, output, _STATE, mode, GroupStateTimeout.EventTimeTimeout)
