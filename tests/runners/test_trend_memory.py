"""`memory=` is a promise: a process of its own shows trends, and its peak grows by less than that."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys
import numpy as np, pyarrow as pa, trendweave
strategy, memory = sys.argv[1], sys.argv[2]
def table(layers):
    i = np.arange(3 * layers)
    return pa.table({"time": i // 3, "source": i // 3, "destination": i // 3 + 1})
query = trendweave.query("PATTERN C c+ WHERE c.destination = NEXT(c).source")
def show(layers):
    batches = query.iter(table(layers), type=None, memory=memory, max_trends=10**9, strategy=strategy)
    return batches.trends, sum(batch.num_rows for batch in batches)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
show(5)  # compiled code is not what trends need
before = peak()
trends, rows = show(14)
print(json.dumps({"trends": trends, "rows": rows, "grown": peak() - before}))
"""


@pytest.mark.parametrize(("strategy", "memory"), [("m-cet", 64), ("h-cet", 64), ("h-cet", 256)])
def test_the_peak_stays_below_the_promise(strategy: str, memory: int) -> None:
    """All 3^14 trends of 14 events each would be 270 MB as numbers of events alone."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, strategy, f"{memory} MB"], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert told["trends"] == told["rows"] == 3**14
    assert told["grown"] < memory * 2**20, told
