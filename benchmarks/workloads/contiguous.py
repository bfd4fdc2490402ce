"""V shapes in prices: contiguous matches listed, counted, and taken one after the other."""

from __future__ import annotations

from time import process_time

import numpy as np

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import rate
from benchmarks.timing import interleaved
from trendweave import datasets, query

EVENTS, COMPANIES = 10_000_000, 1_000
MANY = 10**9
V_SHAPE = (
    "PATTERN SEQ(Stock A, Stock B+, Stock C+) SEMANTICS contiguous WHERE [company] "
    "AND A.price > B.price AND B.price > NEXT(B).price AND B.price < C.price AND C.price < NEXT(C).price"
)
EACH = (
    "RETURN EACH FIRST(A.price) AS top, LAST(B.price) AS bottom, LAST(C.price) AS recovered, COUNT(B) AS falls "
    f"{V_SHAPE}"
)


def count_v_shapes(prices: np.ndarray) -> int:
    """Trends and nothing else: at each low, a beginning per fall before it and an end per rise after it. `prices` has
    a column per company."""
    step = np.diff(prices, axis=0)
    falls, rises = np.zeros_like(prices, np.int64), np.zeros_like(prices, np.int64)
    for row in range(1, len(prices)):
        falls[row] = np.where(step[row - 1] < 0, falls[row - 1] + 1, 0)
    for row in range(len(prices) - 2, -1, -1):
        rises[row] = np.where(step[row] > 0, rises[row + 1] + 1, 0)
    return int((falls * rises).sum())


@workload("contiguous")
def contiguous(repeat: int) -> list[ResultRow]:
    """V shapes among ten million prices of a thousand companies: EACH, COUNT(*), and one after the other."""
    events = datasets.stock(EVENTS, 1, COMPANIES)
    each, counting = query(EACH), query(f"RETURN COUNT(*) {V_SHAPE}")
    taking = query(f"{EACH} AFTER MATCH SKIP PAST LAST EVENT")
    shapes = count_v_shapes(events.column("price").to_numpy().reshape(-1, COMPANIES))
    assert each.run(events, max_trends=MANY).num_rows == shapes
    assert counting.run(events).column("count").to_pylist() == [shapes]
    taken = taking.run(events, max_trends=MANY).num_rows
    assert 0 < taken < shapes
    seconds = interleaved(
        {
            "each": lambda: each.run(events, max_trends=MANY),
            "count": lambda: counting.run(events),
            "past last": lambda: taking.run(events, max_trends=MANY),
        },
        repeat,
        process_time,
    )
    name, keys = "contiguous V shapes", f"{COMPANIES:,} keys"
    return [
        rate(f"{name}, EACH", EVENTS, seconds["each"], 5, f"{shapes:,} rows, {keys}"),
        rate(f"{name}, COUNT(*)", EVENTS, seconds["count"], 5, keys),
        rate(f"{name}, SKIP PAST LAST EVENT", EVENTS, seconds["past last"], 5, f"{taken:,} rows, {keys}"),
    ]
