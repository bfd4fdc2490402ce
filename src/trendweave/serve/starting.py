"""Starts the server, and says where the page is."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import uvicorn

from trendweave.serve.app import make_app
from trendweave.serve.serving import Serving, is_loopback


def with_token(serving: Serving) -> Serving:
    """A server that others can reach asks for a token; where none was given, a random one."""
    if serving.token is None and not is_loopback(serving.host):
        return replace(serving, token=secrets.token_urlsafe(24))
    return serving


def start(serving: Serving, tell: Callable[[str], None]) -> None:
    """Serve until the process is interrupted.

    Args:
        serving: What is served; port 0 takes any that is free.
        tell: Gets lines for people: where the page is, and what it shows.

    Raises:
        OSError: The port is taken.
    """
    listening = listen(serving.host, serving.port)
    serving = with_token(replace(serving, port=listening.getsockname()[1]))
    config = uvicorn.Config(
        make_app(serving),
        log_level="error",  # upgrades that are asked for would be told as a missing package
        access_log=False,  # addresses may hold the token
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=2,  # streams that are watched must not hold the server
    )
    for line in _describe(serving):
        tell(line)
    _Server(config).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Ends the work first, and with it the answers that are still given: nobody waits for those."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        guard: Any = self.config.app
        await guard.app.state.lanes.close()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Listen before anything else starts, so that a port that is taken is told in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever comes before the server is ready waits for it
    except OSError:
        listening.close()
        raise
    return listening


def _describe(serving: Serving) -> list[str]:
    token = "" if serving.token is None else f"?token={quote(serving.token)}"
    shown = ["samples"]
    shown += [] if serving.folder is None else [f"files in {serving.folder}"]
    shown += [f"the store {name}" for name in serving.stores]
    return [
        f"Trendweave is at {serving.address}{token}",
        *([f"Others find it at http://{socket.gethostname()}:{serving.port}/{token}"] if serving.is_everywhere else []),
        f"It shows {', '.join(shown)}; it reads, and never writes.",
        "Ctrl-C ends it.",
    ]
