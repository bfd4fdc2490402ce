"""The memory of a process, as Linux tells it."""

from __future__ import annotations

import sys
from pathlib import Path


def own_peak_megabytes() -> float:
    """Tell the highest resident size of this process since its program began.

    `getrusage` would not do: a process starts as a copy of the one that starts it, and its `ru_maxrss` remembers the
    peak of that one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        raise OSError(f"the peak of a process is read from /proc, which {sys.platform} does not have")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024
