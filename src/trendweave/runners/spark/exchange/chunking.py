"""Rows with the number of their chunk of time, by Arrow: the same that `runners/spark/chunks.py` does in Spark SQL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.program import TimeCut
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import MOST_SECONDS, as_steps, time_type


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
