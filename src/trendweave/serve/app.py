"""The application: a page, what it is made of, and what it asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from trendweave import __version__
from trendweave.pictures.picture import write_style
from trendweave.serve.asking import Refused, read_asked
from trendweave.serve.folders import list_files, read_queries
from trendweave.serve.guard import Guard
from trendweave.serve.lanes import Busy, Lane
from trendweave.serve.pieces import Pieces
from trendweave.serve.samples import list_samples, list_words
from trendweave.serve.serving import Serving

_STATIC = Path(__file__).parent / "static"
#: What is answered at once, and what takes its time.
_QUICK, _LONG = ("check", "columns", "plan", "events"), ("run", "live")
#: Processes that wait for the next job, per lane; others are ended when they are done.
_KEPT = 2
#: How long the body of a request may take to come, in seconds.
_PATIENCE = 30.0


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

    posts = {
        **dict.fromkeys(_QUICK, _answer_at_once),
        **dict.fromkeys(_LONG, _answer_in_lines),
        **{f"begin/{kind}": _begin_pieces for kind in _LONG},
        "more": _give_piece,
    }
    routes = [
        Route("/", _send_page),
        Route("/pictures.css", _send_picture_style),
        Route("/api/about", _tell_about),
        *(Route(f"/api/{path}", answer, methods=["POST"], name=path) for path, answer in posts.items()),
        Mount("/static", StaticFiles(directory=_STATIC)),
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={Refused: _refuse, Busy: _refuse})
    app.state.serving = serving
    return Guard(app, serving)


def _refuse(request: Request, error: Exception) -> Response:
    return JSONResponse({"event": "refused", "message": str(error)}, 503 if isinstance(error, Busy) else 400)


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
    async with aclosing(await _start(request)) as messages:
        found = [message async for message in messages if message["event"] not in ("waiting", "working", "doing")]
    notes = [note for message in found if message["event"] == "notes" for note in message["notes"]]
    answer = next(message for message in found if message["event"] != "notes")
    return JSONResponse({**answer, "notes": notes})


async def _answer_in_lines(request: Request) -> Response:
    pieces: Pieces = request.app.state.pieces
    lines = pieces.lines(pieces.begin(await _start(request)))
    return StreamingResponse(lines, media_type="application/x-ndjson; charset=utf-8")


async def _begin_pieces(request: Request) -> Response:
    pieces: Pieces = request.app.state.pieces
    return await _send_piece(request, pieces.begin(await _start(request)))


async def _give_piece(request: Request) -> Response:
    asked = await _read_json(request)
    return await _send_piece(request, str(asked.get("ticket")) if isinstance(asked, dict) else "")


async def _send_piece(request: Request, ticket: str) -> Response:
    pieces: Pieces = request.app.state.pieces
    piece = await pieces.take(ticket)
    if await request.is_disconnected():  # the tab was closed, or what it watched was stopped
        pieces.leave(ticket)
    return JSONResponse(piece)


async def _start(request: Request) -> AsyncGenerator[dict[str, Any], None]:
    """The messages of the job that a request asks for.

    Raises:
        Refused: The request is not of the right form, or too large.
    """
    serving: Serving = request.app.state.serving
    lanes: Lanes = request.app.state.lanes
    asked = await _read_json(request)
    read_asked(asked, serving.limits.rules)
    kind = request.url.path.rpartition("/")[2]
    lane = {"run": lanes.runs, "live": lanes.streams}.get(kind, lanes.quick)
    folder = None if serving.folder is None else str(serving.folder)
    limits = asdict(serving.limits)
    return lane.run({"kind": kind, "asked": asked, "folder": folder, "stores": serving.stores, "limits": limits})


async def _read_json(request: Request) -> Any:
    """The body of a request; one that is no JSON, is too large, or takes too long to come is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        # Forms of other pages cannot send this without being asked first.
        raise Refused("requests are JSON")
    most, body = request.app.state.serving.limits.request, bytearray()
    try:
        async with asyncio.timeout(_PATIENCE):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise Refused(f"a request has at most {most:,} bytes")
        return json.loads(body)
    except TimeoutError:
        raise Refused(f"a request comes within {_PATIENCE:g} seconds") from None
    except (ValueError, RecursionError):
        raise Refused("the request is no JSON") from None
