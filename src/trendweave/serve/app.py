"""The application: a page, what it is made of, and what it asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from trendweave import __version__
from trendweave.pictures.style import write_style
from trendweave.serve.folders import Refused, list_files, read_queries
from trendweave.serve.guard import Guard
from trendweave.serve.lanes import Busy, Lane
from trendweave.serve.messages import MessageLines
from trendweave.serve.pieces import Pieces
from trendweave.serve.requests import read_json, read_request
from trendweave.serve.samples import list_samples
from trendweave.serve.serving import Serving
from trendweave.serve.words import list_words

_STATIC = Path(__file__).parent / "static"
#: What is answered at once.
_QUICK = ("check", "columns", "plan", "events")
#: Processes that wait for the next job, per lane; others are ended when they are done.
_KEPT = 2


@dataclass(frozen=True, slots=True)
class Lanes:
    """Checking never waits for running, and running never for streams."""

    quick: Lane
    runs: Lane
    streams: Lane

    @classmethod
    def of(cls, serving: Serving) -> Lanes:
        """As many processes as the limits say."""
        limits = serving.limits
        return cls(
            Lane(2, 1, limits.waiting, limits.quick_seconds, limits.memory),
            Lane(limits.runs, _KEPT, limits.waiting, limits.seconds, limits.memory),
            Lane(limits.streams, 1, 0, limits.live_seconds, limits.memory),
        )

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of all worker processes."""
        return (*self.quick.processes, *self.runs.processes, *self.streams.processes)

    async def close(self) -> None:
        """End all processes, and take no more jobs."""
        await asyncio.gather(self.quick.close(), self.runs.close(), self.streams.close())


def make_app(serving: Serving) -> ASGIApp:
    """The application of a server; `app.state.lanes` of the inner one holds its processes while it runs."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        lanes = app.state.lanes = Lanes.of(serving)
        pieces = app.state.pieces = Pieces()
        starting = asyncio.ensure_future(asyncio.gather(lanes.quick.prepare(), lanes.runs.prepare()))
        try:
            yield
        finally:
            await asyncio.gather(starting, return_exceptions=True)
            await pieces.close()
            await lanes.close()

    routes = [
        Route("/", _send_page),
        Route("/pictures.css", _send_picture_style),
        Route("/api/about", _tell_about),
        *(Route(f"/api/{kind}", _answer_at_once, methods=["POST"], name=kind) for kind in _QUICK),
        *(Route(f"/api/{kind}", _answer_in_lines, methods=["POST"], name=kind) for kind in ("run", "live")),
        *(
            Route(f"/api/begin/{kind}", _begin_pieces, methods=["POST"], name=f"begin {kind}")
            for kind in ("run", "live")
        ),
        Route("/api/more", _give_piece, methods=["POST"]),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    handlers: Any = {Refused: _tell_refused, Busy: _tell_busy}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.state.serving = serving
    return Guard(app, serving)


async def _send_page(request: Request) -> Response:
    return FileResponse(_STATIC / "index.html")


async def _send_picture_style(request: Request) -> Response:
    """The style of all pictures, once for the page, which lets no picture bring its own."""
    return Response(write_style("auto", alone=False), media_type="text/css")


async def _tell_about(request: Request) -> Response:
    serving: Serving = request.app.state.serving
    files = await asyncio.to_thread(list_files, serving.folder)
    queries = await asyncio.to_thread(read_queries, serving.folder)
    return JSONResponse(
        {
            "version": __version__,
            "samples": list_samples(),
            "folder": None if serving.folder is None else serving.folder.name,
            "files": files,
            "queries": queries,
            "stores": list(serving.stores),
            "language": list_words(),
            "limits": asdict(serving.limits),
        }
    )


async def _answer_at_once(request: Request) -> Response:
    kind = request.url.path.rpartition("/")[2]
    job = await read_request(request, kind, request.app.state.serving)
    lanes: Lanes = request.app.state.lanes
    found: list[dict[str, Any]] = []
    async with aclosing(lanes.quick.run(job)) as messages:
        found = [message async for message in messages if message["event"] not in ("waiting", "working", "doing")]
    notes = [note for message in found if message["event"] == "notes" for note in message["notes"]]
    answer = next(message for message in found if message["event"] != "notes")
    return JSONResponse({**answer, "notes": notes})


async def _answer_in_lines(request: Request) -> Any:
    return MessageLines(await _start(request))


async def _begin_pieces(request: Request) -> Response:
    pieces: Pieces = request.app.state.pieces
    return await _send_piece(request, pieces.begin(await _start(request)))


async def _give_piece(request: Request) -> Response:
    serving: Serving = request.app.state.serving
    asked = await read_json(request, serving.limits.request)
    return await _send_piece(request, str(asked.get("ticket")) if isinstance(asked, dict) else "")


async def _send_piece(request: Request, ticket: str) -> Response:
    pieces: Pieces = request.app.state.pieces
    piece = await pieces.take(ticket)
    if await request.is_disconnected():  # the tab was closed, or what it watched was stopped
        pieces.leave(ticket)
    return JSONResponse(piece)


async def _start(request: Request) -> AsyncGenerator[dict[str, Any], None]:
    """The messages of a run or a stream."""
    kind = request.url.path.rpartition("/")[2]
    job = await read_request(request, kind, request.app.state.serving)
    lanes: Lanes = request.app.state.lanes
    return _with_busy((lanes.runs if kind == "run" else lanes.streams).run(job))


async def _with_busy(messages: AsyncGenerator[dict[str, Any], None]) -> AsyncGenerator[dict[str, Any], None]:
    """The answer has begun when a lane turns out to be full, so that this is a message, too."""
    try:
        async with aclosing(messages) as open_messages:
            async for message in open_messages:
                yield message
    except Busy as error:
        yield {"event": "refused", "message": str(error)}


def _tell_refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"event": "refused", "message": str(error)}, 400)


def _tell_busy(request: Request, error: Exception) -> Response:
    return JSONResponse({"event": "refused", "message": str(error)}, 503)
