"""Compiled once, kept on disk, and never again for a query: each test starts a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.long,  # all kernels are compiled
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here"),
]


def run(*arguments: str) -> list[str]:
    program = [sys.executable, "-m", *arguments]
    done = subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True, timeout=600)
    return done.stdout.splitlines()


def test_queries_and_stores_need_nothing_beyond_it() -> None:
    assert run("tests.shipping.after_warm_up") == []


def test_the_second_compiles_nothing() -> None:
    run("trendweave", "warm-up")
    (line,) = run("trendweave", "warm-up")
    assert ", 0 of them new, " in line
