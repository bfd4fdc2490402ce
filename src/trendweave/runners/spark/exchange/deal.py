"""The task before the shuffle: prepared rows in, blobs of buckets out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from trendweave.planning.plan import Path
from trendweave.programs.program import TimeCut
from trendweave.runners.spark.exchange.blobs import pack
from trendweave.runners.spark.exchange.buckets import Buckets
from trendweave.runners.spark.exchange.chunking import number_rows
from trendweave.runners.spark.lasting_objects import leave_worker

#: Rows and bytes that are dealt out at once: as many as make blobs worth their while, and few enough to hold twice.
_ROWS, _BYTES = 1 << 19, 32 << 20


@dataclass(frozen=True, slots=True)
class Deal:
    """For mapInArrow.

    Attributes:
        buckets: Where rows go.
        keys: What rows have in common that go to the same place.
        cut: How time is cut into chunks; None where it is not, or where rows carry the numbers of chunks already.
        moment: The type of times in prepared rows.
    """

    buckets: Buckets
    keys: tuple[Path, ...]
    cut: TimeCut | None
    moment: pa.DataType

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        rows = size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= _ROWS or size >= _BYTES:
                yield self.deal(pa.Table.from_batches(held))
                held, rows, size = [], 0, 0
        if held:
            yield self.deal(pa.Table.from_batches(held))
        leave_worker("deal")

    def deal(self, rows: pa.Table) -> pa.RecordBatch:
        """The blobs of some rows, which fit in memory twice."""
        if self.cut is not None:
            rows = number_rows(rows, self.cut, self.moment)
        order, starts = self.buckets.deal(rows, self.keys)
        return pack(rows, order, starts, self.buckets)
