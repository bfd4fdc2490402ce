"""Lanes of worker processes: so many jobs at once, some that wait, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from trendweave.serve.processes import WorkerProcess

#: How often one that waits looks whether it is its turn, in seconds, and tells its page that it waits, in looks.
_LOOK, _TELL = 0.05, 10


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
                if looks % _TELL == 0:
                    yield {"event": "waiting", "before": self._queue.index(ticket)}
                looks += 1
                await asyncio.sleep(_LOOK)
            self._taken += 1
        finally:
            self._queue.remove(ticket)
        try:
            async with aclosing(self._run_now(job)) as messages:
                async for message in messages:
                    yield message
        finally:
            self._taken -= 1

    async def _run_now(self, job: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        worker = await self._take()
        self._running.add(worker)
        try:
            async with aclosing(worker.ask(job, self._seconds)) as messages:
                async for message in messages:
                    yield message
        finally:
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
