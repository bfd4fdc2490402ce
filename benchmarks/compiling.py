"""Seconds that Numba compiles for, as its own events tell them."""

from __future__ import annotations

from time import thread_time
from typing import Any

from numba.core import event


class Compiling(event.Listener):  # type: ignore[misc]
    """Seconds of CPU that Numba compiles for, by function; what it compiles on the way belongs to the outermost one."""

    def __init__(self) -> None:
        self.seconds = dict[str, float]()
        self._began = list[float]()

    def on_start(self, event: Any) -> None:
        """Numba calls this before it compiles a function."""
        self._began.append(thread_time())

    def on_end(self, event: Any) -> None:
        """And this behind it."""
        began = self._began.pop()
        if not self._began:
            name = event.data["dispatcher"].py_func.__qualname__
            self.seconds[name] = self.seconds.get(name, 0.0) + thread_time() - began
