"""Kernels are compiled once per machine: the first worker process compiles, others wait for it and load."""

from __future__ import annotations

import fcntl
from functools import cache

from trendweave.kernels import warm_up
from trendweave.kernels.compiling import FINGERPRINT, cache_folder
from trendweave.kernels.propagate import propagate_blocks


@cache
def compile_once() -> None:
    """Workers that start together would all compile the same kernels, as each finds the disk cache empty."""
    folder = cache_folder(propagate_blocks)
    if folder is None:
        return
    marker = folder / f"compiled-{FINGERPRINT[:16]}"
    if marker.exists():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "compiling.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not marker.exists():
                warm_up()
                marker.touch()
    except OSError:
        # A folder that cannot be written to: each process compiles what it needs.
        return
