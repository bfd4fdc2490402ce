"""Threads stay from run to run; a run waits for its own work alone, and a process that is forked has threads anew."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Event, get_ident

import numpy as np
import pyarrow as pa
import pytest

import trendweave
from tests.features.places import dealing_everything_out
from trendweave import operators as ops
from trendweave.devices.pool import DaemonThreads, Pool, _Kept, is_in_pool
from trendweave.programs.operators.joins import searches
from trendweave.runners.threads import run as threads

CORES = 3


def _idents() -> set[int]:
    """Threads that work at the same time, each until all of them do."""
    with Pool(CORES) as pool:
        begun = [Event() for _ in range(CORES)]

        def work(number: int) -> int:
            begun[number].set()
            for one in begun:
                assert one.wait(60)
            return get_ident()

        return set(pool.map(work, range(CORES)))


def test_the_next_run_has_the_threads_of_the_one_before() -> None:
    first = _idents()
    assert len(first) == CORES
    assert _idents() == first


def test_runs_of_every_kind_leave_threads_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a run does, nothing is left to be done when it ends."""
    taken: list[DaemonThreads] = []
    real = _Kept.take

    def take(kept: _Kept, cores: int) -> DaemonThreads:
        found = real(kept, cores)
        if cores == CORES:
            taken.append(found)
        return found

    monkeypatch.setattr(_Kept, "take", take)
    numbers = np.arange(60)
    events = pa.table({"time": numbers, "type": ["A", "B"] * 30, "k": numbers // 2 % 4, "v": numbers * 1.0})
    runs = [
        trendweave.query("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k"),
        trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 9 seconds SLIDE 3 seconds"),
        trendweave.query("RETURN COUNT(*) PATTERN SEQ(A, B)"),
        trendweave.query("RETURN TRENDS PATTERN SEQ(A, B) WHERE [k] WITHIN 9 seconds"),
        ops.filter("v > 7"),
        ops.window_aggregate("SUM(v) AS total", rows=3),
        ops.window_aggregate("SUM(v) AS total", within="9 seconds", keys=["k"]),
    ]
    with dealing_everything_out(CORES):
        for one in runs:
            one.run(events, device="threads")
    assert len(taken) >= len(runs)
    assert all(one is taken[0] for one in taken)


def test_runs_at_the_same_time_have_threads_of_their_own() -> None:
    begun, go_on = Event(), Event()
    other, pool = Pool(CORES), Pool(CORES)

    def wait() -> bool:
        begun.set()
        return go_on.wait(60)

    theirs = [other.submit(wait) for _ in range(2 * CORES)]
    assert begun.wait(60)
    done = pool.submit(lambda: 1)
    pool.shutdown()
    assert done.result() == 1
    assert not any(one.done() for one in theirs)
    go_on.set()
    other.shutdown()
    assert all(one.result() for one in theirs)


def test_what_has_not_begun_is_cancelled() -> None:
    begun, go_on = [Event() for _ in range(CORES)], Event()
    pool = Pool(CORES)

    def wait(number: int) -> bool:
        begun[number].set()
        return go_on.wait(60)

    busy = [pool.submit(wait, number) for number in range(CORES)]
    assert all(one.wait(60) for one in begun)
    waiting = pool.submit(lambda: 1)
    pool.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    # Threads that still work are not the next run's.
    with Pool(CORES) as following:
        assert following.submit(lambda: 2).result(60) == 2
    go_on.set()
    assert all(one.result() for one in busy)


def test_threads_that_the_collector_has_ended_are_not_kept() -> None:
    """It tells threads of a forgotten run to end, and only then closes generators, whose last step gives them back."""

    def forget_a_run() -> None:
        pool = Pool(CORES)
        assert pool.submit(lambda: 1).result(60) == 1

        def batches() -> Iterator[None]:
            try:
                yield
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

        begun = batches()
        next(begun)
        cycle: list[object] = [begun]
        cycle.append(cycle)

    for _ in range(3):
        forget_a_run()
        gc.collect()
        with Pool(CORES) as following:
            assert [one.result(60) for one in [following.submit(lambda: 2) for _ in range(4 * CORES)]] == [
                2
            ] * 4 * CORES


def test_threads_that_have_ended_take_no_work() -> None:
    threads = DaemonThreads(1, "some", lambda: None)
    assert threads.is_open
    threads.shutdown(wait=False)
    assert not threads.is_open
    with pytest.raises(RuntimeError, match="take no work"):
        threads.submit(lambda: 1)


def test_a_thread_that_computes_waits_for_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run inside of one would wait for threads that all wait for it."""
    events = pa.table({"time": np.arange(40), "type": ["A", "B"] * 20, "k": np.arange(40) % 4})
    query = trendweave.query("RETURN k, COUNT(*) PATTERN A+ WHERE [k] GROUP-BY k")
    expected = sorted(map(repr, query.run(events).to_pylist()))

    def run() -> list[str]:
        assert is_in_pool()
        assert searches.count_threads(10**9) == 1
        return sorted(map(repr, query.run(events, device="threads").to_pylist()))

    assert not is_in_pool()
    monkeypatch.setattr(searches, "count_cores", lambda: CORES)
    assert searches.count_threads(10**9) == CORES
    with dealing_everything_out(CORES), Pool(CORES) as pool:
        assert all(found == expected for found in pool.map(lambda _: run(), range(2 * CORES)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own() -> None:
    script = """
import os, warnings
from trendweave.devices.pool import Pool
warnings.simplefilter("ignore")
assert Pool(2).submit(lambda: 1).result() == 1
child = os.fork()
if not child:
    os._exit(0 if Pool(2).submit(lambda: 7).result(20) == 7 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_columns_that_one_core_reads_as_they_are_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is cut where neither expressions nor parts are shared out."""
    events = pa.table({"time": np.arange(40), "v": np.arange(40.0)})
    total = ops.window_aggregate("SUM(v) AS total", rows=3, slide_rows=1)
    expected = total.run(events)

    def refuse(*_: object) -> None:
        raise AssertionError("rows were cut")

    monkeypatch.setattr(threads, "prepare_slices", refuse)
    with dealing_everything_out(CORES):
        assert total.run(events, device="threads").equals(expected)
