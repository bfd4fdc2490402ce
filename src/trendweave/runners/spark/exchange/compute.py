"""The task after the shuffle: blobs of buckets in, result rows or parts of them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from trendweave.runners.spark.devices.cards import use_assigned_card
from trendweave.runners.spark.exchange.gather import Gathered
from trendweave.runners.spark.lasting_objects import leave_worker
from trendweave.runners.spark.table_task import Limits, TableTask


@dataclass(frozen=True, slots=True)
class ComputeBlobs:
    """For mapInArrow.

    Attributes:
        task: What is done with rows of whole keys.
        limits: How many rows at once.
        in_memory: Bytes of blobs that are held in memory; what comes beyond waits in a temporary file.
    """

    task: TableTask
    limits: Limits
    in_memory: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_assigned_card()
        with Gathered(self.in_memory) as gathered:
            for batch in batches:
                gathered.add(batch)
            for table in gathered.tables(self.limits, self.task.keys, self._refuse):
                yield from self.task(table)
        leave_worker("compute")

    def _refuse(self, rows: pa.Table) -> None:
        raise self.task.too_large(rows, self.limits)
