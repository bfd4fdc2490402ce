"""Threads that stay: those of one run compute the next one, too, with the memory that they have at hand.

They do not keep a process from ending, as those of `ThreadPoolExecutor` do: it waits for them at its end. After Ctrl-C
some may be in compiled code for minutes, and nobody needs what they find.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from threading import Lock, RLock, Semaphore, Thread, local
from typing import ParamSpec, TypeVar

from trendweave.stopping import Work, away_from_work, current_work

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


class _Kept:
    """Threads that no run uses now, by how many work at the same time. A process that is forked has none of them."""

    def __init__(self) -> None:
        # The collector may close a generator, and by that give threads back, in whatever this thread does.
        self._lock, self._idle = RLock(), dict[int, DaemonThreads]()

    def take(self, cores: int) -> DaemonThreads:
        """Threads for a run alone: runs at the same time do not wait for each other's work."""
        with self._lock:
            found = self._idle.pop(cores, None)
        return DaemonThreads(cores, "trendweave", _mark_thread) if found is None else found

    def give_back(self, cores: int, threads: DaemonThreads) -> None:
        """Keep threads that have nothing to do for the next run; one set of them is enough."""
        if not threads.is_open:
            return
        with self._lock:
            other = self._idle.setdefault(cores, threads)
        if other is not threads:
            threads.shutdown(wait=False)

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]


_here = local()
_kept = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.forget)


def _mark_thread() -> None:
    _here.computes = True


def is_in_pool() -> bool:
    """Whether this very thread is one of those that compute, all of which have work already."""
    return getattr(_here, "computes", False)


def _do_some(work: Work, fn: Callable[_Given, _Found], /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
    with work.by_this_thread():
        return fn(*args, **kwargs)


class Pool(Executor):
    """The threads of one run. They stay when it is shut down, unless some are still at work."""

    def __init__(self, cores: int) -> None:
        self._cores, self._threads = cores, _kept.take(cores)
        self._open = set[Future[object]]()
        self._ended = False

    def submit(self, fn: Callable[_Given, _Found], /, *args: _Given.args, **kwargs: _Given.kwargs) -> Future[_Found]:
        assert not self._ended, "threads are another run's by now"
        work = current_work()
        if work is None:
            future = self._threads.submit(fn, *args, **kwargs)
        else:
            # Whoever stops this thread stops those that work for it.
            future = self._threads.submit(_do_some, work, fn, *args, **kwargs)
        self._open.add(future)  # type: ignore[arg-type]
        future.add_done_callback(self._open.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End what this run has asked for."""
        asked = list(self._open)
        if cancel_futures:
            for future in asked:
                future.cancel()
        if wait:
            with away_from_work():
                futures.wait(asked)
        if not self._ended:
            self._ended = True
            if all(future.done() for future in asked):
                _kept.give_back(self._cores, self._threads)
            else:
                self._threads.shutdown(wait=False)
