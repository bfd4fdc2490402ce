"""A plan bound to the columns of some events: prepares rows, computes aggregates, writes result tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import CountTooLargeError
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import Preparation, prepare
from trendweave.programs.trends.aggregates import PartitionTask, TaskOptions, TaskResult
from trendweave.programs.trends.detection import DEFAULTS, Detection
from trendweave.programs.trends.lists import WrittenTrends, list_trends
from trendweave.results.aggregate_table import Numbers, result_schema, result_table
from trendweave.results.trend_table import make_writer, trend_schema
from trendweave.rows.dropped import Dropped
from trendweave.rows.prepared import prepare_rows


@dataclass(frozen=True, slots=True)
class BoundQuery:
    plan: Plan
    preparation: Preparation
    events: pa.Schema
    time: str
    type: str | None
    numbers: Numbers
    way: str | None = None
    chunk: int | None = None
    detection: Detection = DEFAULTS

    @property
    def shows_trends(self) -> bool:
        return self.plan.returns != "aggregates"

    @property
    def schema(self) -> pa.Schema:
        if self.shows_trends:
            return trend_schema(self.plan, self.events, self.time, self.type, self.numbers)
        return result_schema(self.plan, self.events, self.time, self.numbers)

    def prepare(self, events: pa.Table) -> tuple[pa.Table, Dropped]:
        return prepare_rows(self.plan, self.preparation, events, self.time, self.type)

    def in_chunks(self, length: int) -> BoundQuery:
        """For rows that carry the number of a chunk of time, which owns the windows that start in it."""
        return replace(self, chunk=length)

    def compute(self, rows: pa.Table, only: tuple[int, int] | None = None) -> pa.Table:
        """Result rows of prepared rows; `only` keeps a range of windows."""
        if self.shows_trends:
            return pa.Table.from_batches(self.trends(rows, only).batches(), self.schema)
        return self.result(self.aggregate(rows, only))

    def aggregate(self, rows: pa.Table, only: tuple[int, int] | None = None) -> TaskResult:
        options = TaskOptions(exact=self.numbers != "float64", way=self.way, only=only, chunk=self.chunk)
        try:
            return PartitionTask(self.plan, self.preparation, rows, options).run()
        except CountTooLargeError as error:
            hint = 'ask for numbers="float64", or use smaller windows'
            raise ExecutionError([Problem("TW403", str(error), hint)]) from error

    def trends(self, rows: pa.Table, only: tuple[int, int] | None = None) -> WrittenTrends:
        """The trends of prepared rows in batches; `only` keeps a range of windows. They are counted here."""
        options = TaskOptions(only=only, chunk=self.chunk)
        try:
            listing = list_trends(self.plan, self.preparation, rows, options, self.detection)
        except CountTooLargeError as error:
            raise ExecutionError([Problem("TW403", str(error), "use smaller windows")]) from error
        columns = (self.schema, self.events, self.time, self.type, self.numbers)
        rows_of_task, groups = listing.counted.task.rows, listing.counted.group_columns
        return WrittenTrends(listing, make_writer(self.plan, self.preparation, *columns, rows_of_task, groups))

    def result(self, aggregates: TaskResult) -> pa.Table:
        return result_table(self.plan, aggregates, self.schema, self.events, self.numbers)


def bind(
    plan: Plan,
    events: pa.Schema,
    time: str,
    type_: str | None,
    numbers: Numbers,
    way: str | None = None,
    detection: Detection | None = None,
) -> BoundQuery:
    return BoundQuery(plan, prepare(plan), events, time, type_, numbers, way, detection=detection or DEFAULTS)
