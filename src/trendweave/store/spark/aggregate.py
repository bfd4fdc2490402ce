"""Aggregates of a store by the tasks of Spark: the driver plans from the index, tasks read row groups with Arrow and
give back slices. No row is in the JVM, and nothing is shuffled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from trendweave.programs.operators.partials import from_table, merge, to_table
from trendweave.rows.arrow_bytes import as_stream, from_stream
from trendweave.runners.spark.workers import travelling
from trendweave.store.aggregate.rows import GroupRows, Membership
from trendweave.store.aggregate.run import Plan, Question, finish, fold_groups, group_files
from trendweave.store.aggregate.tree import add_up
from trendweave.store.layout.files import DataFile
from trendweave.store.snapshot import Snapshot

#: Rows of a task: enough that starting it does not matter.
_ROWS = 4_000_000

Groups = tuple[DataFile, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class AggregateTask:
    """For mapInArrow, over the numbers of tasks.

    Attributes:
        reader: Reads row groups.
        tasks: The row groups of each task.
        kept: Tells rows that are needed from others.
        question: What was asked.
    """

    reader: GroupRows
    tasks: tuple[tuple[Groups, ...], ...]
    kept: Membership
    question: Question

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                parts = fold_groups(self.reader.read(self.tasks[number]), self.kept, self.question)
                slices = merge(parts, len(self.question.columns))
                yield pa.RecordBatch.from_pydict({"slices": pa.array([as_stream(to_table(slices))], pa.binary())})


def answer_on_spark(spark: SparkSession, store: Snapshot, question: Question, plan: Plan) -> pa.Table:
    """Carry a plan out by tasks.

    Args:
        spark: The session.
        store: Its files must be where tasks reach them.
        question: What was asked.
        plan: What is taken from the tree, and what is read.
    """
    columns = question.columns
    tasks = tuple(_deal(store, plan.groups))
    parts = [add_up(store.tree, plan.found, question.windows, columns)]
    if tasks:
        reader = GroupRows(store.open_files, store.schema, store.time, store.kind, columns, question.bounds)
        task = AggregateTask(replace(reader, threads=False), tasks, Membership.of(store, plan.found.read), question)
        numbers = spark.range(0, len(tasks), 1, len(tasks))
        found = numbers.mapInArrow(travelling(task), "slices BINARY").collect()
        parts += [from_table(from_stream(bytes(row["slices"]))) for row in found]
    return finish(merge(parts, len(columns)), question, store)


def _deal(store: Snapshot, numbers: np.ndarray) -> Iterator[tuple[Groups, ...]]:
    """Row groups by tasks, in order."""
    rows = np.cumsum(store.groups.rows[numbers])
    for own in np.split(numbers, np.searchsorted(rows, np.arange(_ROWS, rows[-1], _ROWS))) if numbers.size else ():
        if own.size:
            yield tuple(group_files(store, own))
