"""While something is compiled: other processes that need the same wait for it, and whoever waits long is told why."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO

from trendweave.kernel_cache.files import KERNELS
from trendweave.kernel_cache.folders import kernel_folder, kernel_folders
from trendweave.stopping import Work, current_work, heed_stop

try:
    import fcntl
except ImportError:  # Windows: each process compiles for itself
    fcntl = None  # type: ignore[assignment]

#: Seconds of compiling in a process before it says so.
PATIENCE = 2.0
#: Seconds without compiling after which it would be said again: another kind of query needs other code.
_PAUSE = 5.0
#: Seconds to wait for another process; a compiler that takes longer was perhaps stopped, so do it here.
_LONGEST_WAIT = 120.0
#: Measured: 2 seconds for a list of pairs, 12 for matches that conditions on the whole choose, more for many queries.
_RANGE = "2 to 30 seconds of CPU time"
#: Nothing is told where this variable of the environment, which stands for progress bars too, says so.
_VARIABLE = "TRENDWEAVE_PROGRESS"


class _Teller:
    """Says that time goes into compiling, once for a query or several that follow each other."""

    def __init__(self) -> None:
        self.total = 0.0
        self._spent = 0.0
        self._told = False
        self._ended = 0.0

    @contextmanager
    def watch(self) -> Iterator[None]:
        start = time.monotonic()
        if start - self._ended > _PAUSE:
            self._spent, self._told = 0.0, False
        timer = threading.Timer(max(0.0, PATIENCE - self._spent), self._tell, (current_work(),))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._ended = time.monotonic()
            self._spent += self._ended - start
            self.total += self._ended - start

    def _tell(self, work: Work | None = None) -> None:
        if self._told or (work is not None and work.is_stopped):
            return
        folder = kernel_folder()
        kept = "each time: there is no folder to keep it in" if folder is None else f"once, and is kept in {folder}"
        _print(f"compiling this kind of query for this machine takes {_RANGE}, {kept}")
        self._told = True


_TELLER = _Teller()
_STATE = threading.local()


def seconds_of_compiling() -> float:
    """How long this process has compiled, or has waited for another that did."""
    return _TELLER.total


@cache
def tell_driver() -> None:
    """Say on the driver that tasks will compile, where this machine has nothing compiled: tasks write it to logs."""
    folders = [entry for folder in kernel_folders() for entry in folder.glob(f"{KERNELS}*") if any(entry.iterdir())]
    if not folders:
        _print(
            f"tasks with many events compile the first query of a kind for {_RANGE}, once on each machine; "
            "`trendweave package --with-kernels` ships what is compiled"
        )


def _print(line: str) -> None:
    if os.environ.get(_VARIABLE, "").lower() not in ("0", "off", "false", "no"):
        with suppress(OSError, ValueError, AttributeError):
            print(f"trendweave: {line}", file=sys.stderr, flush=True)


@contextmanager
def compiling(key: str) -> Iterator[None]:
    """Compile what the key names, unless another process is at it: then wait until it has done so.

    What is compiled for it on the way belongs to it. Only the outermost waits, so no two can wait for each other.
    """
    if getattr(_STATE, "busy", False):
        yield
        return
    _STATE.busy = True
    try:
        with _TELLER.watch(), _alone(int(key[:7], 16)):
            yield
    finally:
        _STATE.busy = False


@contextmanager
def _alone(place: int) -> Iterator[None]:
    """Hold the lock of one place of a file that processes of this user share."""
    file = _open_lock()
    if file is None:
        yield
        return
    with file:
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except BlockingIOError:
                time.sleep(0.02)
                heed_stop()
            except OSError:  # a file system without locks
                break
            else:
                break
        yield


def _open_lock() -> IO[bytes] | None:
    folder = kernel_folder()
    if folder is None or fcntl is None:
        return None
    try:
        return (folder / "compiling.lock").open("ab")
    except OSError:
        return None
