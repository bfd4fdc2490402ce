"""Prepared rows in the types that Arrow would have given them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from trendweave.rows.encoded import TIME


def adopt_rows(rows: pa.Table, moment: pa.DataType, words: Sequence[str]) -> pa.Table:
    """Rows that another engine has prepared, in the types that Arrow would have given them.

    Args:
        rows: Prepared rows.
        moment: The type of their times, where they have one.
        words: The names of the columns that hold flags.
    """
    for place, field in enumerate(rows.schema):
        wanted = moment if field.name == TIME else pa.int64() if field.name in words else field.type
        if field.type != wanted:
            rows = rows.set_column(place, field.name, rows.column(place).cast(wanted))
    return rows
