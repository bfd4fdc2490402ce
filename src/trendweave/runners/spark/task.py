"""What Python workers do in batch with rows that come sorted, and with parts of results that are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.program import TRENDS, Program, Scope
from trendweave.runners.spark.devices.cards import use_assigned_card
from trendweave.runners.spark.lasting_objects import leave_worker
from trendweave.runners.spark.table_task import COUNTS, PEAK, Limits, TableTask, append_counts, counts_row


@dataclass(frozen=True, slots=True)
class ComputeTask:
    """For mapInArrow.

    Attributes:
        task: Computes rows of whole keys.
        limits: How many rows at once.
    """

    task: TableTask
    limits: Limits

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_assigned_card()
        held: list[pa.RecordBatch] = []
        rows = 0
        wanted = self._wanted(self.limits.rows_at_once)
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows < wanted:
                continue
            table = pa.Table.from_batches(held)
            cut = self._last_border(table)
            if cut == 0:
                # All of it is one key, and more of it may come.
                if table.num_rows > self.limits.rows_of_a_key:
                    raise self.task.too_large(table, self.limits)
                wanted = self._wanted(2 * rows)
                held = table.to_batches()
                continue
            yield from self.task(table.slice(0, cut))
            held, rows = table.slice(cut).to_batches(), table.num_rows - cut
            wanted = self._wanted(self.limits.rows_at_once)
        if rows:
            yield from self.task(pa.Table.from_batches(held))
        leave_worker("compute")

    def _wanted(self, rows: int) -> int:
        """That many, but not without a look at the size of a key that is beyond its limit."""
        return min(rows, self.limits.rows_of_a_key + 1)

    def _last_border(self, table: pa.Table) -> int:
        """The first row of the last key. Rows are sorted by keys, so all rows before it are of finished keys."""
        codes = self.task.codes(table)
        others = np.flatnonzero(codes != codes[-1])
        return int(others[-1]) + 1 if others.size else 0


@dataclass(frozen=True, slots=True)
class MergeTask:
    """For mapInArrow: parts, of which all that belong to one row of the result are in one partition, to result rows."""

    program: Program
    counted: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        parts = self.program.partials()
        assert parts is not None
        if self.counted:
            counts = table.column(COUNTS).drop_null()
            schema = self.program.schema.append(pa.field(TRENDS, pa.float64()))
            yield from (counts_row(schema, row) for row in counts.to_pylist())
            table = table.filter(table.column(COUNTS).is_null())
        own = table.select(parts.schema.names).cast(parts.schema)
        merged = parts.merge(own, Scope(counted=self.counted)).to_batches()
        if self.counted:
            peak = pc.max(table.column(PEAK)).as_py()
            merged = [append_counts(batch, peak) for batch in merged if batch.num_rows]
        yield from merged
        leave_worker("merge")
