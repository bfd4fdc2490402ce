"""The blobs of a task, and from them tables of whole keys, not too many rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType

import pyarrow as pa

from trendweave.planning.plan import Path
from trendweave.runners.spark.exchange.blobs import Blob, blobs_of, read_blob, unpack
from trendweave.runners.spark.exchange.spill import Spill
from trendweave.runners.spark.exchange.split import split_by_keys
from trendweave.runners.spark.table_task import Limits


class Gathered:
    """The blobs that a task was given, of one bucket or of several, in any order. So many bytes of them are held in
    memory; what comes beyond is written to a file."""

    def __init__(self, in_memory: int) -> None:
        self._left = in_memory
        self._held: list[Blob] = []
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
        """Keep the blobs of a batch, no longer compressed. One blob that is held may keep all of its batch in memory,
        so it is all or none."""
        blobs = [read_blob(bucket, data) for bucket, data in blobs_of(batch)]
        self._left -= sum(blob.rows.nbytes for blob in blobs)
        if self._left >= 0:
            self._held += blobs
        else:
            self._stored += [(blob.bucket, self._spill.write(blob.plain_bytes())) for blob in blobs]

    def tables(self, limits: Limits, keys: tuple[Path, ...], refuse: Callable[[pa.Table], None]) -> Iterator[pa.Table]:
        """All rows, in tables of whole keys; by time where tasks have read them by time. Blobs are let go on the way,
        so that they are not held beside the tables made of them.

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
                rows = 0
                yield _together(waiting)
            if more > most:
                yield from split_by_keys(sorted(of_bucket, key=_since), limits, keys, refuse)
            else:
                waiting += of_bucket
                rows += more
            del of_bucket
        if waiting:
            yield _together(waiting)

    def _by_bucket(self) -> Iterator[list[Blob]]:
        found, self._held = self._held, []
        if self._stored:
            data = self._spill.read()
            places = ((bucket, data.slice(place.start, place.stop - place.start)) for bucket, place in self._stored)
            found += [read_blob(bucket, stored) for bucket, stored in places]
        found.sort(key=lambda blob: -blob.bucket)
        while found:
            last = [found.pop()]
            while found and found[-1].bucket == last[0].bucket:
                last.append(found.pop())
            yield last


def _together(blobs: list[Blob]) -> pa.Table:
    """The rows of blobs, which are let go."""
    table = unpack(sorted(blobs, key=_since))
    blobs.clear()
    return table


def _since(blob: Blob) -> int:
    return blob.since
