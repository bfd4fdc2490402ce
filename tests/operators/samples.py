"""Events for tests of chains: ties, NULLs, NaN, several keys, rows without a time, times before 1970."""

from __future__ import annotations

import random

import pyarrow as pa

#: Chains of every kind of operator, by name.
CHAINS = {
    "filter": "FILTER heat > 2 AND machine != 'c'",
    "windows of rows": "FILTER heat > 1 | AGGREGATE AVG(heat) AS mean, COUNT(*), MAX(n) AS n OVER 3 ROWS SLIDE 2 ROWS "
    "BY machine",
    "windows of time": "AGGREGATE SUM(n) AS total, MIN(machine) AS least OVER 10 seconds SLIDE 5 seconds BY machine",
    "two windows": "AGGREGATE SUM(heat) AS total, COUNT(*) OVER 4 ROWS SLIDE 1 ROW BY machine, room | FILTER total > 3 "
    "| AGGREGATE MAX(total) AS most, COUNT(*) OVER 20 seconds BY machine",
    "join": "FILTER heat > 1 | JOIN ABS(left.heat - right.heat) < 1.5 AND left.n < right.n LEFT 5 ROWS "
    "RIGHT 10 seconds BY machine, room | AGGREGATE COUNT(*) AS pairs, MAX(left_n) AS n OVER 20 seconds BY machine",
    "windows and a match": "FILTER heat > 0 | AGGREGATE AVG(heat) AS mean OVER 2 ROWS BY machine | MATCH RETURN "
    "machine, COUNT(*) AS rises, MAX(S.time) AS time PATTERN S{2,3} WHERE [machine] AND S.mean < NEXT(S).mean GROUP-BY "
    "machine WITHIN 30 seconds SLIDE 10 seconds | AGGREGATE SUM(rises) AS rises OVER 1 minute BY machine",
    "lists of a match": "MATCH RETURN EACH S[2].time AS time, COLLECT_LIST(S.heat) AS heats, MEDIAN(S.n) AS middle "
    "PATTERN S{2} WHERE [machine] SEMANTICS contiguous WITHIN 30 seconds SLIDE 10 seconds | FILTER middle > 1",
}


def make_events(rows: int = 300, seed: int = 5, moments: bool = False) -> pa.Table:
    """Events in any order."""
    draw = random.Random(seed)
    times = pa.array([None if draw.random() < 0.02 else draw.randrange(-60, 240) for _ in range(rows)], pa.int64())
    return pa.table(
        {
            "time": times.cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC")) if moments else times,
            "machine": pa.array([draw.choice(["a", "b", "c", None]) for _ in range(rows)]),
            "room": pa.array([draw.choice([1, 2]) for _ in range(rows)]),
            "heat": [draw.choice([0.5, 1.5, 2.5, 3.5, None, float("nan")]) for _ in range(rows)],
            "n": pa.array([draw.choice([1, 2, 3, None]) for _ in range(rows)], pa.int64()),
        }
    )
