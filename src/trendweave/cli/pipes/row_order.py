"""Rows that Spark's tasks have computed side by side, in the order that one process gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from trendweave import Query
from trendweave.cli.answers import describe_answers
from trendweave.operators import Operator
from trendweave.runners.threads.putting_together import arranging

if TYPE_CHECKING:
    from trendweave.programs.operators.stages import Stage


def order_rows(rows: pa.Table, operators: Sequence[Operator], stages: Sequence[Stage], time: str) -> pa.Table:
    """Rows of the last operator as it promises them.

    Args:
        rows: All of them; those that one task has made are in order.
        operators: The operators of the chain.
        stages: The same, bound to columns.
        time: The column that holds the time.
    """
    behind = len(stages)
    while behind > 1 and stages[behind - 1].is_filter:
        behind -= 1
    last = [stages[behind - 1], *stages[-1:]] if behind < len(stages) else [stages[-1]]
    task = operators[behind - 1].task
    if isinstance(task, Query):
        rows = describe_answers(task, rows, time, None).sort(rows)
        last = last[1:]
    for stage in last:
        arrange = arranging(stage.program, by_time=False)
        rows = rows if arrange is None else arrange(rows)
    return rows
