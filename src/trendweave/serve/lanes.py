"""Worker processes, each with one job at a time, ended when they go beyond a limit or when nobody waits for them; and
lanes of them: so many jobs at once, some that wait, and no more."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
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
#: How often one that waits looks whether it is its turn, in seconds, and tells its page that it waits, in looks.
_TURN, _TELL_TURN = 0.05, 10


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


class Busy(Exception):
    """So many wait already that one more would wait too long."""


class Lane:
    """Runs jobs in up to `size` processes. One that has done its job waits for the next, if it is among `kept`."""

    def __init__(self, size: int, kept: int, waiting: int, seconds: float, memory: int) -> None:
        self._size, self._kept, self._most_waiting = size, kept, waiting
        self._seconds, self._memory = seconds, memory
        self._taken = 0
        self._queue: list[object] = []
        self._idle: list[WorkerProcess] = []
        self._running: set[WorkerProcess] = set()
        self._is_closed = False

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of all processes, for those who look after them."""
        return tuple(sorted(worker.number for worker in (*self._idle, *self._running)))

    @property
    def _is_full(self) -> bool:
        return self._taken >= self._size

    @property
    def running(self) -> int:
        """How many jobs run."""
        return len(self._running)

    async def prepare(self) -> None:
        """Start a process before anybody asks, so that the first one who does need not wait."""
        if not self._idle and not self._running:
            self._idle.append(await WorkerProcess.start(self._memory))

    async def run(self, job: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """The messages of a job. Whoever closes this iterator early ends the process.

        Raises:
            Busy: Too many wait.
        """
        if self._is_full and len(self._queue) >= self._most_waiting:
            raise Busy(f"{len(self._queue):,} requests wait already; try again in a moment")
        ticket = object()
        self._queue.append(ticket)
        looks = 0
        try:
            while self._is_closed or self._is_full or self._queue[0] is not ticket:
                if self._is_closed:
                    raise Busy("the server ends")
                # Told now and then, so that a page that was closed while it waits is noticed.
                if looks % _TELL_TURN == 0:
                    yield {"event": "waiting", "before": self._queue.index(ticket)}
                looks += 1
                await asyncio.sleep(_TURN)
            self._taken += 1
        finally:
            self._queue.remove(ticket)
        worker: WorkerProcess | None = None
        try:
            worker = await self._take()
            self._running.add(worker)
            async with aclosing(worker.ask(job, self._seconds)) as messages:
                async for message in messages:
                    yield message
        finally:
            self._taken -= 1
            if worker is not None:
                self._running.discard(worker)
                if worker.can_go_on and len(self._idle) < self._kept and not self._is_closed:
                    self._idle.append(worker)
                else:
                    # Shielded: a page that is closed cancels this, and must not leave a process behind.
                    await asyncio.shield(worker.end())

    async def _take(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
            await worker.end()
        return await WorkerProcess.start(self._memory)

    async def close(self) -> None:
        """End all processes, and take no more jobs."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        for worker in (*idle, *self._running):
            await worker.end()
