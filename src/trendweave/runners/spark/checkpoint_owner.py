"""Whose checkpoint is this? Asked once a run, in the micro-batch with its first events.

State is kept by bucket of keys, and each bucket knows the query that it belongs to. Were only the buckets asked that
new events fall into, another query could write into those that are empty, and the checkpoint would then fit neither of
the two. So there is one bucket more, without keys, that every run asks, and that stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from trendweave.runners.spark.lasting_objects import set_lasting_objects_aside
from trendweave.runners.spark.packing.state_buckets import StateBuckets
from trendweave.runners.spark.pieces import BUCKET, PIECE, PackTask

#: What Spark says about a task of a stream: the checkpoint it works on, and its run since the last start.
_CHECKPOINT, _RUN = "sql.streaming.queryId", "spark.jobGroup.id"
WITHOUT_KEYS = -1
#: Runs that this worker has met lately; older ones have ended, or would be asked once more.
_MOST_RUNS = 1_000
_asked: dict[tuple[str | None, ...], None] = {}


@dataclass(frozen=True, slots=True)
class CheckedPackTask:
    """For mapInArrow: the pieces of `pack`, after one that asks, where this worker meets a new run; or one for each
    bucket."""

    pack: PackTask
    made_for: str
    buckets: StateBuckets
    all_buckets: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, pieces in enumerate(self.pack(batches)):
            if number == 0 and self._is_new_run():
                yield question(self.buckets.numbers() if self.all_buckets else ())
            yield pieces
        set_lasting_objects_aside("pack")

    def _is_new_run(self) -> bool:
        task = TaskContext.get()
        facts = [] if task is None else [task.getLocalProperty(name) for name in (_CHECKPOINT, _RUN)]
        run = (self.made_for, str(self.buckets.stored), *facts)
        is_new = run not in _asked
        _asked[run] = None
        if len(_asked) > _MOST_RUNS:
            del _asked[next(iter(_asked))]
        return is_new


def question(buckets: Iterable[int] = ()) -> pa.RecordBatch:
    """Pieces without rows; where nobody has said yet whose checkpoint it is, the operator does.

    Args:
        buckets: Those with keys that are asked as well. Queries of a workload that came at a restart came at the same
            time in all buckets, so all hear of it at once.
    """
    rest = {"pane": 0, "earliest": 0, "latest": 0, "rows": 0, "checksum": 0, "payload": b""}
    return pa.RecordBatch.from_pylist([{BUCKET: bucket, **rest} for bucket in (WITHOUT_KEYS, *buckets)], PIECE)
