"""Events as they come to an engine, whose times are still to be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from trendweave.errors import DataError, Problem
from trendweave.rows.given_times.reading import TimeReading, read_times, read_value


@dataclass(frozen=True, slots=True)
class Given:
    """How events come.

    Attributes:
        columns: Their columns as they come.
        times: How times are read.
    """

    columns: pa.Schema
    times: TimeReading

    def read(self, events: pa.Table, time: str) -> pa.Table:
        """Events whose times are read."""
        return read_times(events, (time,), self.times)

    def read_moment(self, value: Any, time: str) -> Any:
        """One time, which a timestamp takes; None where it is none."""
        return read_value(value, self.columns.field(time).type, time, self.times)

    def read_watermark(self, watermark: Any, time: str) -> Any:
        """A watermark as the time column has it, or as a datetime."""
        if isinstance(watermark, datetime):
            return watermark
        moment = self.read_moment(watermark, time)
        if moment is None:
            message = f"the watermark {watermark!r} is not a time of the time column's type"
            raise DataError([Problem("TW312", message, "write it as times are, or give a datetime")])
        return moment

    def as_they_come(self, columns: pa.Schema, time: str) -> pa.Schema:
        """Some columns of the events, the times as they come."""
        return columns.set(columns.get_field_index(time), self.columns.field(time))
