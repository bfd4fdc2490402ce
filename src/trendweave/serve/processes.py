"""Worker processes: one job at a time each, ended when they go beyond a limit or when nobody waits for them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

#: A line of an answer has at most so many bytes; results are cut well below.
_LONGEST_LINE = 64 * 1024 * 1024
#: While a job says nothing, how often it is looked at, in seconds.
_LOOK = 0.25
#: While a job says nothing, how often the page is told that it goes on, in looks.
_TELL = 2
_PAGE = os.sysconf("SC_PAGE_SIZE")

#: The last message of a job, with which a worker is free again.
DONE = "done"


class WorkerProcess:
    """A process that runs jobs; messages go both ways as lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process, memory: int) -> None:
        self._process, self._memory = process, memory
        self.is_free = True
        self._is_ended = False

    @classmethod
    async def start(cls, memory: int) -> WorkerProcess:
        """Start one; it is of use a second or two later."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "trendweave.serve.worker", str(memory)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            start_new_session=True,  # Ctrl-C is for the server, which then ends its workers
        )
        return cls(process, memory)

    @property
    def number(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can take a job."""
        return self._process.returncode is None

    @property
    def can_go_on(self) -> bool:
        """Whether it may wait for another job: it lives, has done its last one, and holds little memory."""
        return self.is_alive and self.is_free and self._used() < self._memory / 2

    async def ask(self, job: dict[str, Any], seconds: float) -> AsyncGenerator[dict[str, Any], None]:
        """Run a job. Its messages come as they are made; between them comes `working` every half second, so that a page
        that was closed is noticed.

        Args:
            job: What to do.
            seconds: After this time the process is ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.is_free = False
        began = time.monotonic()
        line = json.dumps({**job, "seconds": seconds}).encode() + b"\n"
        with suppress(ConnectionError):  # one that has died says nothing, and that is told below
            self._process.stdin.write(line)
            await self._process.stdin.drain()
        reading: asyncio.Task[bytes] | None = None
        looks = 0
        try:
            while True:
                reading = reading or asyncio.ensure_future(self._process.stdout.readline())
                await asyncio.wait({reading}, timeout=_LOOK)
                passed = time.monotonic() - began
                if reading.done():
                    message = _read(reading.result())
                    reading = None
                    if message is None:
                        yield _stopped("failed", "the process that ran this has ended: it may have run out of memory")
                        return
                    if message["event"] == DONE:
                        self.is_free = True
                        return
                    yield message
                else:
                    looks += 1
                    if looks % _TELL == 0:
                        yield {"event": "working", "seconds": round(passed, 1)}
                if self._used() > self._memory:
                    yield _stopped("memory", f"this took more than {_megabytes(self._memory)} of memory")
                    return
                if passed > seconds:
                    yield _stopped("time", f"this took longer than {seconds:g} seconds")
                    return
        finally:
            if reading is not None:
                reading.cancel()

    def _used(self) -> int:
        """Bytes in memory; 0 where the system does not tell."""
        try:
            return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * _PAGE
        except (OSError, IndexError, ValueError):
            return 0

    async def end(self) -> None:
        """End it at once, whatever it does."""
        if self._process.returncode is None and not self._is_ended:
            self._is_ended = True  # a second time would take the end of the process from those who wait for it
            with suppress(ProcessLookupError):
                self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()
        # Its pipes end a moment later, in which the server may have ended, too.
        self._process._transport.close()  # type: ignore[attr-defined]


def _read(line: bytes) -> dict[str, Any] | None:
    """A message; None where the process ended in the middle of one, or before."""
    if not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    return message


def _stopped(reason: str, message: str) -> dict[str, Any]:
    return {"event": "stopped", "reason": reason, "message": message}


def _megabytes(number: int) -> str:
    return f"{number // (1024 * 1024):,} MB"
