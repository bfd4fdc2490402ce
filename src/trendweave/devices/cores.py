"""The cores that this process may use."""

from __future__ import annotations

import os


def count_cores() -> int:
    """How many there are; those that the process was kept off do not count."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
