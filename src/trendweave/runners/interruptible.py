"""Work that Ctrl-C stops at once, although compiled code listens to no signal.

Python tells the main thread alone of Ctrl-C, between two steps of its own. So the work is done by another thread, which
needs no lock while it is in compiled code, and the main thread waits where it can be told. Python itself may be told,
or what has taken its place: PySpark cancels its jobs first, asyncio its task, a program of its own what it likes.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import signal
from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from threading import Event, Thread, current_thread, main_thread
from typing import Generic, ParamSpec, TypeVar

_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")
#: Seconds between two looks; where signals end a wait (everywhere but on Windows) it is not waited for.
_PAUSE = 0.25


class Stopped(BaseException):
    """Ends the work of a thread that nobody waits for any more."""


def interruptible(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """The same function, which Ctrl-C ends within a moment where the main thread has called it.

    It ends by what the handler of the signal raises, Python's own a KeyboardInterrupt; one that returns lets it go on.
    What is under way in compiled code then goes on to its end, and nothing after it does.

    Args:
        function: Does not depend on the thread that it runs in.
    """

    @wraps(function)
    def call(*args: _Given.args, **options: _Given.kwargs) -> _Found:
        if not _is_told_of_ctrl_c():
            return function(*args, **options)
        return _Work(lambda: function(*args, **options)).wait()

    return call


def _is_told_of_ctrl_c() -> bool:
    """Whether Ctrl-C calls a function of Python in this thread; the system may also end the process, or do nothing."""
    return current_thread() is main_thread() and callable(signal.getsignal(signal.SIGINT))


class _Work(Generic[_Found]):
    """Something that a thread of its own does; what is set for this thread holds there, too."""

    def __init__(self, function: Callable[[], _Found]) -> None:
        self._function, self._context = function, copy_context()
        self._ended = Event()
        self._found: list[_Found] = []
        self._error: BaseException | None = None
        # A thread that is still in compiled code does not keep the process from ending.
        self._thread = Thread(target=self._run, name="trendweave-run", daemon=True)

    def _run(self) -> None:
        try:
            self._found.append(self._context.run(self._function))
        except BaseException as error:
            self._error = error
        finally:
            self._ended.set()

    def wait(self) -> _Found:
        """Start, and wait for what the function gives, or its error. What a signal raises meanwhile ends the work."""
        try:
            self._thread.start()
            while not self._ended.wait(_PAUSE):
                pass
        except BaseException:
            self._stop()
            raise
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # which holds this very frame
        return self._found.pop()

    def _stop(self) -> None:
        """End the thread at the next step that Python takes in it."""
        if self._thread.ident is not None and self._thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident), ctypes.py_object(Stopped))
            atexit.register(_leave_to_the_system, self._thread)


def _leave_to_the_system(thread: Thread) -> None:
    """At the end of the process, keep what may be in use by a thread that is still in compiled code.

    Looking through all objects of a process several times, beside threads that compute, would also take seconds.
    """
    if thread.is_alive():
        gc.freeze()
