"""Compiled once, kept on disk, and never again for a query: each test starts a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from trendweave.kernel_cache.kernel import always_compile
from trendweave.kernels.warm_up import warm_up_shared

REPOSITORY = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.long,  # all kernels are compiled
    pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="nothing is compiled here"),
]


def run_python(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def report():
    """What a fresh process loaded and compiled, after this one has filled the cache on disk."""
    with always_compile():
        warm_up_shared()
    done = run_python("-m", "tests.kernels.after_warm_up")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_second_process_compiles_nothing(report):
    assert {name for name, count in report["warm_up"]["compiled"].items() if count} == set()
    assert {name for name, count in report["warm_up_shared"]["compiled"].items() if count} == set()


def test_second_process_loads_the_kernels_from_disk(report):
    loaded = {name.removeprefix("trendweave.kernels.") for name, count in report["warm_up"]["loaded"].items() if count}
    assert loaded >= {"loops.ranking.rank_blocks", "numbering._ticks", "merging._add_whole"}


def beyond(before, after):
    """What was loaded or compiled in between, by how often."""
    return {
        (how, name): count - before[how][name]
        for how in ("loaded", "compiled")
        for name, count in after[how].items()
        if count != before[how][name]
    }


def test_queries_need_nothing_beyond_the_warm_up(report):
    assert beyond(report["warm_up"], report["queries"]) == {}


def test_workloads_need_nothing_beyond_their_warm_up(report):
    assert beyond(report["warm_up_shared"], report["many_queries"]) == {}


def test_kernels_agree_with_brute_force_without_compiling():
    """Plain Python runs the same code, so that coverage sees it and an index out of range is an error. Integers wrap
    around on purpose in both, but only plain Python warns of it."""
    done = run_python(
        "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "ignore:overflow encountered:RuntimeWarning",
        "tests/kernels/test_against_brute_force.py",
        "tests/kernels/test_against_propagation.py", "tests/kernels/test_large_numbers.py::test_sums_of_extreme_values",
        "tests/kernels/shared/test_hamlet.py", "tests/kernels/shared/test_large_numbers.py::test_every_border",
        NUMBA_DISABLE_JIT="1",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert " passed" in done.stdout
