"""How many rows of a row group are dropped, and why: seen from its bounds, or from its times and types alone.

Row groups that no query needs are counted as well, as those of a DataFrame are.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from trendweave.programs.program import Needs
from trendweave.rows.dropped import Dropped
from trendweave.rows.times import has_time
from trendweave.runners.spark.reading.bounds import Bounds


def count_by_bounds(needs: Needs, bounds: Bounds) -> Dropped | None:
    """The counts of rows that nobody has read; None where bounds do not tell them.

    Args:
        needs: What is dropped.
        bounds: What is known of the rows.
    """
    no_time = _count_without_time(needs, bounds)
    if no_time is None or needs.type is None:
        return None if no_time is None else Dropped(bounds.rows, no_time)
    no_type = bounds.nulls.get(needs.type)
    if no_type is None or (no_type and no_time and bounds.rows not in (no_type, no_time)):
        return None  # some rows may have neither
    without = min(no_type, bounds.rows - no_time)
    rest = bounds.rows - no_time - without
    if needs.named_types is None:
        return Dropped(bounds.rows, no_time, without, 0)
    if not rest or not any(bounds.is_inside(needs.type, name) for name in needs.named_types):
        return Dropped(bounds.rows, no_time, without, rest)
    if any(_is_all(bounds, needs.type, name) for name in needs.named_types):
        return Dropped(bounds.rows, no_time, without, 0)
    return None


def _count_without_time(needs: Needs, bounds: Bounds) -> int | None:
    if needs.time is None:
        return 0
    if bounds.is_all_null(needs.time):
        return bounds.rows
    # Statistics tell of NULL, not of NaN and infinities, which are no times either.
    is_float = bounds.knows(needs.time) and pa.types.is_floating(bounds.low.schema.field(needs.time).type)
    return None if is_float or not bounds.knows(needs.time) else bounds.nulls.get(needs.time)


def _is_all(bounds: Bounds, column: str, value: str) -> bool:
    return bounds.knows(column) and all(table.column(column)[0].as_py() == value for table in (bounds.low, bounds.high))


def count_rows(needs: Needs, rows: pa.Table) -> Dropped:
    """The counts of rows of which times and types were read, as `runners/spark/metrics.py` makes them.

    Args:
        needs: What is dropped.
        rows: Rows with at least these columns.
    """
    known = pa.chunked_array([pa.repeat(True, rows.num_rows)])
    if needs.time is not None:
        known = has_time(rows.column(needs.time))
    no_time = rows.num_rows - _count(known)
    if needs.type is None:
        return Dropped(rows.num_rows, no_time)
    types = rows.column(needs.type)
    typed = pc.and_(known, pc.is_valid(types))
    no_type = _count(known) - _count(typed)
    if needs.named_types is None:
        return Dropped(rows.num_rows, no_time, no_type)
    named = pc.is_in(types.cast(pa.string()), value_set=pa.array(sorted(needs.named_types), pa.string()))
    return Dropped(rows.num_rows, no_time, no_type, _count(pc.and_not(typed, named)))


def _count(mask: pa.ChunkedArray) -> int:
    return pc.sum(mask).as_py() or 0
