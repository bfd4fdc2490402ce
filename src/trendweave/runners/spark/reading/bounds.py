"""What a file says about the columns of a row group, without reading it: least and greatest values, and how many are
NULL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.errors import DataError
from trendweave.runners.spark.reading.columns import convert


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of the values of some columns; a column that is not known may hold anything.

    Attributes:
        rows: How many rows there are.
        low: One row with a value per column that no value is below.
        high: The same with values that none is above. NaN is above all numbers.
        nulls: How many values are NULL, of columns of which that is known.
    """

    rows: int
    low: pa.Table = field(default_factory=lambda: pa.table({}))
    high: pa.Table = field(default_factory=lambda: pa.table({}))
    nulls: Mapping[str, int] = field(default_factory=dict)

    def knows(self, column: str) -> bool:
        """Whether values of a column have bounds."""
        return column in self.low.column_names

    def is_all_null(self, column: str) -> bool:
        """Whether no row has a value."""
        return self.nulls.get(column) == self.rows

    def may_be_null(self, column: str) -> bool:
        """Whether some row may have no value."""
        return self.nulls.get(column) != 0

    def is_inside(self, column: str, value: object) -> bool:
        """Whether some row may have this value, which is of the kind of the column."""
        if self.is_all_null(column):
            return False
        if not self.knows(column):
            return True
        low, high = (table.column(column)[0].as_py() for table in (self.low, self.high))
        return bool(low <= value <= high)


def find_bounds(group: pq.RowGroupMetaData, places: Mapping[str, int], stored: pa.Schema, columns: pa.Schema) -> Bounds:
    """The bounds of columns that are no structs or lists.

    Args:
        group: What the file says about a row group.
        places: Columns that the file has, with their numbers in it.
        stored: The same columns in the types that Arrow reads them in.
        columns: The columns in the types of the events.
    """
    low, high, nulls = {}, {}, {}
    for name, place in places.items():
        found = group.column(place).statistics
        if found is None:
            continue
        if found.has_null_count:
            nulls[name] = found.null_count
        if not found.has_min_max:
            continue
        try:
            given, wanted = stored.field(name).type, columns.field(name).type
            pair = convert(pa.array([found.min, found.max], given), wanted, name)
        except (pa.ArrowException, DataError, ValueError, TypeError, OverflowError):
            continue  # a bound that cannot be read is none
        if pair.null_count:
            continue
        low[name], high[name] = pair.slice(0, 1), pair.slice(1, 1)
        if pa.types.is_floating(wanted):
            # NaN is left out of statistics, and it is above all.
            high[name] = pa.array([float("nan")], wanted)
    return Bounds(group.num_rows, pa.table(low), pa.table(high), nulls)
