"""What is served, to whom, and how much of it at once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that keep one tab from taking the machine from the others.

    Attributes:
        rows: Rows of a result that a page gets; the rest is cut, and the page says so.
        characters: Characters that the cells of a result have together.
        seconds: How long a run may take.
        quick_seconds: How long checking, planning and looking at columns may take.
        live_seconds: How long a stream is watched.
        megabytes: Memory that a worker process may take.
        runs: Runs at once; others wait.
        streams: Streams at once.
        waiting: Requests that wait; further ones are refused.
        request: Bytes of a request.
        rules: Queries in a workload.
    """

    rows: int = 10_000
    characters: int = 6_000_000
    seconds: float = 60.0
    quick_seconds: float = 20.0
    live_seconds: float = 900.0
    megabytes: int = 2_048
    runs: int = 3
    streams: int = 12
    waiting: int = 64
    request: int = 256 * 1024
    rules: int = 200

    @property
    def memory(self) -> int:
        """The bytes of `megabytes`."""
        return self.megabytes * _MEGABYTE


@dataclass(frozen=True, slots=True)
class Serving:
    """One server.

    Attributes:
        folder: The folder whose files may be read; None where there are samples and stores alone.
        stores: Names and paths of stored events.
        host: The address that is listened at.
        port: Its port.
        token: What a visitor has to know; None where everybody on this machine may come.
        limits: How much is done at once.
    """

    folder: Path | None = None
    stores: dict[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 8760
    token: str | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{'127.0.0.1' if self.is_everywhere else host}:{self.port}/"

    @property
    def is_everywhere(self) -> bool:
        """Whether all addresses of this machine are listened at."""
        return self.host in ("0.0.0.0", "::")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
