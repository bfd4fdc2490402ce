"""Ctrl-C while Spark works: the command ends as if nothing else had gone wrong.

Spark cancels its jobs at Ctrl-C, and PySpark then raises what the JVM says of a cancelled job in place of the
interrupt.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def telling_interrupts() -> Iterator[None]:
    """Any error that comes out of the block after Ctrl-C is a KeyboardInterrupt.

    Whoever handles the signal when the block begins, goes on to do so.
    """
    interrupted = False
    handle = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        if callable(handle):
            handle(number, frame)

    if callable(handle):
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception as error:
        if interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        # Others may have taken the signal meanwhile.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, handle)
