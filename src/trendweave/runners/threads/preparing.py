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
LEAST_ROWS = 75_000
#: So many rows are enough for a part; more of them are cut further, up to two parts per core.
_MANY_ROWS = 250_000


def is_worth_cutting(rows: int) -> bool:
    """Whether there are enough rows for two slices."""
    return rows >= 2 * LEAST_ROWS


def count_parts(rows: int, cores: int) -> int:
    """Into how many parts rows are dealt out: one per core, fewer of few rows, more of very many, so that a core that
    is done early takes another one."""
    return max(1, min(rows // LEAST_ROWS, max(cores, min(2 * cores, rows // _MANY_ROWS))))


def cut_evenly(rows: int, parts: int) -> list[tuple[int, int]]:
    """First row and number of rows of parts that are about as large as each other, and large enough."""
    parts = max(1, min(parts, rows // LEAST_ROWS))
    borders = [rows * part // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(borders)]


def prepare_slices(program: Program, events: pa.Table, pool: Executor, parts: int) -> tuple[list[pa.Table], Dropped]:
    """Prepared rows in slices that stand one after the other, each column of a slice in one piece, and what was
    dropped.

    Args:
        program: Prepares rows, each by itself.
        events: Rows as they came.
        pool: Threads.
        parts: How many slices there are at most.
    """
    slices = [events.slice(first, count) for first, count in cut_evenly(events.num_rows, parts)]
    prepared = list(pool.map(program.prepare, slices))
    return [rows for rows, _ in prepared], reduce(add, (dropped for _, dropped in prepared))
