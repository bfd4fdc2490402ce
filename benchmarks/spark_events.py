"""Events for the benchmarks on Spark, in Parquet files as a log would leave them: ordered by time, a few files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trendweave.datasets.event_table import START, name_codes, random_source

FILES = 4
MINUTE = 60


def sequences(events: int, keys: int, seconds: int, visit: int | None = None, hot: float = 0.0) -> pa.Table:
    """Events of types A and B, half each, at random times within `seconds`, all keys with equally many events.

    `visit` is how long a key is seen, in seconds. The fraction `hot` of all events has key 0 instead of its own. `note`
    and `amount` are columns that no query reads.
    """
    random = random_source(1)
    key = np.arange(events) % keys
    seen = seconds if visit is None else visit
    begins = random.integers(0, max(1, (seconds - seen) * 1_000_000), keys)
    micros = begins[key] + random.integers(0, seen * 1_000_000, events)
    order = np.argsort(micros, kind="stable")
    key, micros = key[order], micros[order]
    key[random.random(events) < hot] = 0
    return pa.table(
        {
            "time": pa.array(micros + START.astype(np.int64)).view(pa.timestamp("us", tz="UTC")),
            "type": name_codes(random.integers(0, 2, events), ("A", "B")),
            "key": key,
            "amount": random.random(events),
            "note": name_codes(random.integers(0, 3, events), ("first of three", "second of three", "third of three")),
        }
    )


def drifting(events: int) -> pa.Table:
    """One event a second whose price rises by 3, give or take 8: it falls over a few events only, so counts are
    small."""
    noise = random_source(1).integers(-8, 8, events, endpoint=True)
    seconds = np.arange(events, dtype=np.int64)
    return pa.table(
        {
            "time": pa.array(seconds * 1_000_000 + START.astype(np.int64)).view(pa.timestamp("us", tz="UTC")),
            "type": name_codes(np.zeros(events, np.int8), ("Stock",)),
            "price": seconds * 3 + noise,
            "volume": random_source(2).integers(1, 100, events, endpoint=True),
        }
    )


def write(table: pa.Table, folder: Path) -> str:
    """The folder, with the table cut into files one after the other in time."""
    folder.mkdir(parents=True)
    rows = -(-table.num_rows // FILES)
    for number in range(FILES):
        pq.write_table(table.slice(number * rows, rows), folder / f"part-{number}.parquet")
    return str(folder)
