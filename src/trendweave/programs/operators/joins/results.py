"""Rows of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.operator_plans import JoinPlan
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.programs.program import TRENDS
from trendweave.results.types import ResultColumn, column_type
from trendweave.rows.encoded import TIME
from trendweave.rows.ordering import take_rows


def result_columns(
    plan: JoinPlan, events: pa.Schema, time: str, columns: Mapping[str, Mapping[str, str]]
) -> tuple[ResultColumn, ...]:
    """The time, keys once, then all other columns of the left and of the right side.

    Args:
        plan: The join.
        events: The columns of events.
        time: The column that holds the time.
        columns: By side: the names of its columns, and the columns of events.
    """
    found = [(time, time), *((key, key) for key in plan.keys)]
    for side, own in columns.items():
        found += [(f"{side}_{name}", column) for name, column in own.items() if name not in plan.keys]
    return tuple(ResultColumn(name, column_type(events, (column,)), (column,)) for name, column in found)


def write_pairs(
    schema: pa.Schema,
    keys: Sequence[str],
    columns: Mapping[str, Mapping[str, str]],
    sides: tuple[OrderedSide, OrderedSide],
    ranks: tuple[np.ndarray, np.ndarray],
    counted: bool,
) -> list[pa.RecordBatch]:
    """Result rows of some pairs.

    Args:
        schema: The columns of the result.
        keys: The columns of keys.
        columns: By side: the names of its columns, and those of prepared rows.
        sides: The left and the right events.
        ranks: The left and the right ranks of pairs.
        counted: With a last column that says that each row is one.
    """
    taken: dict[str, pa.ChunkedArray] = {}
    times = []
    for (side, own), rows, places in zip(columns.items(), sides, ranks, strict=True):
        times.append(take_rows(rows.table.column(TIME), places))
        for name, column in own.items():
            shown = name if name in keys else f"{side}_{name}"
            if shown not in taken:
                taken[shown] = times[-1] if column == TIME else take_rows(rows.table.column(column), places)
    is_left = pa.array(sides[0].steps[ranks[0]] >= sides[1].steps[ranks[1]])
    taken[schema.names[0]] = pc.if_else(is_left, *times)
    arrays = [taken[field.name].cast(field.type) for field in schema]
    table = pa.table(arrays, schema)
    if counted:
        table = table.append_column(TRENDS, pa.array(np.ones(table.num_rows)))
    return table.to_batches()
