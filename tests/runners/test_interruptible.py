"""Ctrl-C ends a run in this process at once, although compiled code is at work."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from contextvars import ContextVar
from time import sleep
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.runners.incremental import Incremental
from trendweave.runners.interruptible import interruptible

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
        # The process goes on, and the threads that are left do not keep it from ending.
        assert process.stdout.readline() == "1\n"
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


#: Work that no signal ends: some minutes, or some tenths of a second, in one call without Python's lock.
OWN_HANDLERS = """
import asyncio, hashlib, os, signal, threading
from trendweave.runners.interruptible import interruptible
def press(*delays):
    for delay in delays:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
def work(rounds):
    return interruptible(hashlib.pbkdf2_hmac)("sha256", b"", b"", rounds)
def leave(said):
    print(said, flush=True)
    os._exit(0)
LONG, SHORT = 2_000_000_000, 1_000_000
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
    "one that returns": """
told = []
signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
press(0)
assert len(work(SHORT)) == 32
assert told
leave("ended")
""",
}


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
    monkeypatch.setattr("trendweave.runners.interruptible.main_thread", threading.current_thread)
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


def test_what_python_does_ends_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    in_main_thread(monkeypatch)
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                sleep(0.01)
        finally:
            ended.set()

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    monkeypatch.setattr("trendweave.runners.interruptible.Event", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        interruptible(work)()

    assert ended.wait(10)


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
