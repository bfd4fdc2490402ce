"""What stands in, on older versions of Spark, for what they lack.

Spark 3.5, and 4.0 over Connect, keep all state of a bucket in one value (`applyInPandasWithState`), hand rows over
as pandas frames, have no `toArrow`, and read offsets of rows as floats.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from trendweave.errors import DataError, Problem
from trendweave.rows.encoded import TIME
from trendweave.rows.times import time_type
from trendweave.runners.spark.versions import StatefulProcessor, to_arrow
from trendweave.runners.spark.workers import travelling_state

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues


def collect_batches(frame: DataFrame) -> pa.Table:
    """All rows, by the way that Spark's own `toPandas` takes."""
    plain: Any = frame
    session: Any = frame.sparkSession
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        table, _ = session.client.to_table(plain._plan.to_proto(session.client))
        return table
    batches = plain._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else to_arrow(frame.schema).empty_table()


_OFFSETS = ("startOffset", "numRows")


def read_whole_offsets() -> None:
    """In this process, a worker of Spark's, from now on."""
    from pyspark.sql.pandas import serializers

    serializer: Any = vars(serializers).get("ApplyInPandasWithStateSerializer")
    read = getattr(serializer, "arrow_to_pandas", None)
    if read is None or hasattr(serializer, "reads_whole_offsets"):  # newer versions have others, or do it otherwise
        return

    def read_column(self: Any, column: Any, *options: Any, **named: Any) -> Any:
        found = read(self, column, *options, **named)
        fields = {field.name for field in column.type} if str(column.type).startswith("struct") else set()
        return found.map(_in_whole_numbers) if fields.issuperset(_OFFSETS) else found

    serializer.arrow_to_pandas, serializer.reads_whole_offsets = read_column, True


def _in_whole_numbers(state: dict[str, Any] | None) -> dict[str, Any] | None:
    return state if state is None else state | {name: int(state[name]) for name in _OFFSETS}


def read_frames(frames: Iterable[pd.DataFrame]) -> Iterator[Row]:
    """The rows of frames, with Python's own numbers."""
    for frame in frames:
        make = Row(*frame.columns)
        for values in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
            yield make(*values)


def write_frames(rows: Iterable[Row]) -> Iterator[pd.DataFrame]:
    """Each row as a frame, as it comes: a row may be all results of a step."""
    import pandas as pd

    for row in rows:
        values = row.asDict()
        yield pd.DataFrame({name: pd.Series([value], dtype=_kind(value)) for name, value in values.items()})


def _kind(value: object) -> str:
    return "int64" if isinstance(value, int) else "object"


class Value:
    """One value of the state, by its name."""

    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self._name = values, name

    def get(self) -> tuple[Any, ...] | None:
        return self._values.get(self._name)

    def update(self, value: tuple[Any, ...]) -> None:
        self._values[self._name] = value

    def clear(self) -> None:
        self._values.pop(self._name, None)


class ValuesByKey:
    """A map of the state, by its name."""

    def __init__(self, values: dict[str, Any], name: str) -> None:
        self._values, self._name = values, name

    @property
    def _own(self) -> dict[Any, Any]:
        return self._values.get(self._name, {})

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return self._own.get(key)

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        self._values.setdefault(self._name, {})[key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:
        self._own.pop(key, None)
        if not self._own:
            self.clear()

    def keys(self) -> Iterable[tuple[Any, ...]]:
        return list(self._own)

    def iterator(self) -> Iterable[tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return list(self._own.items())

    def clear(self) -> None:
        self._values.pop(self._name, None)


class OneValueHandle:
    """What an operator asks for its state, with timers; made from bytes, and written as such."""

    def __init__(self, content: bytes | None) -> None:
        self._values: dict[str, Any] = {}
        self.timers: set[int] = set()
        if content is not None:
            self._values, timers = _Plain(io.BytesIO(content)).load()
            self.timers = set(timers)

    def to_bytes(self) -> bytes | None:
        """None where nothing is left."""
        if not self._values and not self.timers:
            return None
        return pickle.dumps((self._values, sorted(self.timers)), protocol=5)

    def getValueState(self, name: str, schema: Any) -> Value:
        return Value(self._values, name)

    def getMapState(self, name: str, key: Any, value: Any) -> ValuesByKey:
        return ValuesByKey(self._values, name)

    def registerTimer(self, moment: int) -> None:
        self.timers.add(moment)

    def deleteTimer(self, moment: int) -> None:
        self.timers.discard(moment)


class _Plain(pickle.Unpickler):
    """Reads numbers, texts, bytes and what holds them, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"the state names {module}.{name}, and states hold plain values only")


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
