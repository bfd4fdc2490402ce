"""Times of rows that Spark gave: it looks at none before it runs, so that its rows tell of times in the wrong unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.rows.given_times.far_future import warn_of_far_future
from trendweave.rows.given_times.known_years import check_years


def check_result_times(rows: pa.Table, time: str, options: Mapping[str, Any]) -> None:
    """Warn of times beyond the year 2200, and refuse those that are not written as dates.

    Args:
        rows: The result.
        time: The name of the time column of the events.
        options: Those of the run; without a `time_unit`, times that are numbers are seconds.

    Raises:
        DataError: A time is none of the years 1 to 9999.
    """
    unit = options.get("time_unit")
    if unit is None:
        numbers = _find_numbers(rows, time)
        if numbers is not None:
            warn_of_far_future(numbers, time)
        return
    moments = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
    for name in moments:
        check_years(rows.column(name), time, unit)
    if moments:
        warn_of_far_future(rows.column(moments[0]), time, unit)


def _find_numbers(rows: pa.Table, time: str) -> pa.ChunkedArray | None:
    """The first column that holds times, which may be numbers; other numbers of a result are no times."""
    names = rows.column_names
    of_situations = ("start",) if {"name", "start", "end"} <= set(names) else ()
    for name in ("window_start", "time", *of_situations, time):
        if name in names and rows.column(name).null_count < rows.num_rows:
            return rows.column(name)
    # Trends of one window over the whole input have the times of their events alone.
    if "events" not in names or not pa.types.is_list(rows.schema.field("events").type):
        return None
    listed = pc.list_flatten(rows.column("events"))
    if not pa.types.is_struct(listed.type) or listed.type.get_field_index("time") < 0:
        return None
    return pc.struct_field(listed, "time")
