"""Rows that play no part, counted by the reason: no event at all, of a type that the pattern does not name, late. And
events with the same timestamp, which never follow each other."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.rows.times import TimeType, as_steps, has_time

#: Where the metadata of a result's schema tells what was dropped.
METRICS = "trendweave.metrics"
_LOG = logging.getLogger("trendweave")


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows that are no events, events of types that the pattern does not name, and those with the same timestamp.

    Attributes:
        rows: All rows that were read.
        null_time: Those without a time.
        null_type: Those with a time and without a type.
        other_type: Events of types that the pattern does not name.
        same_time: Events that have the time of another one of their partition, and no columns that order them. They
            are not dropped. None where they were not counted: they are where metrics are asked for and, piece by
            piece, when no window needs them any longer.
    """

    rows: int = 0
    null_time: int = 0
    null_type: int = 0
    other_type: int = 0
    same_time: int | None = None

    def __add__(self, other: Dropped) -> Dropped:
        return Dropped(
            self.rows + other.rows,
            self.null_time + other.null_time,
            self.null_type + other.null_type,
            self.other_type + other.other_type,
            self.same_time if other.same_time is None else (self.same_time or 0) + other.same_time,
        )

    @property
    def metadata(self) -> dict[str, str]:
        """The same as metadata of a result's schema."""
        return {METRICS: json.dumps({name: count for name, count in asdict(self).items() if count is not None})}


NOTHING_DROPPED = Dropped()
#: Counts by name that tasks make while they read, and the columns that these stand in. Events with the same timestamp
#: are counted where the rows of a key are together.
COUNTS = {name: f"count_{name}" for name in ("rows", "null_time", "null_type", "other_type")}


def add_up(counts: Iterable[Dropped]) -> list[pa.Array]:
    """The values of these columns in one row."""
    total = sum(counts, NOTHING_DROPPED)
    return [pa.array([getattr(total, name)], pa.int64()) for name in COUNTS]


def report_dropped(dropped: Dropped) -> None:
    """Warn where rows were no events; events of types that the pattern does not name are nothing to worry about.

    Args:
        dropped: What was dropped of the rows of one run.
    """
    if dropped.null_time or dropped.null_type:
        _LOG.warning(
            "dropped %d rows without a time and %d without a type, of %d",
            dropped.null_time,
            dropped.null_type,
            dropped.rows,
        )


def split_late(events: pa.Table, time: str, type_: str | None, kind: TimeType, watermark: int) -> tuple[pa.Table, int]:
    """Take late events out of a table. A row without a time or a type is no event: it stays, to be dropped as such.

    Args:
        events: Rows as they came.
        time: The name of the time column.
        type_: The name of the type column; None where all rows are of one type.
        kind: How the time column counts.
        watermark: The time before which events are late, in steps of the time column.

    Returns:
        The other rows, and how many events were late.
    """
    if not events.num_rows:
        return events, 0
    column = events.column(time)
    known = has_time(column)
    zero = pa.scalar(0, pa.int64()).cast(kind.arrow)
    behind = np.asarray(known) & (as_steps(pc.if_else(known, column, zero), kind) < watermark)
    if type_ is not None and events.column(type_).null_count:
        behind &= np.asarray(events.column(type_).is_valid())
    late = int(np.count_nonzero(behind))
    return (events.filter(pa.array(~behind)), late) if late else (events, 0)
