"""Two source trees are compared call by call, and a peak of memory is that of one process alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.comparison.cases import CASES
from benchmarks.comparison.compare import HERE, choose_cases, compare, find_source

TREE = Path(__file__).parents[2]


def test_a_tree_is_named_by_itself_or_by_its_source(tmp_path: Path) -> None:
    assert find_source(TREE) == find_source(TREE / "src") == HERE
    with pytest.raises(FileNotFoundError, match="no package trendweave"):
        find_source(tmp_path)


def test_cases_are_chosen_by_name_and_by_group() -> None:
    assert choose_cases([]) == list(CASES)
    intervals = [name for name, case in CASES.items() if case.group == "intervals"]
    assert choose_cases(["intervals"]) == intervals
    assert choose_cases([intervals[1], intervals[0]]) == intervals[:2]
    with pytest.raises(KeyError, match=r"unknown case fast things; known: .*aggregation"):
        choose_cases(["fast things"])


@pytest.mark.nightly  # it takes two processes, and finds no more than a wrong way round
def test_a_tree_is_about_as_fast_as_itself() -> None:
    (row,) = compare(HERE, ["a hundred small tables"], 1)
    assert row["name"] == "a hundred small tables"
    assert 0.1 < row["value"] < 10
    assert "2,900 rows" in row["note"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux alone tells it")
def test_the_peak_of_a_process_is_not_that_of_the_one_that_starts_it() -> None:
    held = np.ones(300 * 2**20 // 8)  # 300 MB that are really there
    code = "from benchmarks.memory import own_peak_megabytes; print(own_peak_megabytes())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=TREE)
    assert held.sum() == held.size
    assert float(done.stdout) < 150
