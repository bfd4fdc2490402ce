"""While something is compiled: other processes that need the same wait for it, and whoever waits long is told why."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from threading import Timer, local
from time import monotonic, sleep
from typing import IO
from zlib import crc32

from trendweave.kernel_cache.files import kept_folder, kept_folders
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
#: Measured: 1 to 3 seconds for aggregates, 2 to 4 for lists of trends, 5 for intervals and for a few queries that share
#: work; 14 for 17 queries of eight kinds.
_RANGE = "1 to 10 seconds of CPU time"
#: Nothing is told where this variable of the environment, which stands for progress bars too, says so.
_VARIABLE = "TRENDWEAVE_PROGRESS"


class _Spent:
    """Seconds of compiling in this process, and those since it was last told of, or has paused."""

    total = lately = ended = 0.0
    told = False


_spent, _here = _Spent(), local()


def seconds_of_compiling() -> float:
    """How long this process has compiled, or has waited for another that did."""
    return _spent.total


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Compile what is kept under this name, unless another process is at it: then wait until it has done so.

    What is compiled for it on the way belongs to it. Only the outermost waits, so no two can wait for each other.
    """
    if getattr(_here, "busy", False):
        yield
        return
    _here.busy, begun = True, monotonic()
    if begun - _spent.ended > _PAUSE:
        _spent.lately, _spent.told = 0.0, False
    timer = Timer(max(0.0, PATIENCE - _spent.lately), _tell, (current_work(),))
    timer.daemon = True
    timer.start()
    try:
        with _open_lock() or nullcontext() as lock:
            while lock and not _is_ours(lock, crc32(name.encode())) and monotonic() < begun + _LONGEST_WAIT:
                sleep(0.02)
                heed_stop()
            yield
    finally:
        timer.cancel()
        _here.busy, _spent.ended = False, monotonic()
        _spent.lately += _spent.ended - begun
        _spent.total += _spent.ended - begun


def _open_lock() -> IO[bytes] | None:
    """A file that processes of this user share; each holds the byte of what it compiles."""
    folder = kept_folder()
    with suppress(OSError):
        return None if folder is None or fcntl is None else (folder / "compiling.lock").open("ab")
    return None


def _is_ours(lock: IO[bytes], place: int) -> bool:
    """Whether no other process holds a place of the lock; in a file system without locks none is known to."""
    try:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _tell(work: Work | None = None) -> None:
    if _spent.told or (work is not None and work.is_stopped):
        return
    folder = kept_folder()
    kept = "each time: there is no folder to keep it in" if folder is None else f"once, and is kept in {folder}"
    _print(f"compiling this kind of query for this machine takes {_RANGE}, {kept}")
    _spent.told = True


@cache
def tell_driver() -> None:
    """Say on the driver that tasks will compile, where this machine has nothing compiled: tasks write it to logs."""
    if not any(path for folder in kept_folders() for path in folder.glob("*.kernel")):
        _print(
            f"tasks with many events compile the first query of a kind for {_RANGE}, once on each machine; "
            "`trendweave package --with-kernels` ships what is compiled"
        )


def _print(line: str) -> None:
    if os.environ.get(_VARIABLE, "").lower() not in ("0", "off", "false", "no"):
        with suppress(OSError, ValueError, AttributeError):
            print(f"trendweave: {line}", file=sys.stderr, flush=True)
