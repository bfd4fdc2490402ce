"""Events -> prepared rows, slice by slice in threads."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import reduce
from itertools import pairwise
from operator import add

import pyarrow as pa

from trendweave.programs.program import Program
from trendweave.rows.dropped import Dropped

#: Fewer rows are not worth a slice of their own.
LEAST_ROWS = 20_000


def is_worth_cutting(rows: int) -> bool:
    """Whether there are enough rows for two slices."""
    return rows >= 2 * LEAST_ROWS


def cut_evenly(rows: int, parts: int) -> list[tuple[int, int]]:
    """First row and number of rows of parts that are about as large as each other, and large enough."""
    parts = max(1, min(parts, rows // LEAST_ROWS))
    borders = [rows * part // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(borders)]


def prepare_slices(program: Program, events: pa.Table, pool: Executor, parts: int) -> tuple[list[pa.Table], Dropped]:
    """Prepared rows in slices that stand one after the other, and what was dropped.

    Args:
        program: Prepares rows, each by itself.
        events: Rows as they came.
        pool: Threads.
        parts: How many slices there are at most.
    """
    slices = [events.slice(first, count) for first, count in cut_evenly(events.num_rows, parts)]
    prepared = list(pool.map(program.prepare, slices))
    return [rows for rows, _ in prepared], reduce(add, (dropped for _, dropped in prepared))
