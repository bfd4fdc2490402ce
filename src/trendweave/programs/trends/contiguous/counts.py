"""How many contiguous trends there are, per window and group, block of partitions by block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.kernels.listing.contiguous import Automaton, count_runs
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions
from trendweave.programs.trends.contiguous.lists import MOST_COUNTED
from trendweave.programs.trends.contiguous.steps import (
    ROWS_AT_ONCE,
    columns_read,
    find_steps,
    find_windows,
    group_values,
    has_ties,
    make_automaton,
)
from trendweave.results.partials import Component, Partials, TaskResult, merge
from trendweave.rows.codes import first_of_each, key_codes
from trendweave.rows.encoded import EncodedRows, sort_partitions


def count_all_runs(plan: Plan, preparation: Preparation, table: pa.Table, options: TaskOptions) -> TaskResult | None:
    """Count the contiguous trends of prepared rows.

    Args:
        plan: A plan that returns nothing but the number of trends, which are found by steps from row to row.
        preparation: What the rows were prepared for.
        table: Prepared rows.
        options: Windows and chunks, and how numbers are counted.

    Returns:
        Counts per window and group; None where there are no rows.
    """
    automaton = make_automaton(plan)
    read = columns_read(plan, preparation, table)
    results = []
    for block in sort_partitions(plan, preparation, table).in_blocks(ROWS_AT_ONCE):
        rows = block.encode(read)
        counted = None
        if not has_ties(rows):
            counted = _count_block(plan, preparation, automaton, rows, group_values(plan, preparation, block), options)
        results.append(counted or PartitionTask(plan, preparation, block.encode().table, options).run())
    return _join_results(results) if results else None


def _count_block(
    plan: Plan,
    preparation: Preparation,
    automaton: Automaton,
    rows: EncodedRows,
    groups: list[pa.Array],
    options: TaskOptions,
) -> TaskResult | None:
    """Counts of a block; None where floats cannot count its trends, or there are too many windows."""
    windows = find_windows(plan, rows, options)
    if windows is None:
        return None
    counts = np.zeros(windows.segment.size)
    count_runs(automaton, find_steps(plan, preparation, rows).unpack(), windows.ranges, counts, False)
    if counts.sum() >= MOST_COUNTED:
        return None
    windows, counts = windows.take(np.flatnonzero(counts)), counts[counts > 0]
    numbers = counts.astype(np.int64) if options.exact else counts
    # The number of trends comes first, then each output.
    components = (Component("sum", numbers),) * (1 + len(plan.aggregates))
    of = pa.array(windows.segment)
    taken = [pc.take(values, of) for values in groups]
    return TaskResult(Partials(windows.window, windows.segment, components), taken)


def _join_results(results: list[TaskResult]) -> TaskResult:
    """One entry per window and group; a group may have partitions in several blocks."""
    sizes = [result.partials.window.size for result in results]
    columns = [pa.chunked_array(list(parts)) for parts in zip(*(result.groups for result in results), strict=True)]
    codes = key_codes(columns, sum(sizes))
    parts = zip(results, np.split(codes, np.cumsum(sizes)[:-1]), strict=True)
    merged = merge([replace(result.partials, group=group) for result, group in parts])
    first = pa.array(first_of_each(codes)[merged.group])
    return TaskResult(merged, [pc.take(column, first) for column in columns])
