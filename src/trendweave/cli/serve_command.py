"""`trendweave serve`: a page to try queries on."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated

import typer

from trendweave.cli.failure import Failure


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="A folder whose files can be read; without it, samples."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")] = 8760,
    host: Annotated[str, typer.Option(help="The address to listen on; all but loopback require a token.")] = (
        "127.0.0.1"
    ),
    token: Annotated[
        str | None, typer.Option(help="The token for visitors; a random one if others can reach the server.")
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]PATH", help="Stored events to offer as well; may be repeated."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Time limit of a run in seconds.")] = 60.0,
    memory: Annotated[int, typer.Option(min=256, help="Memory limit of a run in megabytes.")] = 2048,
) -> None:
    """Serve a page to write, run, draw and watch queries; by default only for this machine."""
    try:
        from trendweave.serve.serving import Limits, Serving
        from trendweave.serve.starting import start
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        message = f"the page needs the Python package {error.name}"
        raise Failure(message, "pip install 'trendweave[web]'") from error
    if not Path(__file__).exists():
        raise Failure("the page cannot be served from a zip of the package", "pip install 'trendweave[web]'")
    if folder is not None and not folder.is_dir():
        raise Failure(f"{folder} is not a folder", "name a folder, or leave it out to have only samples")
    if not host:
        raise Failure("--host is empty", "leave it out for this machine only, or write 0.0.0.0 for all")
    if token is not None and len(token) < 8:
        raise Failure("a token has at least 8 characters", "leave --token out for a random one")
    serving = Serving(
        None if folder is None else folder.resolve(),
        read_stores(store or []),
        host,
        port,
        token,
        Limits(seconds=seconds, megabytes=memory),
    )
    try:
        start(serving, lambda line: print(line, flush=True))
    except OSError as error:
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise Failure(f"{host}:{port} cannot be used: {error.strerror}", f"choose another {other}") from error


def read_stores(given: list[str]) -> dict[str, str]:
    """Stores by their names; one without a name has that of its folder."""
    stores: dict[str, str] = {}
    for word in given:
        name, sign, path = word.partition("=")
        if not sign or "/" in name:
            name, path = Path(word.rstrip("/")).name, word
        if "://" not in path and not Path(path).is_dir():
            raise Failure(f"{path} is not a folder", "name the folder of a store, or NAME=FOLDER")
        if name in stores:
            raise Failure(f"two stores are called {name}", "give one another name: --store NAME=PATH")
        stores[name] = path if "://" in path else str(Path(path).resolve())
    return stores
