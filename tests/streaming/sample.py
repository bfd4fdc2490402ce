"""A made-up stream in batches of ten seconds, shuffled inside each, and what one batch over all of it gives."""

from __future__ import annotations

import pyarrow as pa

import trendweave
from tests.runners.reference_tables import table_of
from tests.streaming.test_state_against_reference import END

COLUMNS = "time long, type string, x long, y double, s string, k long, g string"
#: Groups of several keys, so that what the buckets of keys give has to be merged.
QUERY = "RETURN g, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x GROUP-BY g "
SLIDING = QUERY + "WITHIN 20 seconds SLIDE 10 seconds"
#: Nothing is asked of two neighbours, so that events are folded into numbers.
FOLDED = SLIDING.replace(" AND A.x < NEXT(A).x", "")
BATCH = 10


def batches(count: int, first: int = 0) -> list[pa.Table]:
    """Batch number i holds the seconds from 1000 + 10 i on."""
    return [_batch(1_000 + BATCH * number) for number in range(first, first + count)]


def _batch(start: int) -> pa.Table:
    events = [
        {
            "time": second,
            "type": "AAB"[(second + one) % 3],
            "x": (second * 7 + one * 5) % 11,
            "y": second / 4,
            "s": f"event {one} of {second}",
            "k": (second + one * 2) % 7,
            "g": "odd" if (second + one * 2) % 7 % 2 else "even",
        }
        for second in range(start, start + BATCH)
        for one in range(4)
    ]
    return table_of(sorted(events, key=lambda event: (event["x"], event["time"])))


def end() -> pa.Table:
    """Something that no query reads, so late that all windows close."""
    return table_of([END])


def expected(query: str, tables: list[pa.Table]) -> pa.Table:
    return trendweave.query(query).run(pa.concat_tables(tables), type="type")
