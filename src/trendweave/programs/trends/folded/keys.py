"""The keys of a stream, numbered as they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from trendweave.rows.codes import key_codes

#: Stands for the columns of keys where a query has none.
_EVERYTHING = "everything"


def select_keys(rows: pa.Table, names: Sequence[str], chosen: np.ndarray) -> pa.Table:
    """The keys of some rows.

    Args:
        rows: Prepared rows.
        names: The columns of keys.
        chosen: The numbers of the rows.

    Returns:
        The columns of keys, with one column that is always the same where there are none.
    """
    if not names:
        return pa.table({_EVERYTHING: pa.array(np.zeros(chosen.size, np.int8))})
    return rows.select(list(names)).take(pa.array(chosen))


def number_keys(known: pa.Table | None, found: pa.Table) -> tuple[np.ndarray, pa.Table]:
    """Number keys, each as it was numbered before.

    Keys are told apart as partitions are: NULL is a value of its own, NaN equals itself, and -0.0 equals 0.0.

    Args:
        known: The keys so far; their numbers are their places.
        found: Keys, each of them once.

    Returns:
        The number of each key that was found; and all keys, the very same table where none is new.
    """
    if known is None:
        return np.arange(found.num_rows), found.combine_chunks()
    columns = [
        pa.chunked_array([*column.chunks, *found.column(name).cast(column.type).chunks], column.type)
        for name, column in zip(known.column_names, known.columns, strict=True)
    ]
    codes = key_codes(columns, known.num_rows + found.num_rows)
    place = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
    place[codes[: known.num_rows]] = np.arange(known.num_rows)
    numbers = place[codes[known.num_rows :]]
    new = numbers < 0
    if not new.any():
        return numbers, known
    numbers[new] = known.num_rows + np.arange(int(new.sum()))
    added = found.filter(pa.array(new)).cast(known.schema)
    return numbers, pa.concat_tables([known, added]).combine_chunks()
