"""Answers that are taken piece by piece, by pages, or line by line, by programs.

A browser has six connections to a server, for all of its tabs together. Answers that held theirs until they end would
keep other tabs waiting; a piece holds one for a moment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any

from trendweave.serve.asking import Refused
from trendweave.serve.lanes import Busy

#: How long one who asks for a piece waits for the end of the answer, in seconds.
_HOLD = 0.25
#: How many messages wait for their page; the work behind them waits, too, then.
_MOST = 100
#: After how many seconds without a question a page counts as gone.
_PATIENCE = 15.0
_LOOK = 0.05
_LOG = logging.getLogger("trendweave.serve")


class Answer:
    """The messages of some work that were not taken yet."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.is_done = asyncio.Event()
        self._asked = time.monotonic()

    @property
    def is_forgotten(self) -> bool:
        """Whether nobody has asked for so long that nobody will."""
        return time.monotonic() - self._asked > _PATIENCE

    async def collect(self, messages: AsyncGenerator[dict[str, Any], None]) -> None:
        """Keep messages until all were taken, or nobody takes them."""
        try:
            async with aclosing(messages) as open_messages:
                async for message in open_messages:
                    self.kept.append(message)
                    await self._wait_while(lambda: len(self.kept) >= _MOST)
                    if self.is_forgotten:
                        return
        except Busy as error:  # the answer has begun when a lane turns out to be full
            self.kept.append({"event": "refused", "message": str(error)})
        except Exception:
            _LOG.exception("an answer failed")
            self.kept.append({"event": "stopped", "reason": "failed", "message": "the server failed"})
        self.is_done.set()
        await self._wait_while(lambda: bool(self.kept))

    async def take(self) -> list[dict[str, Any]]:
        """What there is after a moment, or at the end if that comes first."""
        self._asked = time.monotonic()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.is_done.wait(), _HOLD)
        taken, self.kept = self.kept, []
        return taken

    async def _wait_while(self, holds: Callable[[], bool]) -> None:
        while holds() and not self.is_forgotten:
            await asyncio.sleep(_LOOK)


class Pieces:
    """All answers that are not at their end, each under a ticket that only its page knows."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Answer, asyncio.Task[None]]] = {}

    @property
    def tickets(self) -> tuple[str, ...]:
        """Of all answers."""
        return tuple(self._open)

    def begin(self, messages: AsyncGenerator[dict[str, Any], None]) -> str:
        """Start some work; its ticket."""
        ticket = secrets.token_urlsafe(16)
        answer = Answer()
        task = asyncio.create_task(answer.collect(messages))
        self._open[ticket] = answer, task
        task.add_done_callback(lambda _: self._open.pop(ticket, None))
        return ticket

    async def take(self, ticket: str) -> dict[str, Any]:
        """The next messages, and the ticket for further ones; None where there are none.

        Raises:
            Refused: There is no such answer, or not any more.
        """
        if ticket not in self._open:
            raise Refused("the server does not know this answer any more")
        answer, _ = self._open[ticket]
        messages = await answer.take()
        return {"messages": messages, "ticket": None if answer.is_done.is_set() else ticket}

    async def lines(self, ticket: str) -> AsyncGenerator[bytes, None]:
        """All messages as lines of JSON. Whoever does not go on with them ends the work."""
        try:
            piece: dict[str, Any] = {"ticket": ticket}
            while piece["ticket"]:
                piece = await self.take(ticket)
                if piece["messages"]:
                    yield b"".join(json.dumps(message).encode() + b"\n" for message in piece["messages"])
        finally:
            self.leave(ticket)

    def leave(self, ticket: str) -> None:
        """End the work behind a ticket."""
        if ticket in self._open:
            self._open[ticket][1].cancel()

    async def close(self) -> None:
        """End all work."""
        tasks = [task for _, task in self._open.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
