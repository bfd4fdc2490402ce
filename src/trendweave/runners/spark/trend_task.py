"""Trends one by one on Spark: each task yields batches while it finds them, and nobody holds all trends.

Rows come together by partition key, or by group where LIMIT, LONGEST or SAMPLE chooses among trends of several keys.
So no trends are merged, and none are shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from trendweave.errors import TrendweaveError
from trendweave.rows.encoded import TIME
from trendweave.runners.spark.task import AggregateTask
from trendweave.runners.warm_up import Work


@dataclass(frozen=True, slots=True)
class TrendsTask(AggregateTask):
    """For mapInArrow. `max_trends` is checked for the keys that are computed together, before any of their trends is
    built."""

    work: ClassVar[Work] = "trends"

    def _computed(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        # Spark hands timestamps over in the session's zone; the answer does not depend on it.
        time = self.bound.events.field(self.bound.time).type
        table = table.set_column(table.schema.get_field_index(TIME), TIME, table.column(TIME).cast(time))
        try:
            yield from self.bound.trends(table).batches()
        except TrendweaveError as error:
            place = f"{self._place(table)}: "
            problems = [replace(problem, message=place + problem.message) for problem in error.problems]
            raise type(error)(problems, self.bound.plan.text) from error
