"""Ctrl-C ends a run in this process at once, although compiled code is at work."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import warnings
from contextlib import suppress
from contextvars import ContextVar
from time import sleep
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba.core import errors

import trendweave
from trendweave.devices.pool import Pool
from trendweave.interruptible import _Thread, interruptible
from trendweave.kernels.compiling import inner, outer
from trendweave.kernels.stopping import heed_stop, is_to_stop
from trendweave.runners.incremental import Incremental
from trendweave.stopping import Stopped, Work, away_from_work, wait_for_stopped

#: Every pair of events is compared by compiled code: minutes of work in one call. Ctrl-C comes when it has computed for
#: three seconds, and is measured by what it computes from then on, as the machine has other work, too.
PROGRAM = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np, pyarrow as pa, trendweave
query = trendweave.query("RETURN COUNT(*) PATTERN A+ WHERE [k] AND A.x < NEXT(A).x AND A.y < NEXT(A).y")
def events(count):
    random = np.random.default_rng(1)
    columns = {"k": np.arange(count) % 2, "x": random.random(count), "y": random.random(count)}
    return pa.table({"time": np.arange(count), "type": ["A"] * count, **columns})
query.run(events(50), numbers="float64")
many = events(1_000_000)
ready = time.process_time()
pressed = []
def press():
    while time.process_time() < ready + 3:
        time.sleep(0.05)
    pressed.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    query.run(many, numbers="float64", device=sys.argv[1])
except KeyboardInterrupt:
    print("interrupted after", time.process_time() - pressed[0], flush=True)
print(query.run(events(3), numbers="int64").num_rows, flush=True)
"""


@pytest.mark.parametrize("device", ["cpu", "threads"])
def test_a_run_ends_within_a_second(device: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, device], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said, _, seconds = process.stdout.readline().rpartition(" ")
        assert said == "interrupted after"
        assert float(seconds) < 1
        # The process goes on.
        assert process.stdout.readline() == "1\n"
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


#: Work of some tenths of a second, or of minutes, that looks whether it is to stop, or (`deaf`) does not.
OWN_HANDLERS = """
import asyncio, hashlib, os, signal, threading, time
from trendweave.devices.pool import Pool
from trendweave.interruptible import interruptible
from trendweave.stopping import away_from_work, heed_stop
def press(*delays):
    for delay in delays:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
ended = threading.Event()
def look(seconds):
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.01)
            heed_stop()
        return "done"
    finally:
        ended.set()
def work(seconds):
    return interruptible(look)(seconds)
def deaf():
    return interruptible(hashlib.pbkdf2_hmac)("sha256", b"", b"", 2_000_000_000)
def leave(said):
    print(said, flush=True)
    os._exit(0)
LONG, SHORT = 600, 0.5
"""
ENDED = {
    "one that raises Ctrl-C, as PySpark's": """
def handle(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, handle)
press(0.5)
try:
    work(LONG)
except KeyboardInterrupt:
    assert ended.is_set()
    leave("ended")
""",
    "one that raises an error of its own": """
def handle(number, frame):
    raise TimeoutError
signal.signal(signal.SIGINT, handle)
press(0.5)
try:
    work(LONG)
except TimeoutError:
    assert ended.is_set()
    leave("ended")
""",
    "that of another signal": """
def handle(number, frame):
    raise TimeoutError
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    work(LONG)
except TimeoutError:
    assert ended.is_set()
    leave("ended")
""",
    "asyncio's, the second time": """
signal.signal(signal.SIGINT, signal.default_int_handler)
async def main():
    press(0.5, 1)
    try:
        work(LONG)
    except KeyboardInterrupt:
        leave("ended")
asyncio.run(main())
""",
    "Python's, the second time, where work does not look": """
signal.signal(signal.SIGINT, signal.default_int_handler)
press(0.5, 1.5)
begun = time.monotonic()
try:
    deaf()
except KeyboardInterrupt:
    assert time.monotonic() > begun + 1.4
    leave("ended")
""",
    "Python's, while work compiles": """
signal.signal(signal.SIGINT, signal.default_int_handler)
ready, touched, gone = threading.Event(), [], threading.Event()
def compile_and_compute():
    try:
        with away_from_work():
            ready.wait()
        touched.append("events")
    finally:
        gone.set()
press(0.5)
try:
    interruptible(compile_and_compute)()
except KeyboardInterrupt:
    assert not gone.is_set()
    ready.set()
    assert gone.wait(10)
    assert not touched
    leave("ended")
""",
    "Python's, while one of two threads compiles": """
signal.signal(signal.SIGINT, signal.default_int_handler)
ready, touched, gone = threading.Event(), [], threading.Event()
def compile_and_compute():
    try:
        with away_from_work():
            ready.wait()
        touched.append("events")
    finally:
        gone.set()
def run():
    for future in [pool.submit(compile_and_compute), pool.submit(look, LONG)]:
        touched.append(future.result())
pool = Pool(2)
press(0.5)
try:
    interruptible(run)()
except KeyboardInterrupt:
    assert ended.is_set()
    assert not gone.is_set()
    ready.set()
    assert gone.wait(10)
    assert not touched
    leave("ended")
""",
    "one that returns": """
told = []
signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
press(0)
assert work(SHORT) == "done"
assert told
leave("ended")
""",
}


#: A signal comes at every moment of something short that the main thread does again and again; the handler's own error
#: is all that is seen.
AT_EVERY_MOMENT = """
import random, signal, sys, time
class Alarm(Exception):
    pass
def interrupt(*_):
    raise Alarm
signal.signal(signal.SIGALRM, interrupt)
def press_at_random(work, longest, count):
    work()
    draw, came = random.Random(1), 0
    for _ in range(count):
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-6, longest))
            work()
            while True:  # so that it comes in here at the latest
                time.sleep(0.001)
        except Alarm:
            came += 1
    print(came)
"""
SHORT = {
    "a thread is started": """
from trendweave.interruptible import interruptible
press_at_random(interruptible(lambda: 1), 2e-4, 1000)
""",
    "a kernel hands its arrays to Python": """
import numpy as np
from trendweave.kernels.compiling import outer
@outer
def kernel(size):
    return np.zeros(size), np.ones(size), np.zeros(size, np.int64), np.ones(size, np.int64), np.empty(size)
def call_often():
    for _ in range(50):
        kernel(3)
press_at_random(call_often, 1e-4, 1000)
""",
}


@pytest.mark.parametrize("work", SHORT)
def test_only_what_the_handler_raises_is_seen_where(work: str) -> None:
    program = [sys.executable, "-X", "faulthandler", "-c", AT_EVERY_MOMENT + SHORT[work]]
    done = subprocess.run(program, capture_output=True, timeout=120, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1000\n", "")


@pytest.mark.parametrize("handler", ENDED)
def test_handlers_of_others_are_asked_while_it_works(handler: str) -> None:
    program = [sys.executable, "-c", OWN_HANDLERS + ENDED[handler]]
    assert subprocess.run(program, stdout=subprocess.PIPE, timeout=60, check=True, text=True).stdout == "ended\n"


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL, None], ids=["ignored", "system's", "C's"])
def test_without_a_handler_in_python_no_thread_is_needed(
    handler: signal.Handlers | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_main_thread(monkeypatch)
    monkeypatch.setattr(signal, "getsignal", lambda number: handler)
    assert interruptible(threading.current_thread)() is threading.current_thread()


def in_main_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run in another thread, with handlers of their own."""
    monkeypatch.setattr("trendweave.interruptible.main_thread", threading.current_thread)
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)


def test_results_and_errors_come_through(monkeypatch: pytest.MonkeyPatch) -> None:
    in_main_thread(monkeypatch)
    setting = ContextVar("setting", default=0)
    setting.set(5)

    def divide(by: int) -> tuple[float, int, str]:
        return 1 / by, setting.get(), threading.current_thread().name

    assert interruptible(divide)(2) == (0.5, 5, "trendweave-run")
    with pytest.raises(ZeroDivisionError):
        interruptible(divide)(0)


def test_other_threads_do_their_work_themselves() -> None:
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.append(interruptible(lambda: threading.current_thread().name)()), name="own"
    )
    thread.start()
    thread.join()

    assert found == ["own"]


@inner
def spin(turns: np.ndarray) -> int:
    count = 0
    for _ in range(turns[0]):
        heed_stop()
        count += 1
    return count


@outer
def spin_beside_memory(turns: np.ndarray) -> np.ndarray:
    counts = np.zeros(1, np.int64)
    for _ in range(turns[0]):
        if is_to_stop():
            break
        counts[0] += 1
    return counts


@pytest.mark.parametrize("kernel", [spin, spin_beside_memory])
def test_kernels_stop_in_the_threads_that_are_asked(kernel: Any) -> None:
    kernel(np.array([1]))
    work, other = Work(), Work()
    ended, found = [threading.Event(), threading.Event()], list[int]()

    def run(within: Work, turns: int, event: threading.Event) -> None:
        with suppress(Stopped), within.by_this_thread():
            found.append(int(np.sum(kernel(np.array([turns])))))
        event.set()

    threading.Thread(target=run, args=(work, 10**15, ended[0])).start()
    threading.Thread(target=run, args=(other, 10**8, ended[1])).start()
    sleep(0.05)
    assert not ended[0].is_set()
    work.stop()
    assert ended[0].wait(10)
    assert ended[1].wait(60)
    assert found == [10**8]
    # The next work of the same thread is not meant.
    assert np.sum(kernel(np.array([7]))) == 7


def test_threads_that_work_for_a_thread_stop_with_it() -> None:
    spin(np.array([1]))
    work, ended = Work(), threading.Event()

    def run() -> None:
        pool = Pool(2)
        try:
            with work.by_this_thread():
                list(pool.map(lambda turns: spin(np.array([turns])), [10**15] * 5))
        except Stopped:
            pool.shutdown()  # waits for all of them
            ended.set()

    threading.Thread(target=run).start()
    sleep(0.1)
    work.stop()
    assert ended.wait(10)


def test_nothing_is_compiled_for_work_that_is_to_stop() -> None:
    work, found = Work(), list[str]()

    @outer
    def fresh(number: int) -> int:
        return number + 1

    def run() -> None:
        try:
            with work.by_this_thread():
                work.stop()
                fresh(1)
        except Stopped:
            found.append("stopped")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == ["stopped"]
    assert not fresh.compiled.signatures


def test_whoever_ends_the_process_or_forks_it_knows_which_threads_are_not_gone() -> None:
    work, ready, begun = Work(), threading.Event(), threading.Event()

    def run() -> None:
        with suppress(Stopped), work.by_this_thread(), away_from_work():
            begun.set()
            ready.wait()

    threading.Thread(target=run).start()
    assert begun.wait(10)
    assert wait_for_stopped(0)
    work.stop()
    assert work.is_left
    assert not wait_for_stopped(0.05)
    ready.set()
    assert wait_for_stopped(10)


def test_threads_that_compile_leave_the_warnings_of_others_alone() -> None:
    numbas: Any = errors
    kept, seen = warnings.filters, list[bool]()
    with Work().by_this_thread(), numbas.WarningsFixer(numbas.NumbaWarning).catch_warnings():
        seen.append(warnings.filters is kept)
    with numbas.WarningsFixer(numbas.NumbaWarning).catch_warnings(filename="", lineno=1):
        seen.append(warnings.filters is kept)
    assert seen == [True, False]


def test_what_is_interrupted_half_way_says_so() -> None:
    """A user who goes on with the batches of an interrupted run would take the rest for missing rows."""
    events = pa.table({"time": list(range(100)), "type": ["A"] * 100})
    batches = trendweave.query("RETURN TRENDS PATTERN A").iter(events)
    next(batches)
    work = Work()
    work.stop()
    with pytest.raises(RuntimeError, match="was interrupted"):
        _Thread(lambda: next(batches), work).wait()


def test_many_rows_of_pieces_and_sessions_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    in_main_thread(monkeypatch)
    names = list[str]()
    step = Incremental._step

    def told(*given: Any) -> Any:
        names.append(threading.current_thread().name)
        return step(*given)

    monkeypatch.setattr(Incremental, "_step", told)
    events = pa.table({"time": list(range(100)), "type": ["A"] * 100})
    query = trendweave.query("RETURN COUNT(*) AS n PATTERN A{1,2} WITHIN 100 s SLIDE 100 s")
    for many in (1, 101):
        monkeypatch.setattr("trendweave.runners.incremental._MANY_ROWS", many)
        session = query.push(events.schema, numbers="int64")
        session.send_table(events)
        assert session.finish()["n"].to_pylist() == [5050]
    assert set(names) == {"trendweave-run", threading.current_thread().name}
