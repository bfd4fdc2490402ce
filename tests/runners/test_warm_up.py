"""After a warm-up, queries with situations and stores find all that they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from trendweave import warming_up
from trendweave.runners import small_queries
from trendweave.runners import warm_up as of_runs
from trendweave.store.warm_up import warm_up_stores

ROOT = Path(__file__).parents[2]


@pytest.mark.long
@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here")
def test_situations_and_stores_need_nothing_beyond_it() -> None:
    program = [sys.executable, "-m", "tests.runners.after_warm_up"]
    done = subprocess.run(program, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True, timeout=600)
    assert done.stdout.splitlines() == []


def test_both_are_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    called = list[str]()
    for name in ("warm_up_shared", "warm_up_operators"):
        monkeypatch.setattr(of_runs, name, lambda: None)
    for name in [name for name in vars(small_queries) if name.startswith("run_")]:
        monkeypatch.setattr(of_runs, name, lambda name=name: called.append(name))
    monkeypatch.setattr(warming_up, "warm_up_stores", lambda: called.append(warm_up_stores.__name__))
    warming_up.warm_up()
    assert {"run_situated_queries", "run_interval_queries", "warm_up_stores"} <= set(called)
