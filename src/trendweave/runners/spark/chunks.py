"""Rows of chunks of time: each row with the number of its chunk, and once more for the neighbour that also reads it.

Spark spends more on a column that travels to Python than on sorting by it, so time and chunk travel as one number where
they fit in one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trendweave.programs.program import Program, TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.runners.options import Settings
from trendweave.runners.spark.prepare import time_in_steps


def find_cut(program: Program, settings: Settings) -> TimeCut | None:
    """How time is cut into chunks; None where it is not."""
    if settings.chunks == "off" or program.needs.time is None:
        return None
    return program.cut(settings.chunks if isinstance(settings.chunks, int) else None)


def number_chunks(prepared: DataFrame, chunks: TimeCut, moment: pa.DataType) -> DataFrame:
    """With a column of chunks; `moment` is the type of the time."""
    steps = time_in_steps(moment)
    own = _round_down(steps, chunks.length)
    if not chunks.before and not chunks.after:
        return prepared.withColumn(CHUNK, F.expr(own))
    twice, neighbour = _read_twice(steps, chunks)
    # Two arrays to choose from, as Spark compiles that; a function of array elements it would interpret row by row.
    listed = F.expr(f"EXPLODE(IF({twice}, ARRAY({own}, {own} + ({neighbour}L)), ARRAY({own})))")
    rows = prepared.select("*", listed.alias(CHUNK))
    return rows.unionByName(_last_steps(prepared.withColumn(CHUNK, F.expr(own)))) if chunks.last_step else rows


def _last_steps(numbered: DataFrame) -> DataFrame:
    """The rows of a chunk's last time, once more for the next chunk that has rows."""
    in_order = Window.partitionBy(F.lit(0)).orderBy(CHUNK)
    newest = numbered.groupBy(CHUNK).agg(F.max(TIME).alias("newest"))
    newest = newest.withColumn("next", F.lead(CHUNK).over(in_order)).where("next IS NOT NULL")
    last = numbered.join(F.broadcast(newest), CHUNK).where(F.col(TIME) == F.col("newest"))
    others = [F.col(name) for name in numbered.columns if name != CHUNK]
    return last.select(*others, F.col("next").alias(CHUNK))


def _read_twice(steps: str, chunks: TimeCut) -> tuple[str, int]:
    """The condition under which a neighbour also reads a row, and which one."""
    offset = f"PMOD({steps}, {chunks.length}L)"
    if chunks.after:
        return f"{offset} < {chunks.after}L", -1
    return f"{offset} >= {chunks.length - chunks.before}L", 1


def _round_down(number: str, by: int) -> str:
    """A quotient, by numbers that fit 64 bits for every time."""
    return f"({number} DIV {by}L - IF({number} % {by}L < 0L, 1L, 0L))"


@dataclass(frozen=True, slots=True)
class PackedTimes:
    """Time and chunk as one number, which sorts by chunk and then by time: a chunk takes up what it owns and what it
    reads in addition, one chunk after the other."""

    chunks: TimeCut
    moment: pa.DataType

    @staticmethod
    def of(chunks: TimeCut, moment: pa.DataType) -> PackedTimes | None:
        """None where times may be so large that the number would not fit, which timestamps never are, or where more
        rows are to be found than those near the border of a chunk."""
        fits = pa.types.is_timestamp(moment) and not chunks.last_step
        return PackedTimes(chunks, moment) if fits else None

    @property
    def _extra(self) -> int:
        return self.chunks.before + self.chunks.after

    def pack(self, prepared: DataFrame) -> DataFrame:
        """The number stands for the time."""
        steps = time_in_steps(self.moment)
        others = [F.col(name) for name in prepared.columns if name != TIME]
        if not self._extra:
            return prepared.select(F.expr(steps).alias(TIME), *others)
        own = _round_down(steps, self.chunks.length)
        twice, neighbour = _read_twice(steps, self.chunks)
        number = f"({steps} + {own} * {self._extra}L + {self.chunks.before}L)"
        both = f"ARRAY({number}, {number} + ({neighbour * self._extra}L))"
        return prepared.select(F.expr(f"EXPLODE(IF({twice}, {both}, ARRAY({number})))").alias(TIME), *others)

    @property
    def chunk(self) -> str:
        """The chunk of a row, in Spark SQL."""
        return _round_down(f"`{TIME}`", self.chunks.length + self._extra)

    def unpack(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """With the time and the chunk as columns of their own."""
        number = batch.column(TIME).to_numpy()
        chunk = np.floor_divide(number, self.chunks.length + self._extra)
        steps = number if not self._extra else number - chunk * self._extra - self.chunks.before
        place = batch.schema.get_field_index(TIME)
        batch = batch.set_column(place, TIME, pa.array(steps).view(self.moment))
        return batch.append_column(CHUNK, pa.array(chunk))
