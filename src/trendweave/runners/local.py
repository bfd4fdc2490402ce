"""The in-process runner: Arrow prepares the rows, one task computes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.planning.plan import Plan
from trendweave.programs.trends.detection import Detection
from trendweave.programs.trends.program import BoundQuery, bind
from trendweave.results.aggregate_table import NUMBERS, Numbers
from trendweave.rows.dropped import report_dropped
from trendweave.rows.tables import arrow_schema, as_arrow

if TYPE_CHECKING:
    from trendweave.queries import Query


def run_local(
    query: Query, events: Any, time: str, type_: str | None, numbers: Numbers, detection: Detection | None
) -> Any:
    """The rows of a query, as the kind of table that the events came in."""
    check_numbers(numbers)
    table, give_back = as_arrow(events)
    query.check(table.schema, time, type_)
    if query.plan.returns == "aggregates":
        return give_back(aggregate_table(query.plan, table, time, type_, numbers))
    batches = TrendBatches(bind(query.plan, table.schema, time, type_, numbers, detection=detection), table)
    return give_back(pa.Table.from_batches(batches, batches.schema))


def iter_local(
    query: Query, events: Any, time: str, type_: str | None, numbers: Numbers, detection: Detection | None
) -> TrendBatches:
    """The rows of a query as Arrow batches; the first one is computed when it is asked for."""
    check_numbers(numbers)
    table, _ = as_arrow(events)
    query.check(table.schema, time, type_)
    return TrendBatches(bind(query.plan, table.schema, time, type_, numbers, detection=detection), table)


class TrendBatches:
    """An iterator over Arrow record batches. Trends were counted before it was made: `trends` is how many will be
    shown, or None where that turns out only on the way (checked complete trends) or none are asked for."""

    def __init__(self, bound: BoundQuery, events: pa.Table) -> None:
        rows, dropped = bound.prepare(events)
        report_dropped(dropped)
        self.schema: pa.Schema = bound.schema.with_metadata(dropped.metadata)
        self.trends: int | None = None
        if bound.shows_trends:
            written = bound.trends(rows)
            self.trends = written.trends
            self._batches: Iterator[pa.RecordBatch] = written.batches()
        else:
            self._batches = iter(bound.compute(rows).to_batches())

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


def result_columns(plan: Plan, events: Any, time: str, type_: str | None, numbers: Numbers) -> pa.Schema:
    """The columns of the result for events with this schema."""
    check_numbers(numbers)
    schema = arrow_schema(events)
    return bind(plan, schema, time, type_, numbers).schema


def check_numbers(numbers: str) -> None:
    if numbers not in NUMBERS:
        raise ValueError(f"numbers is one of {', '.join(NUMBERS)}, not {numbers}")
