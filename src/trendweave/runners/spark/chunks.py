"""Rows of chunks of time, in Spark SQL and in Arrow: each row with the number of its chunk, and once more for the
neighbour that also reads it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trendweave.programs.program import Program, TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import MOST_SECONDS, as_steps, time_type
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


def number_rows(rows: pa.Table, cut: TimeCut, moment: pa.DataType) -> pa.Table:
    """With a column of chunks; rows that a neighbour also reads are there once more, with its number.

    Args:
        rows: Prepared rows, with a time each.
        cut: How time is cut. It does not ask for the last time before a chunk: no task knows it by itself.
        moment: The type of times in prepared rows.
    """
    assert not cut.last_step
    times = rows.column(TIME)
    times = times if times.type == moment else times.cast(moment)
    if pa.types.is_floating(moment):
        # A time that does not fit goes to any chunk: the task there refuses it, and says where it was.
        times = pc.if_else(pc.less_equal(pc.abs(times), MOST_SECONDS), times, pa.scalar(0, moment))
    steps = as_steps(times, time_type(moment))
    chunk = np.floor_divide(steps, cut.length)
    if not cut.before and not cut.after:
        return rows.append_column(CHUNK, pa.array(chunk))
    offset = steps - chunk * cut.length
    twice = offset < cut.after if cut.after else offset >= cut.length - cut.before
    if not twice.any():
        return rows.append_column(CHUNK, pa.array(chunk))
    # A copy stands behind its row, so that rows stay in the order of their times.
    copied = np.repeat(np.arange(steps.size), 1 + twice)
    chunk = chunk[copied]
    chunk[1:][copied[1:] == copied[:-1]] += -1 if cut.after else 1
    return rows.combine_chunks().take(pa.array(copied)).append_column(CHUNK, pa.array(chunk))
