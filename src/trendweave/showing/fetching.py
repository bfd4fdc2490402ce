"""The rows that are drawn: all of a table at hand, the first ones of a Spark DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from trendweave import places
from trendweave.errors import OptionError, Problem
from trendweave.rows.table_kinds.logarithms import are_logarithms
from trendweave.rows.tables import as_arrow

#: Rows of a Spark DataFrame that are fetched, at most.
MOST_ROWS = 10_000
#: Columns that say when a row of a result is: of windows, of matches and moving windows, of situations.
_MOMENTS = ("window_start", "time", "start")


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
