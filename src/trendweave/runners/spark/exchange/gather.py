"""The blobs of a task, and from them tables of whole keys, not too many rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from types import TracebackType

import pyarrow as pa

from trendweave.planning.plan import Path
from trendweave.runners.spark.exchange.blobs import Blob, blobs_of, read_blob, unpack
from trendweave.runners.spark.exchange.spill import Spill
from trendweave.runners.spark.exchange.split import split_by_keys
from trendweave.runners.spark.table_task import Limits

#: Bytes of blobs that are held in memory. What comes beyond is written to a file.
IN_MEMORY = 192 << 20


class Gathered:
    """The blobs that a task was given, of one bucket or of several, in any order."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self._left = in_memory
        self._held: list[tuple[int, pa.Buffer]] = []
        self._stored: list[tuple[int, slice]] = []
        self._spill = Spill()

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._spill.close()

    @property
    def has_spilled(self) -> bool:
        """Whether there was more than fits in memory."""
        return bool(self._stored)

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep the blobs of a batch. One blob that is held keeps all of its batch in memory, so it is all or none."""
        self._left -= batch.nbytes
        if self._left >= 0:
            self._held += blobs_of(batch)
        else:
            self._stored += [(bucket, self._spill.write(data)) for bucket, data in blobs_of(batch)]

    def tables(self, limits: Limits, keys: tuple[Path, ...], refuse: Callable[[pa.Table], None]) -> Iterator[pa.Table]:
        """All rows, in tables of whole keys; by time where tasks have read them by time.

        Args:
            limits: Tables have so many rows at most, unless hashes of keys hardly differ.
            keys: What rows have in common that stay together.
            refuse: Called with rows of a key that has more of them than it may have.
        """
        most = min(limits.rows_at_once, limits.rows_of_a_key)
        waiting: list[Blob] = []
        rows = 0
        for of_bucket in self._by_bucket():
            more = sum(blob.rows.num_rows for blob in of_bucket)
            if waiting and rows + more > most:
                yield _together(waiting)
                waiting, rows = [], 0
            if more > most:
                yield from split_by_keys(sorted(of_bucket, key=_since), limits, keys, refuse)
            else:
                waiting += of_bucket
                rows += more
        if waiting:
            yield _together(waiting)

    def _by_bucket(self) -> Iterator[list[Blob]]:
        found = list(self._held)
        if self._stored:
            data = self._spill.read()
            found += [(bucket, data.slice(place.start, place.stop - place.start)) for bucket, place in self._stored]
        found.sort(key=lambda one: one[0])
        for bucket, blobs in groupby(found, key=lambda one: one[0]):
            yield [read_blob(bucket, data) for _, data in blobs]


def _together(blobs: list[Blob]) -> pa.Table:
    return unpack(sorted(blobs, key=_since))


def _since(blob: Blob) -> int:
    return blob.since
