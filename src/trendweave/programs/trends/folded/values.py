"""Neighbours with equal values: all events of a trend have the same ones, so values are keys like others.

Only NULL is not: it equals nothing, so an event without a value follows none and is followed by none. Each time at
which there are such events gets a key of its own; events of one time do not follow each other anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.folding import plan_folding
from trendweave.planning.plan import KeyColumn, Summing, Way
from trendweave.planning.preparation import PreparedEdge
from trendweave.programs.trends.bound import BoundTrends
from trendweave.rows.encoded import TIME
from trendweave.rows.times import TimeType, as_steps

#: The time of an event without a value; NULL for others.
_UNKNOWN_AT = "unknown at"


def name_values(bound: BoundTrends) -> tuple[str, ...]:
    """The prepared columns that all events of a trend have in common, because every two neighbours do."""
    names = {expression: name for name, expression in bound.preparation.columns}
    return tuple(names[value] for value in plan_folding(bound.plan).values)


def key_by_values(bound: BoundTrends, values: Sequence[str]) -> BoundTrends:
    """The same query with values as keys, and nothing asked of neighbours."""
    if not values:
        return bound
    plan, preparation = bound.plan, bound.preparation
    names = (*(name for name in values if name not in preparation.partition_key), _UNKNOWN_AT)
    running = Summing(Way.RUNNING_SUMS, Way.RUNNING_SUMS, "values are keys")
    steps = tuple(replace(step, summing=running) for step in plan.template.transitions)
    return replace(
        bound,
        plan=replace(
            plan,
            templates=(replace(plan.template, transitions=steps),),
            edges=tuple(replace(edge, comparisons=()) for edge in plan.edges),
            partition_key=(*plan.partition_key, *(KeyColumn((name,), None, nullable=True) for name in names)),
        ),
        prepared=replace(
            preparation,
            edges=tuple(PreparedEdge((), edge.general) for edge in preparation.edges),
            partition_key=(*preparation.partition_key, *names),
        ),
    )


def keep_unknown_apart(rows: pa.Table, values: Sequence[str], kind: TimeType) -> pa.Table:
    """Prepared rows with a column that tells events without a value apart by their times."""
    unknown = np.zeros(rows.num_rows, np.bool_)
    for name in values:
        unknown |= np.asarray(pc.is_null(rows.column(name)))
    steps = as_steps(rows.column(TIME), kind)
    return rows.append_column(_UNKNOWN_AT, pa.array(steps, pa.int64(), mask=~unknown))
