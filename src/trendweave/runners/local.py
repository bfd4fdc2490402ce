"""The in-process runner: Arrow prepares the rows, one task computes them."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.errors import ExecutionError, Problem
from trendweave.kernels import CountTooLargeError
from trendweave.planning.plan import Plan
from trendweave.planning.preparation import prepare
from trendweave.runners.partition_task import PartitionTask, TaskOptions
from trendweave.runners.prepared_table import Dropped, prepared
from trendweave.runners.result_table import NUMBERS, Numbers, result_schema, result_table
from trendweave.runners.tables import as_arrow

if TYPE_CHECKING:
    from trendweave.queries import Query

_LOG = logging.getLogger("trendweave")


def run_local(query: Query, events: Any, time: str, type_: str | None, numbers: Numbers, way: str | None = None) -> Any:
    """The rows of an aggregate query, as the kind of table that the events came in."""
    if numbers not in NUMBERS:
        raise ValueError(f"numbers is one of {', '.join(NUMBERS)}, not {numbers}")
    if query.plan.returns != "aggregates":
        message = f"RETURN {query.plan.returns.upper()} cannot be run yet"
        raise ExecutionError([Problem("TW404", message, "return aggregates such as COUNT(*)")])
    table, give_back = as_arrow(events)
    query.check(table.schema, time, type_)
    return give_back(aggregate_table(query.plan, table, time, type_, numbers, way))


def aggregate_table(
    plan: Plan, events: pa.Table, time: str, type_: str | None, numbers: Numbers, way: str | None = None
) -> pa.Table:
    preparation = prepare(plan)
    rows, dropped = prepared(plan, preparation, events, time, type_)
    schema = result_schema(plan, events.schema, time, numbers)
    report(dropped)
    options = TaskOptions(exact=numbers != "float64", way=way)
    try:
        result = PartitionTask(plan, preparation, rows, options).run()
    except CountTooLargeError as error:
        raise ExecutionError(
            [Problem("TW403", str(error), 'ask for numbers="float64", or use smaller windows')]
        ) from error
    table = result_table(plan, result, schema, events.schema, numbers)
    return table.replace_schema_metadata({"trendweave.metrics": json.dumps(asdict(dropped))})


def report(dropped: Dropped) -> None:
    """A warning where rows were dropped; events of types that the pattern does not name are nothing to worry about."""
    if dropped.null_time or dropped.null_type:
        _LOG.warning(
            "dropped %d rows without a time and %d without a type, of %d",
            dropped.null_time,
            dropped.null_type,
            dropped.rows,
        )
