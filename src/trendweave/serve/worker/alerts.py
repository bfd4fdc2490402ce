"""Which rows of a stream are alerts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from trendweave import Query, Workload
from trendweave.serve.asking import Alert
from trendweave.serve.folders import Refused
from trendweave.serve.worker.cells import kind_of

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
}


def check_alert(alert: Alert, schema: pa.Schema) -> None:
    """An alert compares a column of numbers.

    Raises:
        Refused: Rows have no such column, or it holds something else.
    """
    if alert.column not in schema.names:
        raise Refused(f"rows have no column {alert.column}; they have {', '.join(schema.names)}")
    type_ = schema.field(alert.column).type
    if kind_of(type_) != "number":
        raise Refused(f"an alert compares numbers, and {alert.column} is {type_}")


def find_alerts(queries: Query | Workload, alert: Alert | None) -> Callable[[dict[str, Any]], bool]:
    """Which rows are told as alerts: those that compare so, or, where nothing was said, those that are matches."""
    if alert is not None:
        compare, column, value = _COMPARE[alert.comparison], alert.column, alert.value

        def compares(row: dict[str, Any]) -> bool:
            # As they are: large counts would lose digits as floats.
            return row[column] is not None and compare(row[column], value)

        return compares
    if isinstance(queries, Query):
        is_match = _shows_matches(queries)
        return lambda row: is_match
    matches = {name for name in queries if _shows_matches(queries[name])}
    return lambda row: row["query"] in matches


def _shows_matches(query: Query) -> bool:
    """Whether rows are single matches, and no numbers over many."""
    returns = getattr(query.plan, "returns", None) or getattr(getattr(query.plan, "trend", None), "returns", None)
    return returns not in ("aggregates", "counts", None)
