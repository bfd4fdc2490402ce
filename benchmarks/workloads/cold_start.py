"""The first query in a new process: imports, loading or compiling kernels, a small run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most

_FIRST_QUERY = """
import pathlib, sys
import trendweave
from trendweave import datasets
events = datasets.stock(1_000, seed=1)
down_trends = trendweave.query(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
rows = down_trends.run(events, numbers="text")
again = down_trends.run(events, numbers="text")
assert rows.num_rows > 0 and rows.equals(again)
"""
_IMPORTS = "import numba, numpy, pyarrow.compute"
_Q1 = Path(__file__).parents[2] / "examples" / "queries" / "greta_q1.tw"


@workload("cold-start")
def cold_start(repeat: int) -> list[ResultRow]:
    """Q1 on a thousand events in a new process, with an empty and with a full cache of compiled kernels."""
    with tempfile.TemporaryDirectory() as cache:
        compiling = _seconds(_FIRST_QUERY, cache)
        loading = median(_seconds(_FIRST_QUERY, cache) for _ in range(min(repeat, 3)))
        importing = median(_seconds(_IMPORTS, cache) for _ in range(min(repeat, 3)))
    name = "first query in a new process"
    imports = f"importing numba, numpy and pyarrow alone {importing:.2f} s"
    return [
        at_most(name, "wall time, kernels in the disk cache", loading, "s", None, imports),
        at_most(name, "wall time, empty disk cache", compiling, "s", None, "compiles; once per machine and version"),
    ]


def _seconds(program: str, cache: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", program, str(_Q1)], check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
    return perf_counter() - start
