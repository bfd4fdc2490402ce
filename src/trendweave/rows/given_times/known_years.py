"""Times of the years 1 to 9999: others fit no datetime of Python, and Arrow writes wrong years of them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.errors import DataError, Problem
from trendweave.rows.given_times.far_future import count_in, describe_place, suggest_unit
from trendweave.rows.given_times.units import PER_SECOND, TimeUnit

#: The first second of the year 1, and that of the year 10000.
_FIRST, _END = -62_135_596_800, 253_402_300_800


def check_years(column: pa.ChunkedArray, name: str, unit: TimeUnit) -> None:
    """Refuse times that numbers put into a year that is not written.

    Args:
        column: Times as timestamps.
        name: The name of the column that they come from.
        unit: What its numbers are said to count.

    Raises:
        DataError: A time lies in another year.
    """
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    for step in (ends["max"], ends["min"]):
        if step is not None:
            check_year(step, column.type.unit, name, unit)


def check_year(step: int, counted: str, name: str, unit: TimeUnit) -> None:
    """The same for one time.

    Args:
        step: It, in steps since 1970.
        counted: The unit of these steps.
        name: The name of the column that it comes from.
        unit: What numbers of the column are said to count.

    Raises:
        DataError: It lies in another year.
    """
    second = step // PER_SECOND[counted]
    if _FIRST <= second < _END:
        return
    time = count_in(step, counted, unit)
    place = "the year 9999" if second >= _END else "the year 1"
    message = f"{describe_place(name, time, unit, 'beyond' if second >= _END else 'before')} {place}"
    raise DataError([Problem("TW310", message, suggest_unit(time, unit))])
