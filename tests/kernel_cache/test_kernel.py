"""Kernels run interpreted on little data and compiled on more, with the same results."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.workloads.cold_start import EIGHT_ROWS, KINDS, README
from trendweave.kernel_cache import kernel
from trendweave.kernel_cache.kernel import Kernel, always_compile, load_text
from trendweave.kernels.compiling import inner
from trendweave.stopping import Stopped, Work

REPOSITORY = Path(__file__).parents[2]


class Numbers(NamedTuple):
    """As kernels take arrays."""

    given: np.ndarray
    sums: np.ndarray


@inner
def add_one(sums: np.ndarray, place: int, number: int) -> None:
    sums[place] += number


@inner
def add_up(numbers: Numbers, factor: int) -> int:
    """Changes an array, and calls another kernel."""
    total = 0
    for place in range(numbers.given.size):
        add_one(numbers.sums, place, factor * numbers.given[place])
        total += numbers.sums[place]
    return total


def fresh() -> tuple[Kernel, Numbers]:
    """The kernel as a new process has it, and arguments."""
    return Kernel(add_up.py_func, add_up.targetoptions, "for a test"), Numbers(np.arange(8), np.ones(8, np.int64))


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("trendweave.kernel_cache.cache.is_kept", lambda *_: False)
    monkeypatch.setattr(kernel, "PATIENCE", math.inf)


def test_a_small_call_is_interpreted() -> None:
    loop, numbers = fresh()
    assert loop(numbers, 2) == 64
    assert numbers.sums.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    assert not loop.compiled.signatures


def test_a_large_call_is_compiled_and_small_ones_of_its_kind_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, numbers = fresh()
    monkeypatch.setattr(kernel, "MOST_ELEMENTS", 15)
    assert loop(numbers, 2) == 64
    assert len(loop.compiled.signatures) == 1
    monkeypatch.undo()
    monkeypatch.setattr(loop, "py_func", None)
    assert loop(fresh()[1], 2) == 64


def test_other_types_of_numbers_are_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, numbers = fresh()
    monkeypatch.setattr(kernel, "MOST_ELEMENTS", 15)
    loop(numbers, 2)
    monkeypatch.setattr(kernel, "MOST_ELEMENTS", 16)
    assert loop(Numbers(np.arange(8), np.ones(8)), 2) == 64.0
    assert len(loop.compiled.signatures) == 1


def test_a_call_that_takes_too_long_is_taken_back_and_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock passes the deadline while half of the array has been changed."""
    loop, numbers = fresh()
    monkeypatch.setattr(kernel, "PATIENCE", 100.0)
    times = iter([0.0, *[1.0] * 4, 101.0, *[102.0] * 10])
    monkeypatch.setattr(kernel, "perf_counter", lambda: next(times))
    assert loop(numbers, 2) == 64
    assert numbers.sums.tolist() == [1, 3, 5, 7, 9, 11, 13, 15]
    assert len(loop.compiled.signatures) == 1


def test_patience_is_for_all_calls_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is looked at ten times in a call."""
    ticks = count()
    monkeypatch.setattr(kernel, "perf_counter", lambda: next(ticks) / 10)
    monkeypatch.setattr(kernel, "PATIENCE", 1.5)
    loop, numbers = fresh()
    loop(numbers, 2)
    assert not loop.compiled.signatures
    loop(numbers, 2)
    assert len(loop.compiled.signatures) == 1
    assert numbers.sums.tolist() == [1, 5, 9, 13, 17, 21, 25, 29], "what was begun was taken back"


def test_everything_is_compiled_where_that_is_asked_for() -> None:
    loop, numbers = fresh()
    with always_compile():
        assert loop(numbers, 2) == 64
    assert len(loop.compiled.signatures) == 1


def test_the_environment_may_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, numbers = fresh()
    monkeypatch.setenv("TRENDWEAVE_COMPILE", "always")
    assert loop(numbers, 2) == 64
    assert len(loop.compiled.signatures) == 1


def test_interpreted_loops_stop() -> None:
    work, done = Work(), list[int]()
    text = "@called\ndef stop(sums, place): halt(sums)\n@loop\ndef run(numbers):\n    for i in range(9):\n"
    stopping = load_text(text + "        stop(numbers, i); done.append(i)", "run")
    vars(sys.modules[stopping.__module__]).update(halt=lambda _: work.stop(), done=done)
    with pytest.raises(Stopped), work.by_this_thread():
        stopping(np.zeros(9))
    assert done == [0]


def test_overflow_wraps_around_without_a_word() -> None:
    largest = np.iinfo(np.int64).max
    for forced in (False, True):
        loop, _ = fresh()
        numbers = Numbers(np.array([largest]), np.array([largest]))
        with always_compile() if forced else np.errstate(all="warn"):
            loop(numbers, np.int64(1))
        assert numbers.sums.tolist() == [-2]


def test_numbers_that_are_returned_are_those_of_python() -> None:
    loop, numbers = fresh()
    assert type(loop(numbers, 2)) is int
    several = load_text("@loop\ndef several(numbers): return numbers[0], (numbers[1] > 0, 2.0 * numbers[1])", "several")
    assert [type(one) for one in several(np.arange(2))[1]] == [bool, float]


def test_kernels_can_be_pickled_and_copied() -> None:
    assert pickle.loads(pickle.dumps(add_up)) is add_up
    assert deepcopy(add_up) is add_up


PROGRAMS = {
    "README": README,
    **{
        name: f"{EIGHT_ROWS}\nrows = trendweave.query({text!r}).run(events{options})\nassert rows.num_rows == {count}"
        for name, (text, count) in KINDS.items()
        for options in ["" if text.startswith("RETURN") else ", type=None"]
    },
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_first_query_on_eight_rows_needs_no_compiler(program: str, tmp_path: Path) -> None:
    """In a new process with nothing kept on disk; README's query and one of each kind."""
    text = f"{program}\nimport sys; assert 'numba' not in sys.modules and 'llvmlite' not in sys.modules"
    environment: dict[str, Any] = os.environ | {"TRENDWEAVE_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", text], cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.kernel"))
