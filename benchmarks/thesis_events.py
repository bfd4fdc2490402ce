"""The events and queries of the thesis' evaluation (Section 4.4): six floats of 32 bits, uniform between 0 and 1."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa

import trendweave

#: The six dimensions of an event.
DIMENSIONS = ("a1", "a2", "a3", "a4", "a5", "a6")


def make_events(count: int, dimensions: tuple[str, ...] = DIMENSIONS, seed: int = 1) -> pa.Table:
    """So many events, one per second."""
    random = np.random.default_rng(seed)
    payload = {name: random.random(count, dtype=np.float32) for name in dimensions}
    return pa.table({"time": np.arange(count), **payload})


def distance() -> str:
    """The distance from the origin."""
    return f"sqrt({' + '.join(f'{name} * {name}' for name in DIMENSIONS)})"


def far_threshold(selectivity: float) -> float:
    """The distance beyond which this part of all events lies."""
    if selectivity >= 1:
        return -1.0
    random = np.random.default_rng(2)
    squares = (random.random((1_000_000, len(DIMENSIONS)), dtype=np.float32) ** 2).sum(axis=1)
    return float(np.sqrt(np.quantile(squares.astype(np.float64), 1 - selectivity)))


def sequence(symbols: int, delta: float, window: int, strategy: str) -> trendweave.Query:
    """SEQ(A, B, ...) in which each event is near the one before."""
    names = "ABCDEFGH"[:symbols]
    pattern = ", ".join(f"E {name}" for name in names)
    near = " AND ".join(f"abs({later}.a1 - {earlier}.a1) <= {delta:.9f}" for earlier, later in pairwise(names))
    return trendweave.query(
        f"RETURN EACH FIRST(A.time) AS first, LAST({names[-1]}.time) AS last PATTERN SEQ({pattern}) WHERE {near} "
        f"WITHIN {window} seconds SEMANTICS {strategy}"
    )


def repeated(delta: float, last_delta: float, window: int) -> trendweave.Query:
    """A B+ C by skip-till-next-match, each event near the one before."""
    return trendweave.query(
        "RETURN EACH FIRST(A.time) AS first, COUNT(B) AS repeated, LAST(C.time) AS last "
        f"PATTERN SEQ(E A, E B+, E C) WHERE abs(PREV(A).a1 - B.a1) <= {delta:.9f} "
        f"AND abs(B.a1 - NEXT(B).a1) <= {delta:.9f} AND abs(B.a1 - C.a1) <= {last_delta:.9f} "
        f"WITHIN {window} seconds SEMANTICS skip-till-next-match"
    )
