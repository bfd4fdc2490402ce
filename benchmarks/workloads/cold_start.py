"""The first query in a new process: imports, loading or compiling kernels, a small run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import trendweave
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most

#: README's first example.
_README = """
import pyarrow as pa
import trendweave
events = pa.table({
    "time": [1, 2, 3, 4, 5, 6, 11, 12],
    "type": ["Stock"] * 8,
    "company": ["X", "Y", "X", "Y", "X", "X", "X", "Y"],
    "sector": ["tech"] * 8,
    "price": [10.0, 7.0, 9.0, 8.0, 8.0, 9.5, 7.0, 6.0],
})
query = trendweave.query('''
    RETURN sector, COUNT(*), MIN(S.price) AS low
    PATTERN Stock S+
    WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector
    WITHIN 10 seconds SLIDE 5 seconds
''')
rows = query.run(events, numbers="int64")
assert rows["count"].to_pylist() == [5, 11, 6, 2]
"""
#: A thousand events of the paper's first query, with exact numbers of any size.
_THOUSAND_EVENTS = """
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
_PACKAGE = Path(trendweave.__file__).parent


class Spent(NamedTuple):
    """Seconds of a process: by the clock, and of a processor."""

    wall: float
    cpu: float


@workload("cold-start")
def cold_start(repeat: int) -> list[ResultRow]:
    """README's example and Q1 in new processes, with an empty and a full folder of compiled kernels, and from a zip."""
    rows = []
    imports = median(_run(_IMPORTS, "", "").cpu for _ in range(min(repeat, 3)))
    for name, program, limit in (("README", _README, 5.0), ("Q1 on 1,000 events", _THOUSAND_EVENTS, None)):
        with tempfile.TemporaryDirectory() as folder:
            compiling = _run(program, folder, "")
            loading = [_run(program, folder, "") for _ in range(min(repeat, 3))]
            zipped = _zip(Path(folder))
            # The same texts at another place: what was compiled serves there, too.
            from_zip = [_run(program, folder, zipped) for _ in range(min(repeat, 3))]
        label = f"first query in a new process, {name}"
        found = (
            ("nothing compiled yet", compiling, limit),
            ("kernels compiled before", _median(loading), None),
            ("from a zip, compiled elsewhere", _median(from_zip), None),
        )
        for when, spent, bar in found:
            rows.append(at_most(label, f"CPU, {when}", spent.cpu, "s", bar, f"{spent.wall:.1f} s wall time"))
    note = "what every process of Numba and Arrow begins with"
    return [*rows, at_most("importing numba, numpy and pyarrow", "CPU", imports, "s", None, note)]


def _median(several: list[Spent]) -> Spent:
    return Spent(median(one.wall for one in several), median(one.cpu for one in several))


def _zip(folder: Path) -> str:
    path = folder / "trendweave.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(_PACKAGE.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(_PACKAGE.parent))
    return str(path)


def _run(program: str, folder: str, zipped: str) -> Spent:
    """Run a program with what is kept in a folder, and with the package from a zip if there is one."""
    environment = os.environ | {"TRENDWEAVE_CACHE": folder}
    prelude = ""
    if zipped:
        environment["PYTHONPATH"] = zipped
        prelude = (
            f"import sys; sys.path.insert(0, {zipped!r}); import trendweave; assert '.zip' in trendweave.__file__\n"
        )
    before, start = _children(), perf_counter()
    subprocess.run([sys.executable, "-P", "-c", prelude + program, str(_Q1)], check=True, env=environment)
    return Spent(perf_counter() - start, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
