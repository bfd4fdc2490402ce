"""Threads that stay: those of one run compute the next one, too, with the memory that they have at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor, Future
from threading import RLock, local
from typing import ParamSpec, TypeVar

from trendweave.devices.daemon_threads import DaemonThreads
from trendweave.stopping import Work, away_from_work, current_work

_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")


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
