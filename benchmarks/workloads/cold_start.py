"""The first query in a new process: imports, loading or compiling kernels, a small run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any, NamedTuple

import pyarrow.parquet as pq

import trendweave
from benchmarks.paper_events import QUERIES
from benchmarks.registry import ResultRow, workload
from benchmarks.result_rows import at_most
from trendweave import datasets

#: Eight events and one query, of each kind.
EIGHT_ROWS = """
import pyarrow as pa
import trendweave
events = pa.table({
    "time": [1, 2, 3, 4, 5, 6, 7, 8], "type": ["A", "B", "B", "A", "B", "C", "B", "B"], "k": [1] * 8,
    "x": [1.0, 2.0, 3.0, 1.5, 2.5, 0.5, 3.5, 4.0],
})
"""
KINDS = {
    "each match, a condition between variables": (
        "RETURN EACH a.x, COUNT(b) AS n PATTERN SEQ(A a, B b+) WHERE [k] AND a.x < b.x WITHIN 10 seconds", 38
    ),
    "an alert, contiguous": (
        "RETURN EACH LAST(f.x) AS x PATTERN SEQ(B f{2,}, A s) SEMANTICS contiguous WHERE [k] WITHIN 10 seconds "
        "AFTER MATCH SKIP PAST LAST EVENT", 1
    ),
    "absence": ("RETURN EACH a.x PATTERN SEQ(A a, NOT C c) WHERE [k] WITHIN 3 seconds", 1),
    "complete trends": ("RETURN COMPLETE TRENDS(x) PATTERN B b+ WHERE [k] AND b.x < NEXT(b).x WITHIN 10 seconds", 2),
    "intervals": ("FROM R DEFINE P AS x > 1.2, Q AS x > 2.2 PATTERN Q during; finishes P WITHIN 10 seconds", 2),
    "sums in overlapping windows": (
        "RETURN SUM(b.x) AS total PATTERN SEQ(A a, B b+) WHERE [k] AND b.x < NEXT(b).x "
        "WITHIN 4 seconds SLIDE 1 second", 6
    ),
}  # fmt: skip
#: README's first example of trends.
README = """
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
#: The first query, and what it took longer than the second.
_MILLION_EVENTS = """
from time import process_time
start = process_time()
import pathlib, sys
import trendweave
imported = process_time() - start
from trendweave import datasets
events = datasets.stock(1_000_000, seed=1)
down_trends = trendweave.query(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
start = process_time()
down_trends.run(events, numbers="text")
between = process_time()
down_trends.run(events, numbers="text")
print(imported + 2 * between - start - process_time())
"""
_WITHOUT_NUMBA = "import sys; assert 'numba' not in sys.modules"
_IMPORTS = "import numba, numpy, pyarrow.compute"
_Q1 = Path(__file__).parents[2] / "examples" / "queries" / "greta_q1.tw"
_PACKAGE = Path(trendweave.__file__).parent
#: Other benchmarks compile all that they call.
_AS_USERS = {name: value for name, value in os.environ.items() if name != "TRENDWEAVE_COMPILE"}


class Spent(NamedTuple):
    """Seconds of a process: by the clock, and of a processor."""

    wall: float
    cpu: float
    printed: str = ""


@workload("cold-start")
def cold_start(repeat: int) -> list[ResultRow]:
    """README's example and Q1 in new processes, with an empty and a full folder of compiled kernels, and from a zip."""
    rows = []
    imports = median(_run(_IMPORTS, "", "").cpu for _ in range(min(repeat, 3)))
    for name, program, limit in (
        ("README", f"{README}\n{_WITHOUT_NUMBA}", 1.5),
        ("Q1 on 1,000 events", _THOUSAND_EVENTS, None),
    ):
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
    rows.append(_before_the_loop(min(repeat, 3)))
    rows += [_first_of_kind(name, text, expected) for name, (text, expected) in KINDS.items()]
    note = "what every process of Numba and Arrow begins with"
    rows.append(at_most("importing numba, numpy and pyarrow", "CPU", imports, "s", None, note))
    return [*rows, *_command_line(min(repeat, 3))]


def _first_of_kind(name: str, text: str, expected: int) -> ResultRow:
    options = "" if text.startswith("RETURN") else ", type=None"
    program = (
        f"{EIGHT_ROWS}\nrows = trendweave.query({text!r}).run(events{options})\nassert rows.num_rows == {expected}"
    )
    with tempfile.TemporaryDirectory() as folder:
        spent = _run(f"{program}\n{_WITHOUT_NUMBA}", folder, "")
    label = f"first query on eight rows, {name}"
    note = f"{spent.wall:.1f} s wall time, Numba is not imported"
    return at_most(label, "CPU, nothing compiled yet", spent.cpu, "s", 1.5, note)


def _before_the_loop(repeat: int) -> ResultRow:
    """What the first query on many events takes longer than the second, where all is compiled, and the import."""
    with tempfile.TemporaryDirectory() as folder:
        _run(_MILLION_EVENTS, folder, "")
        spent = median(float(_run(_MILLION_EVENTS, folder, "").printed) for _ in range(repeat))
    name = "first query in a new process, Q1 on 1,000,000 events"
    note = "importing Trendweave and the first run less the second"
    return at_most(name, "CPU before the loop, kernels compiled before", spent, "s", 1.0, note)


@workload("cold-start-papers")
def cold_start_papers(repeat: int) -> list[ResultRow]:
    """What the first query of each kind of the papers compiles, in new processes with an empty folder of kernels."""
    found = {path.stem: _compiling_of(path.stem) for path in QUERIES}
    rows = [
        at_most(f"first query, {name}", "CPU of compiling", sum(one["compiling"].values()), "s", None,
                f"{one['events']:,} events, {one['rows']:,} rows; first run {one['seconds'][0]:.2f} s, second "
                f"{one['seconds'][1]:.2f} s")
        for name, one in found.items()
    ]  # fmt: skip
    seconds = [row["value"] for row in rows]
    name, note = f"first query, each of the {len(rows)} queries of the papers", "functions that Numba compiles"
    return [
        at_most(name, "CPU of compiling, median", median(seconds), "s", 3.0, note),
        at_most(name, "CPU of compiling, largest", max(seconds), "s", 8.0, note),
        *rows,
    ]


def _compiling_of(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "benchmarks.paper_events", name]
        environment = _AS_USERS | {"TRENDWEAVE_CACHE": folder, "TRENDWEAVE_PROGRESS": "off"}
        done = subprocess.run(call, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _command_line(repeat: int) -> list[ResultRow]:
    """One call where everything is compiled, and the whole demo on Spark with an empty folder of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "events.parquet"
        pq.write_table(datasets.stock(1_000, seed=1), events)
        call = ["run", str(_Q1), "--events", str(events), "--runner", "local", "--out", str(Path(folder) / "out.csv")]
        calls = _median([_run_command(call, folder) for _ in range(repeat + 1)][1:])
        demo = _run_command(["demo", "--picture", str(Path(folder) / "demo.html")], str(Path(folder) / "empty"))
    note = f"{demo.wall:.1f} s wall time, with Spark's JVM and workers"
    return [
        at_most(
            "trendweave run on 1,000 events",
            "CPU, kernels compiled before",
            calls.cpu,
            "s",
            1.2,
            f"{calls.wall:.1f} s wall time",
        ),
        at_most("trendweave demo", "CPU, nothing compiled yet", demo.cpu, "s", 60, note),
    ]


def _run_command(arguments: list[str], folder: str) -> Spent:
    """CPU of the command and of all processes that it starts, also of those that nobody waits for."""
    environment = _AS_USERS | {"TRENDWEAVE_CACHE": folder, "PYTHONDONTWRITEBYTECODE": ""}
    start = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "trendweave", *arguments],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    used: dict[int, float] = {}
    while process.poll() is None:
        used |= _used_by_session(process.pid)
        sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"trendweave {arguments[0]} has failed")
    return Spent(perf_counter() - start, sum(used.values()))


def _used_by_session(session: int) -> dict[int, float]:
    """Seconds of CPU by process, of those of a session that live."""
    used = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                used[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return used


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
    environment = _AS_USERS | {"TRENDWEAVE_CACHE": folder}
    prelude = ""
    if zipped:
        environment["PYTHONPATH"] = zipped
        prelude = (
            f"import sys; sys.path.insert(0, {zipped!r}); import trendweave; assert '.zip' in trendweave.__file__\n"
        )
    before, start = _children(), perf_counter()
    call = [sys.executable, "-P", "-c", prelude + program, str(_Q1)]
    done = subprocess.run(call, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return Spent(perf_counter() - start, _children() - before, done.stdout)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
