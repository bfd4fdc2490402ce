"""Run in a fresh process: warm up, ask for what the warm-up does not, and print what was compiled only then.

One line per kernel that is the same for all queries, with the types of its arguments; loops that are written for a
query are its own.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import trendweave
from trendweave.kernel_cache.kernel import Kernel, always_compile

ROWS = 60
WINDOW = "WITHIN 1 minute SLIDE 1 minute"
SITUATIONS = "FROM A PARTITION BY k DEFINE F AS x > 3 AT LEAST 2 seconds, G AS f > 0.5"
QUERIES = (
    f"RETURN COUNT(*), AVG(A.f), MIN(B.x) PATTERN SEQ(A+, B) WHERE [k] AND A.x < NEXT(A).x {WINDOW}",
    "RETURN k, COUNT(*), SUM(A.x) PATTERN A+ WHERE [k] AND A.x != NEXT(A).x GROUP-BY k WITHIN 9 seconds SLIDE 1 second",
    "RETURN COUNT(*), MAX(c.f) PATTERN SEQ(A a, NOT B b, A c) WHERE a.x > c.x WITHIN 20 seconds SLIDE 10 seconds",
    f"RETURN COMPLETE TRENDS PATTERN A+ WHERE A.x <= NEXT(A).x {WINDOW}",
    "RETURN EACH COUNT(A), SUM(A.f) PATTERN SEQ(A+, B) WHERE A.x < NEXT(A).x AND A.x < B.x WITHIN 10 seconds",
    f"DEFINE F AS x > 3 RETURN COUNT(*) PATTERN A+ WHERE A DURING F {WINDOW}",
    f"DEFINE F AS f > 0.3 AT LEAST 2 seconds RETURN COUNT(*) PATTERN A+ WHERE [k] AND A DURING F {WINDOW}",
    "FROM A DEFINE F AS x > 3, G AS f > 0.5 PATTERN F during G WITHIN 1 hour",
    f"{SITUATIONS} PATTERN F overlaps; during G WITHIN 1 hour RETURN k, AVG(F.x) AS m",
    f"{SITUATIONS} RETURN SITUATIONS",
)


def signatures() -> Iterator[str]:
    """All that was compiled by now of the kernels of modules."""
    for module in [module for name, module in sys.modules.items() if name.startswith("trendweave.")]:
        for value in vars(module).values():
            if isinstance(value, Kernel) and value.text is None and value.__module__ == module.__name__:
                yield from (f"{module.__name__}.{value.__name__}{found}" for found in value.compiled.stats.cache_misses)


def ask(events: pa.Table) -> None:
    for text in QUERIES:
        query = trendweave.query(text)
        query.run(events)
        session = query.push(events.schema)
        for start in range(0, ROWS, ROWS // 2):
            session.send_table(events.slice(start, ROWS // 2))
        session.finish()


def keep(events: pa.Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = trendweave.EventStore.create(str(Path(folder, "store")), events.schema, keys=["k"], index=["x", "f"])
        store.append(events)
        for slide in ("5 seconds", "4 seconds"):
            store.aggregate("COUNT(*), AVG(x) AS m, MAX(f) AS g", within="10 seconds", slide=slide, by="k")
        store.compact()


if __name__ == "__main__":
    trendweave.warm_up()
    before = set(signatures())
    numbers = np.arange(ROWS)
    columns = {
        "type": ["A", "B", "A"] * (ROWS // 3),
        "k": numbers % 4,
        "x": numbers * 7 % 9,
        "f": numbers * 7 % 9 / 9,
    }
    events = pa.table({"time": numbers, **columns})
    with always_compile():
        ask(events)
        ask(pa.table({"time": pa.array(numbers * 1_000_000, pa.timestamp("us")), **columns}))
        keep(events)
    for new in sorted(set(signatures()) - before):
        print(new)
