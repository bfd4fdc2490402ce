"""The road of columns as Spark runs it, without a JVM: rows in several tasks, cut into batches at odd places, dealt out
into blobs; blobs in any order to the tasks of their buckets, some of which share a task; what these compute, merged."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from trendweave.programs.program import Program, Scope
from trendweave.runners.options import Settings
from trendweave.runners.spark.blobs import Buckets
from trendweave.runners.spark.chunks import find_cut
from trendweave.runners.spark.exchange import ComputeBlobs, Deal
from trendweave.runners.spark.tasks import Limits, MergeTask, TableTask


@dataclass(frozen=True)
class Machine:
    """How much fits where. Everything else is drawn by lot, the same for the same seed."""

    buckets: int = 3
    tasks: int = 2
    rows_at_once: int = 4
    rows_of_a_key: int = 10**9
    rows_of_a_blob: int = 3
    in_memory: int = 10**9
    seed: int = 0


def run_on_columns(program: Program, events: pa.Table, machine: Machine, chunks: str = "auto") -> pa.Table:
    """The rows of a program whose rows can be dealt out: those that do not come in stretches of time."""
    parts, lot = program.partials(), random.Random(machine.seed)
    cut = find_cut(program, Settings(chunks=chunks))
    if cut is not None and cut.last_step:
        cut = None  # Spark itself has to look for the last times
    task = TableTask(program, Scope(), parts is not None, adopts=False).in_chunks(cut)
    deal = Deal(Buckets(machine.buckets), task.keys, cut, program.moment)
    blobs: list[pa.RecordBatch] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trendweave.runners.spark.exchange._ROWS", machine.rows_of_a_blob)
        for batches in _read(program, events, lot):
            blobs += [batch.slice(row, 1) for batch in deal(batches) for row in range(batch.num_rows)]
    lot.shuffle(blobs)
    compute = ComputeBlobs(task, Limits(machine.rows_at_once, machine.rows_of_a_key), machine.in_memory)
    found = [batch for mine in _shuffled(blobs, machine, lot) for batch in compute(iter(mine))]
    if parts is not None:
        found = list(MergeTask(program)(found))
    return pa.Table.from_batches(found, program.schema)


def _read(program: Program, events: pa.Table, lot: random.Random) -> Iterator[list[pa.RecordBatch]]:
    """The prepared rows of each task that reads, in batches of any size, also of none."""
    cuts = sorted(lot.randrange(events.num_rows + 1) for _ in range(2))
    for low, high in zip([0, *cuts], [*cuts, events.num_rows], strict=True):
        rows, _ = program.prepare(events.slice(low, high - low))
        batches = rows.combine_chunks().to_batches()
        yield [batch.slice(start, size) for batch in batches for start, size in _sizes(batch.num_rows, lot)]


def _sizes(rows: int, lot: random.Random) -> Iterator[tuple[int, int]]:
    start = 0
    while start < rows:
        size = min(lot.randrange(4), rows - start)
        yield start, size
        start += size


def _shuffled(blobs: list[pa.RecordBatch], machine: Machine, lot: random.Random) -> list[list[pa.RecordBatch]]:
    """The blobs of each task that computes; those of a bucket go to one task, and come in batches of any size."""
    of_bucket: dict[int, int] = {}
    tasks: list[list[pa.RecordBatch]] = [[] for _ in range(machine.tasks)]
    for blob in blobs:
        bucket = blob.column("bucket")[0].as_py()
        tasks[of_bucket.setdefault(bucket, lot.randrange(machine.tasks))].append(blob)
    return [_joined(task, lot) for task in tasks]


def _joined(blobs: list[pa.RecordBatch], lot: random.Random) -> list[pa.RecordBatch]:
    """Rows of one batch lie in one buffer, behind each other; some batches are slices of longer ones."""
    if not blobs:
        return []
    whole = pa.Table.from_batches(blobs).combine_chunks().to_batches()[0]
    return [whole.slice(start, size) for start, size in _sizes(whole.num_rows, lot) if size]
