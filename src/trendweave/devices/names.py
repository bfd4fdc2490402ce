"""Devices by name, the cores that this process may use, and the GPU that was assigned to it, as Spark does among its
tasks.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

#: One core, all cores of this process, a GPU, or whichever suits the number of events and the work.
Device: TypeAlias = Literal["cpu", "threads", "gpu", "auto"]
DEVICES: tuple[Device, ...] = ("cpu", "threads", "gpu", "auto")


def count_cores() -> int:
    """How many there are; those that the process was kept off do not count."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_assigned: list[int] = []


def assign_card(number: int | None) -> None:
    """Tell this process which card it uses from now on; None for any."""
    _assigned[:] = [] if number is None else [number]


def assigned_card() -> int | None:
    """The card that this process was told to use; None where nobody has said so."""
    return _assigned[0] if _assigned else None
