"""Conditions on an earlier event that is no neighbour: what the condition adds to the same query without it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most
from benchmarks.timing import interleaved
from trendweave import query, warm_up

EVENTS = 100_000
BETWEEN = 40
QUERY = "RETURN COUNT(*) PATTERN SEQ(A, B*, C)"
CONDITION = " WHERE C.x >= A.x + 5"


def warming(anchors: int) -> pa.Table:
    """So many a's of different values, a few b's, and c's, in any order, one a second."""
    random = np.random.default_rng(anchors)
    kinds = np.repeat(["A", "B", "C"], [anchors, BETWEEN, EVENTS - anchors - BETWEEN])
    random.shuffle(kinds)
    values = random.permutation(10 * EVENTS)[:EVENTS]
    return pa.table({"time": np.arange(EVENTS), "type": kinds, "x": values})


@workload("earlier-event")
def earlier_event(repeat: int) -> list[ResultRow]:
    """SEQ(A, B*, C) with C.x >= A.x + 5, one window of 100k events, by the number of different a's."""
    warm_up()
    rows = []
    for anchors in (100, 1_000, 10_000):
        events = warming(anchors)
        runs = {text: partial(query(text).run, events) for text in (QUERY, QUERY + CONDITION)}
        seconds = interleaved(runs, repeat)
        without, with_condition = seconds[QUERY], seconds[QUERY + CONDITION]
        note = f"{EVENTS:,} events, {with_condition * 1e3:,.0f} ms and {without * 1e3:,.0f} ms"
        bar = 20 if anchors <= 1_000 else 200
        rows.append(
            at_most(
                f"a condition on the a, {anchors:,} values",
                "times the time without",
                with_condition / without,
                "x",
                bar,
                note,
            )
        )
    return rows
