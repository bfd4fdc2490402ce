"""Rows of chunks of time: each row with the number of its chunk, and once more for the neighbour that also reads it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trendweave.planning.chunks import TimeChunks
from trendweave.planning.plan import SlidingWindow
from trendweave.runners.bound_query import BoundQuery
from trendweave.runners.encoded_rows import CHUNK
from trendweave.runners.spark_preparation import time_in_steps
from trendweave.runners.times import steps_of, time_type


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
    steps = time_in_steps(bound)
    offset = f"PMOD({steps}, {chunks.length}L)"
    # Rounded down, by numbers that fit 64 bits for every time.
    own = f"({steps} DIV {chunks.length}L - IF({steps} % {chunks.length}L < 0L, 1L, 0L))"
    copies = [own]
    if chunks.after:
        copies.append(f"IF({offset} < {chunks.after}L, {own} - 1L, NULL)")
    if chunks.before:
        copies.append(f"IF({offset} >= {chunks.length - chunks.before}L, {own} + 1L, NULL)")
    if len(copies) == 1:
        return prepared.withColumn(CHUNK, F.expr(own))
    listed = F.expr(f"EXPLODE(FILTER(ARRAY({', '.join(copies)}), number -> number IS NOT NULL))")
    return prepared.select("*", listed.alias(CHUNK))
