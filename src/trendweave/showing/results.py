"""The rows of a result that are drawn, which of their columns, and which tell lines apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave import places
from trendweave.errors import OptionError, Problem, near_names
from trendweave.pictures.kinds import find_numbers, find_others, is_number
from trendweave.planning import Plan, SituatedPlan
from trendweave.queries import Query
from trendweave.rows.tables import are_logarithms, as_arrow

#: Rows of a Spark DataFrame that are fetched, at most.
MOST_ROWS = 10_000
#: Columns that say when a row of a result is: of windows, of matches and moving windows, of situations.
_MOMENTS = ("window_start", "time", "start")
#: An exact number as text.
_WRITTEN = r"^-?\d+(\.\d+)?$"


@dataclass(frozen=True, slots=True)
class Fetched:
    """Rows at hand, whether they are all that the table has, and whether it says that counts are logarithms."""

    rows: pa.Table
    whole: bool
    logarithms: bool = False


def fetch(table: Any, moments: Sequence[str] = _MOMENTS) -> Fetched:
    """Fetch rows of a table of any kind; what was fetched before is given back as it is.

    Args:
        table: The table; of a Spark DataFrame the earliest rows are fetched.
        moments: Columns that may say when a row is; the first that is there counts.

    Raises:
        OptionError: It is a stream.
        DataError: It is not a table.
    """
    if isinstance(table, Fetched):
        return table
    if not places.is_spark(table):
        return Fetched(as_arrow(table)[0], True, are_logarithms(table))
    if table.isStreaming:
        message = "a stream has no rows to draw before it runs"
        raise OptionError([Problem("TW414", message, "write it to a table or a file, and draw that")])
    from trendweave.runners.spark.versions import collect_arrow

    # A shuffle leaves rows in no order: any 10,000 of them would have gaps where there are none.
    moment = next((name for name in moments if name in table.columns), None)
    ordered = table if moment is None else table.orderBy(f"`{moment.replace('`', '``')}`")
    rows = collect_arrow(ordered.limit(MOST_ROWS + 1))
    return Fetched(rows.slice(0, MOST_ROWS), rows.num_rows <= MOST_ROWS)


def find_text_counts(rows: pa.Table, query: Query | None) -> list[str]:
    """The columns of a query of windows that are exact numbers as text.

    Args:
        rows: Rows of a result.
        query: Its query; without it texts are texts.
    """
    if query is None or query.lists_trends or query.kind == "intervals":
        return []
    shown = rows.column_names[max(rows.num_columns - query.value_count, 0) :]
    texts = [name for name in shown if pa.types.is_string(rows.schema.field(name).type)]
    return [name for name in texts if pc.all(pc.match_substring_regex(rows.column(name), r"^-?\d+$")).as_py()]


def choose_columns(
    rows: pa.Table, query: Query | None, value: str | None, group: str | tuple[str, ...] | None, counts: list[str]
) -> tuple[str, tuple[str, ...]]:
    """The column that is drawn, and those that tell lines apart.

    Args:
        rows: Rows of a result.
        query: Its query, which tells them apart; without it columns are taken for what they look like.
        value: The column that was asked for.
        group: The columns that were asked for.
        counts: Columns of text that hold numbers.

    Raises:
        OptionError: A column that was asked for is not there, or holds no numbers.
    """
    schema = rows.schema
    numbers, others = [*find_numbers(schema), *counts], find_others(schema)
    if query is not None and query.value_count <= len(schema.names):
        first = len(schema.names) - query.value_count
        numbers = [name for name in schema.names[first:] if name in numbers] or numbers
        moments = ("window_start", "window_end", "time")
        others = [name for name in schema.names[:first] if name not in moments]
    if value is None:
        # What is returned stands behind what tells rows apart.
        value = "count" if "count" in numbers and query is None else numbers[0 if query is not None else -1]
    groups = tuple(others) if group is None else (group,) if isinstance(group, str) else tuple(group)
    for name in (value, *groups):
        if name not in schema.names:
            hint = near_names(name, schema.names) or f"it has {', '.join(schema.names)}"
            raise OptionError([Problem("TW408", f"the result has no column {name}", hint)])
    if not _holds_numbers(rows.column(value)):
        message = f"{value} is not numeric, but {schema.field(value).type}"
        raise OptionError([Problem("TW408", message, f"choose one that does: value={numbers[0]!r}")])
    return value, tuple(name for name in groups if name != value)


def holds_logarithms(rows: pa.Table, query: Query | None, value: str, told: bool | None) -> bool:
    """Whether a column holds logarithms of counts, as `numbers="log2"` gives them.

    Args:
        rows: Rows of a result.
        query: Its query, which tells what is a count; without it all floats may be.
        value: The column.
        told: Whether counts are said to be logarithms; None where nothing is known.
    """
    column = rows.column(value)
    if told is False or not pa.types.is_floating(column.type):
        return False
    plan = None if query is None else query.plan.trend if isinstance(query.plan, SituatedPlan) else query.plan
    if isinstance(plan, Plan) and value not in [one.name for one in plan.aggregates if one.function == "COUNT"]:
        return False
    if told or plan is None:
        return bool(told)
    # Counts are whole, and not below 0.
    known = pc.drop_null(column)
    return pc.any(pc.or_(pc.not_equal(pc.floor(known), known), pc.less(known, 0)), min_count=0).as_py()


def _holds_numbers(column: pa.ChunkedArray) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        written = pc.match_substring_regex(column.cast(kind), _WRITTEN)
        return pc.all(written, min_count=0).as_py()
    return is_number(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind)
