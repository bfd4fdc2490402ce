"""Run in a fresh process: warm up what situations and stores need, ask for both, print what was loaded only then.

One line per kernel, with the types of its arguments.
"""

import importlib
import pkgutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import trendweave
import trendweave.kernels.intervals
import trendweave.store.kernels
from trendweave.kernel_cache.kernel import Kernel, always_compile
from trendweave.runners.small_queries import run_interval_queries, run_situated_queries
from trendweave.store.warm_up import warm_up_stores

ROWS = 60
SITUATIONS = "FROM A PARTITION BY k DEFINE F AS x > 3 AT LEAST 2 seconds, G AS f > 0.5"
WINDOW = "WITHIN 1 minute SLIDE 1 minute"
QUERIES = (
    f"DEFINE F AS x > 3 RETURN COUNT(*) PATTERN A+ WHERE A DURING F {WINDOW}",
    f"DEFINE F AS f > 0.3 AT LEAST 2 seconds RETURN COUNT(*) PATTERN A+ WHERE [k] AND A DURING F {WINDOW}",
    "FROM A DEFINE F AS x > 3, G AS f > 0.5 PATTERN F during G WITHIN 1 hour",
    f"{SITUATIONS} PATTERN F overlaps; during G WITHIN 1 hour RETURN k, AVG(F.x) AS m",
    f"{SITUATIONS} RETURN SITUATIONS",
)


def signatures() -> Iterator[str]:
    """All that is loaded or compiled by now of the kernels of situations and stores."""
    of_stores = pkgutil.walk_packages(trendweave.store.kernels.__path__, f"{trendweave.store.kernels.__name__}.")
    for name in (trendweave.kernels.intervals.__name__, *(module.name for module in of_stores)):
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, Kernel):
                yield from (f"{name}.{value.__name__}{found}" for found in value.compiled.signatures)


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
    with always_compile():
        run_interval_queries()
        run_situated_queries()
        warm_up_stores()
        before = set(signatures())
        numbers = np.arange(ROWS)
        columns = {
            "type": ["A", "B", "A"] * (ROWS // 3),
            "k": numbers % 4,
            "x": numbers * 7 % 9,
            "f": numbers * 7 % 9 / 9,
        }
        events = pa.table({"time": numbers, **columns})
        ask(events)
        ask(pa.table({"time": pa.array(numbers * 1_000_000, pa.timestamp("us")), **columns}))
        keep(events)
        for new in sorted(set(signatures()) - before):
            print(new)
