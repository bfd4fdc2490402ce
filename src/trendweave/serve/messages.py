"""Answers that come line by line, each a message in JSON, until all is said or nobody listens any more."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from starlette.types import Receive, Scope, Send

#: How long a page may take for a message before it counts as gone, in seconds.
_PATIENCE = 60.0


class MessageLines:
    """An application that sends messages as lines. When the page goes away its messages are closed, and with them the
    work behind them."""

    def __init__(self, messages: AsyncGenerator[dict[str, Any], None]) -> None:
        self._messages = messages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_wait_for_leaving(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
            results = await asyncio.gather(sending, leaving, return_exceptions=True)
        error = results[0]
        if isinstance(error, Exception) and not isinstance(error, OSError):  # nobody can be told any more
            raise error

    async def _send(self, send: Send) -> None:
        headers = [(b"content-type", b"application/x-ndjson; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with aclosing(self._messages) as messages:
            async for message in messages:
                line = json.dumps(message).encode() + b"\n"
                body = {"type": "http.response.body", "body": line, "more_body": True}
                # One who takes nothing for so long has gone, and must not hold the work behind this.
                await asyncio.wait_for(send(body), _PATIENCE)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_leaving(receive: Receive) -> None:
    with suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass
