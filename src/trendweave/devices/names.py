"""What devices are called."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: One core, all cores of this process, a GPU, or whichever suits the number of events and the work.
Device: TypeAlias = Literal["cpu", "threads", "gpu", "auto"]
DEVICES: tuple[Device, ...] = ("cpu", "threads", "gpu", "auto")
