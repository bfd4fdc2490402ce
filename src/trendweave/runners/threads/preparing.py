"""Events -> prepared rows, slice by slice in threads."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import reduce
from itertools import pairwise
from operator import add

import pyarrow as pa

from trendweave.language.syntax_tree import Attribute
from trendweave.programs.operators.chain import ChainedRows
from trendweave.programs.program import Program
from trendweave.rows.dropped import Dropped

#: Fewer rows are not worth a slice of their own.
LEAST_ROWS = 75_000
#: So many rows of each core are cut into two parts.
_MANY_ROWS = 2_000_000


def is_worth_cutting(rows: int) -> bool:
    """Whether there are enough rows for two slices."""
    return rows >= 2 * LEAST_ROWS


def count_parts(rows: int, cores: int) -> int:
    """Into how many parts rows are dealt out: one per core, as Python does something for each, one after the other;
    fewer of few rows; two per core of very many, so that a core that is done early takes another one. No number between
    these: most cores would wait for those with a second part."""
    return max(1, min(rows // LEAST_ROWS, cores if rows < cores * _MANY_ROWS else 2 * cores))


def cut_evenly(rows: int, parts: int, times: int = 1) -> list[tuple[int, int]]:
    """First row and number of rows of parts that are about as large as each other, and large enough, or as many `times`
    as large."""
    parts = max(1, min(parts, rows // (times * LEAST_ROWS)))
    borders = [rows * part // parts for part in range(parts + 1)]
    return [(low, high - low) for low, high in pairwise(borders)]


def evaluates(program: Program) -> bool:
    """Whether preparing rows is more than taking columns as they are."""
    if isinstance(program, ChainedRows) and program.filters:
        return True
    needs = program.needs
    computed = any(not isinstance(expression, Attribute) for _, expression in needs.columns)
    tested = any(flag is not None and flag.condition is not None for flag in needs.flags)
    return computed or tested or needs.type is not None


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
