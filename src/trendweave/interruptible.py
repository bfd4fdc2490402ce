"""Work that Ctrl-C stops, and whatever else a signal raises, although compiled code listens to no signal.

Python tells the main thread alone of signals, between two steps of its own. So the work is done by another thread,
which needs no lock while it is in compiled code, and the main thread waits where it can be told. Python itself may be
told, or what has taken its place: PySpark cancels its jobs first, asyncio its task, a program of its own what it likes.
What is raised goes on only when the thread has left its work, so that nothing runs on beside what the caller does next;
but for the compiler, which reads nothing of the caller's and takes seconds for one function.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import signal
import sys
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from threading import Lock, Thread, current_thread, main_thread
from time import monotonic
from typing import Generic, ParamSpec, TypeVar

from trendweave.stopping import Work, wait_for_stopped

_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")
#: Seconds between two looks; where signals end a wait (everywhere but on Windows) it is not waited for.
_PAUSE = 0.25
#: Seconds after which whoever waits for work to stop is told why.
_PATIENCE = 2.0
#: Seconds that a process waits at its end for threads that were asked to stop.
_LAST_WAIT = 0.2


def interruptible(function: Callable[_Given, _Found], work: Work | None = None) -> Callable[_Given, _Found]:
    """The same function, which Ctrl-C ends within a moment where the main thread has called it.

    It ends by what the handler of a signal raises, Python's own a KeyboardInterrupt; one that returns lets it go on.
    What is raised comes when the work has stopped: where it looks next whether it is to, or compiles. What is raised
    while it is waited for comes at once.

    Args:
        function: Does not depend on the thread that it runs in.
        work: What it does some of; unless given, each call is some work by itself.
    """

    @wraps(function)
    def call(*args: _Given.args, **options: _Given.kwargs) -> _Found:
        if not _is_told_of_ctrl_c():
            return function(*args, **options)
        return _Thread(lambda: function(*args, **options), Work() if work is None else work).wait()

    return call


def _is_told_of_ctrl_c() -> bool:
    """Whether Ctrl-C calls a function of Python in this thread; the system may also end the process, or do nothing."""
    return current_thread() is main_thread() and callable(signal.getsignal(signal.SIGINT))


class _Thread(Generic[_Found]):
    """Does some work in a thread of its own; what is set for this thread holds there, too."""

    def __init__(self, function: Callable[[], _Found], work: Work) -> None:
        self._function, self._work, self._context = function, work, copy_context()
        self._found: list[_Found] = []
        self._error: BaseException | None = None
        # A plain lock, which is one step of Python: a signal in the middle of an Event would leave its own lock taken.
        self._gate, self._has_left = Lock(), False
        self._gate.acquire()

    def _start(self) -> None:
        # A thread that still compiles does not keep the process from ending.
        Thread(target=self._run, name="trendweave-run", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._work.by_this_thread():
                self._found.append(self._context.run(self._function))
        except BaseException as error:
            if not self._work.is_stopped:
                self._error = error
        finally:
            self._has_left = True
            self._gate.release()

    def wait(self) -> _Found:
        """Start, and wait for what the function gives, or its error. What a signal raises meanwhile ends the work."""
        if self._work.is_stopped:
            raise RuntimeError("this result was interrupted, and has no more rows: run the query again")
        try:
            # One step of Python; a signal in the middle of what starts a Thread would leave it half registered.
            start_new_thread(self._start, ())
            while not self._has_left:
                self._gate.acquire(timeout=_PAUSE)
        except BaseException:
            self._work.stop()
            self._wait_until_left()
            raise
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # which holds this very frame
        return self._found.pop()

    def _wait_until_left(self) -> None:
        """Another signal ends this, too, and the thread leaves when it can. One that has not begun will not."""
        atexit.unregister(_leave_to_the_system)
        atexit.register(_leave_to_the_system)  # before all others, which may take away what threads use
        begun, told = monotonic(), False
        while not self._work.is_left:
            self._gate.acquire(timeout=_PAUSE)
            if not told and monotonic() > begun + _PATIENCE:
                told = True
                with suppress(OSError, ValueError, AttributeError):
                    said = "trendweave: stops when the step at hand is done; another Ctrl-C does not wait"
                    print(said, file=sys.stderr, flush=True)


def _leave_to_the_system() -> None:
    """At the end of the process, keep what may be in use by threads that are still in compiled code.

    Looking through all objects of a process several times, beside threads that compute, would also take seconds. LLVM
    ends the process by a signal where it still compiles when the memory of its library is given up: the process ends
    before that, with its own status, where the system has a way to; elsewhere it waits.
    """
    with suppress(BaseException):  # another signal does not wait
        if wait_for_stopped(_LAST_WAIT):
            return
    system = ctypes.CDLL(None) if sys.platform == "linux" else None
    if system is None or not hasattr(system, "on_exit"):
        wait_for_stopped()
        return
    gc.freeze()
    system.fflush(None)
    system.on_exit(system._exit, None)
