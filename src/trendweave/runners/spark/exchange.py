"""The shuffle: tasks pack prepared rows into blobs of buckets, Spark moves the blobs, tasks gather and compute them.

A bucket with too many rows is divided between keys, and blobs that do not fit in memory wait in a temporary file
without a name: it is gone with the process, however that ends.
"""

from __future__ import annotations

import mmap
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import TracebackType
from typing import IO

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from trendweave.kernels.sorting import stable_order
from trendweave.planning.plan import Path
from trendweave.programs.program import Program, TimeCut
from trendweave.runners.options import Settings
from trendweave.runners.spark.blobs import BLOBS, BUCKET, Blob, Buckets, blobs_of, hash_keys, pack, read_blob, unpack
from trendweave.runners.spark.chunks import find_cut, number_chunks, number_rows
from trendweave.runners.spark.tasks import Limits, TableTask
from trendweave.runners.spark.workers import leave_worker, travelling, use_assigned_card

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


#: Where Spark's own temporary files are, in its workers.
_FOLDERS = "SPARK_LOCAL_DIRS"


class Spill:
    """A file that grows. What was written to it is read as if it were in memory."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0

    def write(self, data: pa.Buffer) -> slice:
        """Where the bytes stand in the file. Arrow wants them to begin at full words."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=_folder())  # noqa: SIM115, closed by `close`
        place = -(-self._size // 64) * 64
        self._file.seek(place)
        self._file.write(data)
        self._size = place + data.size
        return slice(place, self._size)

    def read(self) -> pa.Buffer:
        """All that was written."""
        assert self._file is not None
        self._file.flush()
        return pa.py_buffer(mmap.mmap(self._file.fileno(), self._size, access=mmap.ACCESS_READ))

    def close(self) -> None:
        """The space on disk is free when what was read is gone, too."""
        if self._file is not None:
            self._file.close()


def _folder() -> str | None:
    folders = os.environ.get(_FOLDERS, "").split(",")
    return next((folder for folder in folders if folder and pathlib.Path(folder).is_dir()), None)


#: Rows of a bucket are told apart by so many values of the second half of their hash.
_VALUES = 1 << 16


def split_by_keys(
    blobs: Sequence[Blob], limits: Limits, keys: tuple[Path, ...], refuse: Callable[[pa.Table], None]
) -> Iterator[pa.Table]:
    """Tables of whole keys, and of so many rows as the limits say; more where hashes hardly differ.

    Args:
        blobs: All blobs of a bucket. Of their columns only keys are read at once.
        limits: How many rows a table shall have, and how many a key may have.
        keys: What rows have in common that stay together.
        refuse: Called with rows of a key that has more of them than it may have.
    """
    names = list(dict.fromkeys(path[0] for path in keys))
    hashes = np.concatenate([_hash_blob(blob, names, keys) for blob in blobs])
    values = (hashes & np.uint64(_VALUES - 1)).view(np.int64)
    group_of_value, groups = _group(np.bincount(values, minlength=_VALUES), limits.rows_at_once)
    order, starts = stable_order(group_of_value[values], groups)
    ends = np.cumsum([blob.rows.num_rows for blob in blobs])
    for low, high in pairwise(starts.tolist()):
        rows = order[low:high]
        if rows.size > limits.rows_of_a_key:
            found, counts = np.unique(hashes[rows], return_counts=True)
            large = found[counts > limits.rows_of_a_key]
            if large.size:
                of_key = rows[hashes[rows] == large[0]]
                refuse(_take(blobs, ends, of_key[: limits.rows_of_a_key + 1]))
        if rows.size:
            yield _take(blobs, ends, rows)


def _group(counts: np.ndarray, rows_at_once: int) -> tuple[np.ndarray, int]:
    """The number of a group for each value: values one after the other that have so many rows together, unless one
    alone has more; and how many groups there are."""
    before = np.concatenate([[0], np.cumsum(counts)])
    starts = [0]
    while True:
        fitting = int(np.searchsorted(before, before[starts[-1]] + rows_at_once, side="right")) - 1
        following = max(fitting, starts[-1] + 1)
        if before[following] == before[-1]:
            break
        starts.append(following)
    group = np.zeros(counts.size, np.int64)
    group[starts[1:]] = 1
    return np.cumsum(group), len(starts)


def _take(blobs: Sequence[Blob], ends: np.ndarray, rows: np.ndarray) -> pa.Table:
    """Rows of all blobs by number, in ascending order."""
    borders = [0, *np.searchsorted(rows, ends).tolist()]
    taken = []
    for blob, (low, high), end in zip(blobs, pairwise(borders), ends.tolist(), strict=True):
        if low < high:
            taken.append(blob.take(rows[low:high] - (end - blob.rows.num_rows)))
    return unpack(taken)


def _hash_blob(blob: Blob, names: list[str], keys: tuple[Path, ...]) -> np.ndarray:
    if not keys:
        return np.zeros(blob.rows.num_rows, np.uint64)
    return hash_keys(unpack([blob], names), keys)


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


#: How many tasks a shuffle has at first; with the setting that comes first where both are there.
_TASKS = ("spark.sql.adaptive.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions")


def is_sorted_by_time(program: Program) -> bool:
    """Whether Spark has to sort rows: stretches of time are cut between any two times, which it finds by sorting."""
    parts = program.partials()
    return parts is not None and parts.of_stretches


def compute_columns(task: TableTask, rows: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows.

    Args:
        task: Computes tables of whole keys.
        rows: Prepared rows.
        result: The columns that come out.
        settings: Checked options.
    """
    program = task.program
    cut = find_cut(program, settings)
    task = task.in_chunks(cut)
    if cut is not None and cut.last_step:
        # Which time was the last before a chunk is known to no task.
        rows, cut = number_chunks(rows, cut, program.moment), None
    deal = Deal(find_buckets(rows.sparkSession), task.keys, cut, program.moment)
    return compute_blobs(task, rows.mapInArrow(travelling(deal), BLOBS), result, settings)


def compute_blobs(task: TableTask, blobs: DataFrame, result: StructType, settings: Settings) -> DataFrame:
    """What a task makes of rows that were dealt out.

    Args:
        task: Computes tables of whole keys.
        blobs: Rows with the columns of `BLOBS`.
        result: The columns that come out.
        settings: Checked options.
    """
    # Where rows have no time, a key is all that a query asks for.
    of_a_key = 2**62 if task.program.needs.time is None else settings.max_rows_of_a_key
    limits = Limits(settings.rows_at_once, of_a_key)
    compute = ComputeBlobs(task, limits, settings.bytes_in_memory)
    return blobs.repartition(F.col(BUCKET)).mapInArrow(travelling(compute), result)


def find_buckets(spark: SparkSession) -> Buckets:
    """As many as a shuffle has tasks. Where that changes until the query runs, buckets share tasks, and that is all."""
    settings = (spark.conf.get(name, None) for name in _TASKS)
    return Buckets(next((int(found) for found in settings if found and found.isdecimal()), 200))
