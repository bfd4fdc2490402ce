"""Queries of every kind that are interrupted at random moments: nothing crashes, and the next run is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def interrupt(count: int, seed: int, *kinds: str, **environment: str) -> str:
    """What the program says at its end; a crash or a wrong row is a failure."""
    program = [sys.executable, "-X", "faulthandler", "-m", "tests.runners.interrupts", str(count), str(seed), *kinds]
    done = subprocess.run(
        program, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def longest(said: str) -> float:
    found = re.search(r"(\d+) interrupts, the longest ended in ([\d.]+) s", said)
    assert found is not None, said
    return float(found[2])


@pytest.mark.parametrize("kinds", [("after match", "counts"), ("lists of next matches", "threads")], ids=", ".join)
def test_the_next_run_is_right(kinds: tuple[str, ...]) -> None:
    assert longest(interrupt(10, 1, *kinds)) < 2


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_many_interrupts_of_all_kinds() -> None:
    assert longest(interrupt(500, 3)) < 2


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_many_interrupts_while_compiling(tmp_path: Path) -> None:
    assert longest(interrupt(100, 4, TRENDWEAVE_CACHE=str(tmp_path))) < 2


#: A process ends while LLVM compiles. What it does at its very end takes seconds, in which LLVM goes on.
ENDS_COMPILING = """
import ctypes, os, signal, sys, threading, time
system = ctypes.CDLL(None)
system.on_exit(system.sleep, None)  # as many seconds as its status
signal.signal(signal.SIGINT, signal.default_int_handler)
import trendweave.runners.local
from numba.core import event
from tests.runners.interrupts import KINDS
class Press(event.Listener):
    def on_start(self, begun):
        if begun.data["name"] == "native_lowering [take]":
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    def on_end(self, ended):
        pass
event.register("numba:run_pass", Press())
try:
    KINDS["after match"]()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it waits")
def test_a_process_that_ends_while_it_compiles_does_not_crash(tmp_path: Path) -> None:
    program = [sys.executable, "-X", "faulthandler", "-c", ENDS_COMPILING]
    done = subprocess.run(
        program, cwd=ROOT, env={**os.environ, "TRENDWEAVE_CACHE": str(tmp_path)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, "interrupted\n"), done.stderr[-2000:]


#: A signal comes while the first run still imports what computes.
IMPORTS = """
import signal, pyarrow as pa, trendweave
def interrupt(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, interrupt)
events = pa.table({"time": [1, 2, 3], "type": ["A"] * 3})
query = trendweave.query("RETURN COUNT(*) AS n PATTERN A+")
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    query.run(events)
except TimeoutError:
    print("interrupted")
signal.setitimer(signal.ITIMER_REAL, 0)
print(query.run(events)["n"].to_pylist())
"""


def test_no_import_is_left_half_done() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line != "interrupted"] == ["[Decimal('7')]"]
