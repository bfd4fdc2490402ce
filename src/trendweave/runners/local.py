"""The in-process runner: Arrow prepares the rows, one task computes them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import Plan
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.intervals.program import bind_intervals
from trendweave.programs.situated.marking import marked_events
from trendweave.programs.trends.program import bind
from trendweave.results.aggregate_table import Numbers
from trendweave.rows.dropped import report_dropped
from trendweave.runners.options import Settings


def run_trends(plan: Plan, table: pa.Table, time: str, type_: str | None, settings: Settings) -> pa.Table:
    """The rows of a trend query; the number of dropped rows is in the metadata of the schema."""
    if plan.returns == "aggregates":
        return aggregate_table(plan, table, time, type_, settings.numbers)
    batches = iterate_trends(plan, table, time, type_, settings)
    return pa.Table.from_batches(batches, batches.schema)


def iterate_trends(plan: Plan, table: pa.Table, time: str, type_: str | None, settings: Settings) -> Batches:
    """The rows of a trend query as Arrow batches; the first one is computed when it is asked for."""
    bound = bind(plan, table.schema, time, type_, settings.numbers, detection=settings.detection)
    rows, dropped = bound.prepare(table)
    report_dropped(dropped)
    schema = bound.schema.with_metadata(dropped.metadata)
    if not bound.shows_trends:
        return Batches(schema, iter(bound.compute(rows).to_batches()))
    written = bound.trends(rows)
    return Batches(schema, written.batches(), written.trends)


def run_intervals(plan: IntervalPlan, table: pa.Table, time: str, type_: str | None) -> pa.Table:
    """The rows of an interval query; the number of dropped rows is in the metadata of the schema."""
    bound = bind_intervals(plan, table.schema, time, type_)
    rows, dropped = bound.prepare(table)
    report_dropped(dropped)
    return bound.compute(rows).replace_schema_metadata(dropped.metadata)


def mark_events(plan: SituatedPlan, table: pa.Table, time: str, type_: str | None) -> pa.Table:
    """The events, with a column for each situation that says whether they lie in one."""
    return marked_events(bind_intervals(plan.situations, table.schema, time, type_), plan.columns, table)


class Batches:
    """An iterator over Arrow record batches.

    Attributes:
        schema: The columns of all batches.
        trends: How many trends will be shown, counted before the first one is built; None where that turns out only on
            the way (checked complete trends) or none are asked for.
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], trends: int | None = None) -> None:
        self.schema, self.trends = schema, trends
        self._batches = batches

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches).replace_schema_metadata(self.schema.metadata)


def aggregate_table(
    plan: Plan, events: pa.Table, time: str, type_: str | None, numbers: Numbers, way: str | None = None
) -> pa.Table:
    """Result rows; the number of dropped rows is in the metadata of the schema. `way` forces a way of summing."""
    bound = bind(plan, events.schema, time, type_, numbers, way)
    rows, dropped = bound.prepare(events)
    report_dropped(dropped)
    return bound.compute(rows).replace_schema_metadata(dropped.metadata)
