"""Threads that do not keep a process from ending, as those of `ThreadPoolExecutor` do: it waits for them at its end.

After Ctrl-C some may be in compiled code for minutes, and nobody needs what they find.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import ParamSpec, TypeVar

from trendweave.stopping import away_from_work

_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")
#: A future, and what sets its result; None ends a thread.
_Asked = tuple[Future[object], Callable[[], object]] | None


class _Awaited(Future[_Found]):
    """Whoever waits for it does nothing else meanwhile, and leaves where it is asked to."""

    def result(self, timeout: float | None = None) -> _Found:
        with away_from_work():
            return super().result(timeout)


class DaemonThreads(Executor):
    """At most so many threads, started when there is work for them, that end with the process or when shut down."""

    def __init__(self, most: int, name: str, begin: Callable[[], object]) -> None:
        """No thread is started yet.

        Args:
            most: So many work at the same time.
            name: What the names of the threads begin with.
            begin: Called by every thread before its first work.
        """
        self._most, self._name, self._begin = most, name, begin
        self._lock, self._started, self._closed = Lock(), 0, False
        self._asked, self._idle = SimpleQueue[_Asked](), Semaphore(0)
        # Threads hold the queue and not this object, so they end, too, where it is forgotten without a shutdown.
        self._end = weakref.finalize(self, self._asked.put, None)
        self._end.atexit = False

    @property
    def is_open(self) -> bool:
        """Whether they take work. The collector ends threads that are forgotten before it closes generators, which may
        bring them back."""
        return not self._closed and self._end.alive

    def submit(self, fn: Callable[_Given, _Found], /, *args: _Given.args, **kwargs: _Given.kwargs) -> Future[_Found]:
        future: Future[_Found] = _Awaited()
        with self._lock:
            if not self.is_open:
                raise RuntimeError("threads that are shut down take no work")
            self._asked.put((future, lambda: fn(*args, **kwargs)))  # type: ignore[arg-type]
            if not self._idle.acquire(blocking=False) and self._started < self._most:
                self._started += 1
                name, given = f"{self._name}_{self._started}", (self._asked, self._idle, self._begin)
                Thread(target=_work, name=name, args=given, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work. Whoever wants to wait, or to cancel, has the futures."""
        assert not wait, "futures are waited for by those who have them"
        assert not cancel_futures, "futures are cancelled by those who have them"
        with self._lock:
            self._closed = True
        self._asked.put(None)


def _work(asked: SimpleQueue[_Asked], idle: Semaphore, begin: Callable[[], object]) -> None:
    """Do what is asked until the end is."""
    begin()
    while (item := asked.get()) is not None:
        _do(*item)
        # What is found may be large: this thread does not hold it while it waits.
        del item
        idle.release()
    asked.put(None)  # for the next thread


def _do(future: Future[object], function: Callable[[], object]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        found = function()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(found)
