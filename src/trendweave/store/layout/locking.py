"""One compaction at a time: the lock of a process that dies is free at once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from trendweave.errors import ExecutionError, Problem
from trendweave.store.layout.places import OWN_FOLDER, Place


@contextmanager
def alone(place: Place, what: str) -> Iterator[None]:
    """Hold the lock of a store. File systems that are not this machine's have none: there, one must not start two.

    Raises:
        ExecutionError: Another process holds it.
    """
    if not place.is_local:
        yield
        return
    place.make_folder(OWN_FOLDER)
    handle = os.open(place.path(f"{OWN_FOLDER}/.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        message = f"another process is changing the files of {place.address}, so that {what} has to wait"
        raise ExecutionError([Problem("TW431", message, "try again when it is done")]) from error
    try:
        yield
    finally:
        os.close(handle)
