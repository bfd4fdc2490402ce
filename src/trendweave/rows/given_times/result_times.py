"""Times of rows that Spark gave: it looks at none before it runs, so that its rows tell of times in the wrong unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from trendweave.rows.given_times.far_future import warn_of_far_future
from trendweave.rows.given_times.known_years import check_years


def check_result_times(rows: pa.Table, time: str, options: Mapping[str, Any]) -> None:
    """Warn of times beyond the year 2200, and refuse those that are not written as dates.

    Args:
        rows: The result.
        time: The name of the time column of the events.
        options: Those of the run; without a `time_unit` there is nothing to look for.

    Raises:
        DataError: A time is none of the years 1 to 9999.
    """
    unit = options.get("time_unit")
    moments = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
    if unit is None or not moments:
        return
    for name in moments:
        check_years(rows.column(name), time, unit)
    warn_of_far_future(rows.column(moments[0]), time, unit)
