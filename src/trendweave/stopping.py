"""Asking work to stop: whoever computes looks whether it is to, and leaves where nothing is half done.

Nothing is raised in a thread from outside. Numba builds what a kernel returns, and keeps its own books while it
compiles, without expecting an exception there; one ended the process. So the threads that compute look themselves:
before and after each kernel, between two functions that are compiled, and in the loops of kernels that may take long.

Nobody needs to wait for a thread that compiles, which may take seconds for one function: it reads none of what it works
on, and looks whether it is to stop before it does again. Threads that have to be gone are waited for by a fork, whose
child would find their locks taken.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import inf
from threading import Lock, get_ident, local
from time import monotonic, sleep

#: Threads that kernels can be told of at the same time; others leave before their next kernel.
_MOST = 255
#: What kernels look at: how many threads are to stop, then the `threading.get_ident` of each.
STOPS = (ctypes.c_int64 * (1 + _MOST))()
STOPS_ADDRESS = ctypes.addressof(STOPS)

_lock, _here = Lock(), local()
#: The same for Python.
_to_stop = list[int]()
#: Seconds between two looks whether threads are gone.
_PAUSE = 0.01
#: Seconds that a fork waits for them: more than any function takes to be compiled.
_LONGEST_WAIT = 60.0


class Stopped(BaseException):
    """Ends the work of a thread that nobody waits for any more."""


class Work:
    """Something that threads do together, and that is stopped as a whole."""

    def __init__(self) -> None:
        self._threads, self._away = list[int](), list[int]()
        self.is_stopped = False

    @property
    def is_left(self) -> bool:
        """Whether no thread that does it touches anything of it, and none will once it is stopped."""
        with _lock:
            return all(thread in self._away for thread in self._threads)

    def stop(self) -> None:
        """Ask all threads that do it, now or later, to leave it."""
        with _lock:
            self.is_stopped = True
            _to_stop.extend(self._threads)
            _stopped.append(self)
            _tell_kernels()

    @contextmanager
    def by_this_thread(self) -> Iterator[None]:
        """This thread does some of it as long as the block runs."""
        thread, before = get_ident(), current_work()
        with _lock:
            if self.is_stopped:
                raise Stopped
            self._threads.append(thread)
        _here.work = self
        try:
            yield
        finally:
            _here.work = before
            with _lock:
                self._threads.remove(thread)
                if thread in _to_stop:
                    _to_stop.remove(thread)
                    _tell_kernels()

    @contextmanager
    def away(self) -> Iterator[None]:
        """This thread touches nothing of it as long as the block runs, and leaves behind it where it is asked to."""
        thread = get_ident()
        with _lock:
            self._away.append(thread)
        try:
            yield
        finally:
            with _lock:
                self._away.remove(thread)
            heed_stop()


#: What was stopped, unless all threads were seen to be gone.
_stopped = list[Work]()


def current_work() -> Work | None:
    """What this thread does some of; None where nobody can stop it."""
    return getattr(_here, "work", None)


def away_from_work() -> AbstractContextManager[None]:
    """As long as the block runs, this thread touches nothing of what it works on (`Work.away`)."""
    work = current_work()
    return nullcontext() if work is None else work.away()


def wait_for_stopped(seconds: float = inf) -> bool:
    """Whether all threads that were asked to stop are gone, at the latest after so many seconds."""
    end = monotonic() + seconds
    while True:
        with _lock:
            _stopped[:] = [work for work in _stopped if work._threads]
            if not _stopped or monotonic() >= end:
                return not _stopped
        sleep(_PAUSE)


def heed_stop() -> None:
    """Leave where this thread is asked to."""
    if _to_stop and get_ident() in _to_stop:
        raise Stopped


def _tell_kernels() -> None:
    told = _to_stop[:_MOST]
    for place, thread in enumerate(told, 1):
        STOPS[place] = thread
    STOPS[0] = len(told)


def _forget_threads() -> None:
    """A forked process has none of the others, and may give their numbers to new ones."""
    global _lock
    _lock = Lock()
    _to_stop.clear()
    _stopped.clear()
    _tell_kernels()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: wait_for_stopped(_LONGEST_WAIT), after_in_child=_forget_threads)
