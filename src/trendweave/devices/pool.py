"""Threads that stay: those of one run compute the next one, too, with the memory that they have at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from threading import Lock, local
from typing import ParamSpec, TypeVar

_Found = TypeVar("_Found")
_Given = ParamSpec("_Given")


class _Kept:
    """The threads of this process, by how many work at the same time. A process that is forked has none of them."""

    def __init__(self) -> None:
        self._lock, self._pools = Lock(), dict[int, ThreadPoolExecutor]()

    def threads(self, cores: int) -> ThreadPoolExecutor:
        with self._lock:
            if cores not in self._pools:
                self._pools[cores] = ThreadPoolExecutor(cores, "trendweave", _mark_thread)
            return self._pools[cores]

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]


_here = local()
_kept = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.forget)


def _mark_thread() -> None:
    _here.computes = True


def is_in_pool() -> bool:
    """Whether this very thread is one of those that compute: it must not wait for others of them."""
    return getattr(_here, "computes", False)


class Pool(Executor):
    """What one run asks of the threads that stay. Where it is shut down, only its own work is waited for."""

    def __init__(self, cores: int) -> None:
        self._threads = _kept.threads(cores)
        self._open = set[Future[object]]()

    def submit(self, fn: Callable[_Given, _Found], /, *args: _Given.args, **kwargs: _Given.kwargs) -> Future[_Found]:
        future = self._threads.submit(fn, *args, **kwargs)
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
            futures.wait(asked)
