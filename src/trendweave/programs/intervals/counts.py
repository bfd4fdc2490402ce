"""Matches that are counted per window and group."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from trendweave.programs.intervals.matching import FoundMatches
from trendweave.programs.intervals.situations import SituationBuffers
from trendweave.results.interval_table import IntervalResults, count_ranges, window_lengths
from trendweave.results.partials import exact_sums
from trendweave.rows.codes import first_of_each, key_codes


def count_matches(results: IntervalResults, situations: SituationBuffers, found: FoundMatches) -> pa.Table:
    """The matches of each window and group. A match counts in each window that holds it, from its first start to its
    detection."""
    first = situations.start[found.situation].min(axis=1) if found.moment.size else found.moment
    paths = [output.path for output in results.plan.outputs if output.function is None]
    keys = [results.keys[results.plan.partition_by.index(path or ())] for path in paths]
    group = key_codes([pa.chunked_array([key]) for key in keys], results.partitions)
    of = group[situations.partition[found.situation[:, 0]]]
    windows, groups, numbers = count_ranges(*results.window_range(first, found.moment), of)
    columns = {"window": pa.array(windows), "count": pa.array(numbers)}
    example = pa.array(first_of_each(group)[groups])
    return pa.table(columns | {f"key_{place}": key.take(example) for place, key in enumerate(keys)})


def write_counts(results: IntervalResults, counts: pa.Table) -> pa.Table:
    """Result rows of counted windows."""
    within, every = window_lengths(results.plan, results.kind)
    start = counts.column("window").to_numpy() * every
    columns = [results.times(start), results.times(start + within)]
    keys = iter(name for name in counts.column_names if name.startswith("key_"))
    for output in results.plan.outputs:
        columns.append(counts.column("count" if output.function else next(keys)).combine_chunks())
    return results.table(columns)


def add_up(table: pa.Table, counts: Iterable[str]) -> pa.Table:
    """One row for those that are equal in all columns but their counts, which are added up."""
    names = [name for name in table.column_names if name not in counts]
    codes = key_codes([table.column(name) for name in names], table.num_rows)
    first = first_of_each(codes)
    rows = table.take(pa.array(first))
    for name in counts:
        totals = exact_sums(codes, table.column(name).to_numpy(), first.size)
        rows = rows.set_column(rows.schema.get_field_index(name), rows.field(name), pa.array(totals))
    return rows
