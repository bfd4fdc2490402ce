"""Rows of chunks of time: each row with the number of its chunk, and once more for the neighbour that also reads it.

Spark spends more on a column that travels to Python than on sorting by it, so time and chunk travel as one number where
they fit in one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trendweave.planning.chunks import TimeChunks
from trendweave.planning.plan import SlidingWindow
from trendweave.programs.trends.program import BoundQuery
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import steps_of, time_type
from trendweave.runners.spark.prepare import time_in_steps


@dataclass(frozen=True, slots=True)
class Steps:
    """Chunks in steps of the time column."""

    length: int
    before: int
    after: int


def in_steps(chunks: TimeChunks, bound: BoundQuery) -> Steps:
    kind = time_type(bound.events.field(bound.time).type)
    window = bound.plan.window
    if isinstance(window, SlidingWindow):
        steps_of(window.length, kind, "WITHIN"), steps_of(window.slide, kind, "SLIDE")
        return Steps(chunks.length // kind.step, 0, chunks.after // kind.step)
    before = -(-chunks.before // kind.step)
    return Steps(max(-(-chunks.length // kind.step), before), before, 0)


def chunked(prepared: DataFrame, chunks: Steps, bound: BoundQuery) -> DataFrame:
    """With a column of chunks."""
    steps = time_in_steps(bound)
    own = _rounded_down(steps, chunks.length)
    if not chunks.before and not chunks.after:
        return prepared.withColumn(CHUNK, F.expr(own))
    twice, neighbour = _read_twice(steps, chunks)
    # Two arrays to choose from, as Spark compiles that; a function of array elements it would interpret row by row.
    listed = F.expr(f"EXPLODE(IF({twice}, ARRAY({own}, {own} + ({neighbour}L)), ARRAY({own})))")
    return prepared.select("*", listed.alias(CHUNK))


def _read_twice(steps: str, chunks: Steps) -> tuple[str, int]:
    """The condition under which a neighbour also reads a row, and which one."""
    offset = f"PMOD({steps}, {chunks.length}L)"
    if chunks.after:
        return f"{offset} < {chunks.after}L", -1
    return f"{offset} >= {chunks.length - chunks.before}L", 1


def _rounded_down(number: str, by: int) -> str:
    """A quotient, by numbers that fit 64 bits for every time."""
    return f"({number} DIV {by}L - IF({number} % {by}L < 0L, 1L, 0L))"


@dataclass(frozen=True, slots=True)
class PackedTimes:
    """Time and chunk as one number, which sorts by chunk and then by time: a chunk takes up what it owns and what it
    reads in addition, one chunk after the other."""

    chunks: Steps
    moment: pa.DataType

    @staticmethod
    def of(chunks: Steps, bound: BoundQuery) -> PackedTimes | None:
        """None where times may be so large that the number would not fit; timestamps never are."""
        moment = bound.events.field(bound.time).type
        return PackedTimes(chunks, moment) if pa.types.is_timestamp(moment) else None

    @property
    def _extra(self) -> int:
        return self.chunks.before + self.chunks.after

    def rows(self, prepared: DataFrame, bound: BoundQuery) -> DataFrame:
        """The number stands for the time."""
        steps = time_in_steps(bound)
        others = [F.col(name) for name in prepared.columns if name != TIME]
        if not self._extra:
            return prepared.select(F.expr(steps).alias(TIME), *others)
        own = _rounded_down(steps, self.chunks.length)
        twice, neighbour = _read_twice(steps, self.chunks)
        number = f"({steps} + {own} * {self._extra}L + {self.chunks.before}L)"
        both = f"ARRAY({number}, {number} + ({neighbour * self._extra}L))"
        return prepared.select(F.expr(f"EXPLODE(IF({twice}, {both}, ARRAY({number})))").alias(TIME), *others)

    @property
    def chunk(self) -> str:
        """The chunk of a row, in Spark SQL."""
        return _rounded_down(f"`{TIME}`", self.chunks.length + self._extra)

    def unpacked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With the time and the chunk as columns of their own."""
        number = batch.column(TIME).to_numpy()
        chunk = np.floor_divide(number, self.chunks.length + self._extra)
        steps = number if not self._extra else number - chunk * self._extra - self.chunks.before
        place = batch.schema.get_field_index(TIME)
        batch = batch.set_column(place, TIME, pa.array(steps).view(self.moment))
        return batch.append_column(CHUNK, pa.array(chunk))
