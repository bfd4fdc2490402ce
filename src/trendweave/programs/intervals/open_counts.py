"""Matches that are counted per window while windows are open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Path
from trendweave.programs.intervals.matching import FoundMatches
from trendweave.programs.intervals.situations import SituationBuffers
from trendweave.results.interval_table import IntervalResults, count_ranges
from trendweave.results.partials import exact_sums
from trendweave.rows.codes import first_of_each, key_codes


@dataclass(frozen=True, slots=True)
class OpenCounts:
    """Adds matches to what was counted before. `keys` are the attributes of each partition."""

    plan: IntervalPlan
    results: IntervalResults
    keys: list[pa.Array]
    partitions: int

    def add(
        self, before: pa.Table | None, situations: SituationBuffers, found: FoundMatches, watermark: int | None
    ) -> tuple[pa.Table, pa.Table]:
        """Result rows of the windows that the watermark (None: the end) has passed, and the counts of the others."""
        table = self._count(situations, found)
        if before is not None:
            table = _add_up(pa.concat_tables([before, table]))
        within, every = self.results.window_lengths()
        ends = table.column("window").to_numpy() * every + within
        closed = np.ones(ends.size, np.bool_) if watermark is None else ends <= watermark
        return self._write(table.filter(pa.array(closed))), table.filter(pa.array(~closed)).combine_chunks()

    def _count(self, situations: SituationBuffers, found: FoundMatches) -> pa.Table:
        first = situations.start[found.situation].min(axis=1) if found.moment.size else found.moment
        partition = situations.partition[found.situation[:, 0]]
        keys = [self._find_key(output.path) for output in self.plan.outputs if output.function is None]
        group = key_codes([pa.chunked_array([key]) for key in keys], self.partitions)
        windows, groups, numbers = count_ranges(*self.results.window_range(first, found.moment), group[partition])
        columns = {"window": pa.array(windows), "count": pa.array(numbers)}
        example = pa.array(first_of_each(group)[groups])
        return pa.table(columns | {f"key_{place}": key.take(example) for place, key in enumerate(keys)})

    def _find_key(self, path: Path | None) -> pa.Array:
        assert path is not None, "what is no function names an attribute"
        return self.keys[self.plan.partition_by.index(path)]

    def _write(self, table: pa.Table) -> pa.Table:
        within, every = self.results.window_lengths()
        start = table.column("window").to_numpy() * every
        columns = [self.results.times(start), self.results.times(start + within)]
        keys = iter(name for name in table.column_names if name.startswith("key_"))
        for output in self.plan.outputs:
            columns.append(table.column("count" if output.function else next(keys)).combine_chunks())
        return self.results.table(columns)


def _add_up(table: pa.Table) -> pa.Table:
    """One row per window and group."""
    names = [name for name in table.column_names if name != "count"]
    codes = key_codes([table.column(name) for name in names], table.num_rows)
    first = first_of_each(codes)
    totals = exact_sums(codes, table.column("count").to_numpy(), first.size)
    rows = table.take(pa.array(first))
    return rows.set_column(rows.schema.get_field_index("count"), "count", pa.array(totals))
