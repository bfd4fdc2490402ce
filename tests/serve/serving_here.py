"""A real server on a free port of this machine, in a thread of the test, and a client that knows nothing of it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import uvicorn

from trendweave.serve.app import Lanes, make_app
from trendweave.serve.serving import Serving
from trendweave.serve.starting import listen

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines()]

    def only(self, event: str) -> dict[str, Any]:
        (found,) = [line for line in self.lines if line["event"] == event]
        return found


@dataclass(frozen=True)
class Server:
    port: int
    app: Any

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/"

    @property
    def lanes(self) -> Lanes:
        return self.app.app.state.lanes

    def open(
        self, method: str, path: str, asked: Any = None, headers: dict[str, str] | None = None, raw: bytes | None = None
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """A request whose answer is still to be read; whoever closes the connection is a tab that was closed."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=120)
        body = raw if raw is not None else None if asked is None else json.dumps(asked).encode()
        known = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, {**known, **(headers or {})})
        return connection, connection.getresponse()

    def ask(self, method: str, path: str, asked: Any = None, **more: Any) -> Answer:
        connection, answer = self.open(method, path, asked, **more)
        try:
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def post(self, kind: str, asked: Any, **more: Any) -> Answer:
        return self.ask("POST", f"/api/{kind}", asked, **more)


@contextmanager
def serve_here(serving: Serving) -> Iterator[Server]:
    listening = listen(HOST, 0)
    port = listening.getsockname()[1]
    app = make_app(replace(serving, port=port))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield Server(port, app)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def wait_until(holds: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


FALLING = """RETURN sector, COUNT(*) AS falls
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 1 minute SLIDE 1 minute"""
STOCK = {"kind": "sample", "name": "stock", "events": 2_000}


def asked(*texts: str, source: Any = STOCK, **more: Any) -> dict[str, Any]:
    return {
        "rules": [{"name": f"q{place}", "text": text} for place, text in enumerate(texts)],
        "source": source,
        **more,
    }
