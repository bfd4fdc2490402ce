"""Windows of time in Spark's tasks, in two steps: each task folds its events into slices, and slices meet by keys.

What is moved between tasks grows with keys and slices, and not with events. Sums stay exact on the way, so that it does
not matter how events are dealt out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from trendweave.programs.operators.windows.program import WindowAggregates
from trendweave.programs.operators.windows.slices import BEGIN, Slices, merge_slices
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.options import Settings
from trendweave.runners.spark.exchange.buckets import Buckets
from trendweave.runners.spark.exchange.road import find_buckets
from trendweave.runners.spark.lasting_objects import leave_worker
from trendweave.runners.spark.prepare import prepare_rows
from trendweave.runners.spark.schema import result_type
from trendweave.runners.spark.sessions.travelling import travelling
from trendweave.runners.spark.table_task import telling_where

_BLOBS = "bucket int, payload binary"
_SCHEMA = pa.schema([("bucket", pa.int32()), ("payload", pa.binary())])
#: Slices that are merged before they are moved.
_AT_ONCE = 1 << 20
#: A slice takes the bytes of about so many rows; where it has fewer, rows are moved as they are.
_ROWS = 8


def windows_in_slices(program: WindowAggregates, events: DataFrame, settings: Settings) -> DataFrame | None:
    """The rows of a windowed aggregation, by tasks that fold events first.

    Args:
        program: Bound to the columns of the events.
        events: A DataFrame whose strings are compared by their bytes.
        settings: Checked options.

    Returns:
        The rows; None where events cannot be folded, or where something else is asked for.
    """
    if program.fold is None or settings.device != "cpu":
        return None
    if events.isStreaming or settings.observation is not None:
        return None
    buckets = find_buckets(events.sparkSession) if program.keys else Buckets(1)
    rows = prepare_rows(program, events, all_words=False)
    blobs = rows.mapInArrow(travelling(FoldTask(program, buckets, settings.rows_at_once)), _BLOBS)
    merge = MergeTask(program)
    return blobs.repartition(F.col("bucket")).mapInArrow(travelling(merge), result_type(program, events.schema))


@dataclass(frozen=True, slots=True)
class FoldTask:
    """For mapInArrow: prepared rows in, slices out; rows where slices have few of them.

    Attributes:
        program: The windowed aggregation.
        buckets: Keys are dealt out into so many.
        rows_at_once: Rows that are folded together.
    """

    program: WindowAggregates
    buckets: Buckets
    rows_at_once: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fold = self.program.fold
        assert fold is not None, "it was asked"
        width = len(self.program.folded_columns)
        several: list[Slices] = []
        held, shrinks = 0, True
        with telling_where(self.program, lambda: ""):
            for table in self._tables(batches):
                rows = self.program.adopt(table)
                slices = fold.fold(rows) if shrinks else None
                if slices is None or (self.program.keys and _ROWS * slices.parts.size > rows.num_rows):
                    shrinks = False
                    yield from self._deal(rows)
                    continue
                several.append(slices)
                held += slices.parts.size
                if held > _AT_ONCE:
                    merged = merge_slices(several, width)
                    several, held = [merged], merged.parts.size
                    if 2 * held > _AT_ONCE:
                        yield from self._deal(merged.write())
                        several, held = [], 0
            if several:
                yield from self._deal(merge_slices(several, width).write())
        leave_worker("fold")

    def _tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        held: list[pa.RecordBatch] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= self.rows_at_once:
                yield pa.Table.from_batches(held)
                held, rows = [], 0
        if rows:
            yield pa.Table.from_batches(held)

    def _deal(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """A blob for each bucket that has rows."""
        order, starts = self.buckets.deal(table, self.program.needs.together)
        ordered = table if order is None else table.take(pa.array(order))
        numbers = self.buckets.numbers()
        for bucket in np.flatnonzero(np.diff(starts)).tolist():
            part = ordered.slice(starts[bucket], starts[bucket + 1] - starts[bucket])
            columns = [pa.array([numbers[bucket]], pa.int32()), pa.array([as_stream(part)], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


@dataclass(frozen=True, slots=True)
class MergeTask:
    """For mapInArrow: blobs of whole keys in, result rows out."""

    program: WindowAggregates

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        fold = self.program.fold
        assert fold is not None, "it was asked"
        columns = len(self.program.folded_columns)
        slices, rows = [], []
        for batch in batches:
            for payload in batch.column("payload"):
                table = from_stream(payload.as_py())
                if BEGIN in table.column_names:
                    slices.append(Slices.read(table, self.program.keys))
                else:
                    rows.append(table)
        if not slices and not rows:
            return
        with telling_where(self.program, lambda: ""):
            if rows:
                slices.append(fold.fold(pa.concat_tables(rows)))
            yield from fold.write(merge_slices(slices, columns)).to_batches()
        leave_worker("merge windows")
