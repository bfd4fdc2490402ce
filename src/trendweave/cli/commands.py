"""The command line. Exit codes: 0, 1 for a query or data error (message on stderr), 2 for wrong usage."""

from __future__ import annotations

import atexit
import errno
import gc
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

import typer

from trendweave.cli.failure import Failure
from trendweave.cli.options import Asked, CheckOptions, QueryOptions, Runner, StoreOptions, choose_runner
from trendweave.cli.own_words import in_own_words
from trendweave.cli.running import Pipe, Run, open_store
from trendweave.cli.stores import store
from trendweave.cli.stream import Stream
from trendweave.consoles import make_console
from trendweave.errors import TrendweaveError
from trendweave.workload import Workload

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
#: What stands for the name of a project in its template.
_NAME = "PROJECT"


def _print_version(asked: bool) -> None:
    if asked:
        from trendweave import __version__

        print(f"trendweave {__version__}")
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Trendweave: event-trend analytics for Apache Spark."""


@dataclass(frozen=True, kw_only=True)
class Check(CheckOptions):
    """Check one or many queries; with --schema, also against the columns of a table."""

    schema: Annotated[Path | None, typer.Option(help="A table to check the query's columns against.")] = None

    def run(self) -> None:
        """Do it."""
        self.check_columns(self.schema, self.load(lambda asked: self.check_columns(self.schema, asked)))
        print("ok")


@dataclass(frozen=True, kw_only=True)
class Explain(QueryOptions, StoreOptions):
    """Explain how a query is computed; for many queries, what they share; for a store, what is read."""

    format: Annotated[
        Literal["text", "mermaid", "dot", "json"],
        typer.Option(help="Plain text, a drawing of the template, or JSON."),
    ] = "text"
    loop: Annotated[bool, typer.Option("--loop", help="Print the loops that are generated for a query.")] = False
    schema: Annotated[
        Path | None, typer.Option(help="With --loop: a table whose columns (for many queries: events) loops are for.")
    ] = None

    def run(self) -> None:
        """Do it."""
        asked = self.load()
        if self.loop:
            if self.format != "text":
                message = "has no meaning with --loop, which prints the text of loops"
                raise typer.BadParameter(message, param_hint="--format")
            print(self._explain_loops(asked))
        elif self.store is None:
            print(asked.explain(self.format))
        else:
            print(asked.explain(open_store(self.store, self.time, self.type or None)))

    def _explain_loops(self, asked: Asked) -> str:
        if self.schema is None:
            return asked.explain(time=self.time, type=self.type or None, loop=True)
        from trendweave.cli.files import read_schema, read_table

        many = isinstance(asked, Workload)
        events = read_table(self.schema) if many else read_schema(self.schema).empty_table()
        type_ = self.choose_type(asked, events.column_names)
        return asked.explain(events=events, time=self.time, type=type_, loop=True)


Run.add_to(app, "run")
Check.add_to(app, "check")
Explain.add_to(app, "explain")
Pipe.add_to(app, "pipe")
Stream.add_to(app, "stream")
app.add_typer(store, name="store")


@app.command()
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
    limits = Limits(seconds=seconds, megabytes=memory)
    serving = Serving(None if folder is None else folder.resolve(), read_stores(store or []), host, port, token, limits)
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


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(metavar="PROJECT", help="The folder, which is not there yet, or empty.")],
) -> None:
    """Make a project to begin with: a query, some events, and a test that passes."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failure(f"{folder} exists already and is not empty", "choose another name")
    written = write_project(folder)
    print(f"{folder} has {', '.join(written)}")
    print(f"Try: cd {folder} && trendweave run falling.tw --events stock.csv --runner local && python -m unittest")


def write_project(folder: Path) -> list[str]:
    """Write the files of a project, and give their names.

    Raises:
        Failure: They cannot be written.
    """
    template = files("trendweave.cli").joinpath("template")
    names = sorted(file.name for file in template.iterdir() if file.is_file())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            text = template.joinpath(name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace(_NAME, folder.resolve().name), encoding="utf-8")
    except OSError as error:
        raise Failure(f"{folder} cannot be written: {error}", "is its folder writable?") from error
    return names


@app.command()
def package(
    out: Annotated[Path, typer.Option(metavar="PATH", help="The file to write; an existing one is replaced.")] = Path(
        "trendweave.zip"
    ),
    kernels: Annotated[
        bool,
        typer.Option("--with-kernels", help="Include compiled kernels, for executors with the CPU of this machine."),
    ] = False,
    without_lark: Annotated[
        bool, typer.Option("--without-lark", help="Leave Lark out, if executors have it installed.")
    ] = False,
) -> None:
    """Write Trendweave into one file for spark-submit --py-files, Spark Connect and clusters."""
    from trendweave import package as write_package

    if not out.absolute().parent.is_dir():
        raise Failure(f"there is no folder {out.parent}", "make it, or choose another --out")
    try:
        print(write_package(out, lark=not without_lark, kernels=kernels))
    except OSError as error:
        raise Failure(f"{out} cannot be written: {error}", "is its folder writable?") from error


@app.command()
def warm_up(
    pack: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A zip to write with all compiled kernels, for executors of the same kind."),
    ] = None,
) -> None:
    """Compile for this machine in advance what most queries need, for images and new machines."""
    from trendweave import warm_up as compile_in_advance

    try:
        print(compile_in_advance(pack))
    except OSError as error:
        raise Failure(f"{pack} cannot be written: {error.strerror}", "name a file in an existing folder") from error


@app.command(deprecated=True)
def calibrate() -> None:
    """Do nothing: --device auto goes by a table of thresholds."""
    print("--device auto goes by a table of thresholds; there is nothing to calibrate any more")


@app.command()
def demo(
    runner: Annotated[
        Runner | None,
        typer.Option(help="Where it runs: on Spark, or in this process. By default on Spark, if installed."),
    ] = None,
    picture: Annotated[Path, typer.Option(help="The file of the picture, .html or .svg.")] = Path(
        "trendweave-demo.html"
    ),
) -> None:
    """Run a query on real data: its plan, its result, a picture, and the speed on a large stream."""
    from trendweave.cli.demo import run_demo

    run_demo(make_console(), on_spark=choose_runner(runner) == "spark", picture=picture)


def main() -> None:
    """Run the command line; what goes wrong is told on stderr, with exit code 1."""
    # What a command makes while it starts is there to stay: to look for garbage in it took a fifth of the time.
    gc.set_threshold(400_000, 20, 20)
    # Nor is garbage looked for at the end, in all that the system takes back at once: that took another fifth.
    atexit.register(gc.freeze)
    try:
        app(prog_name="trendweave")
    except (TrendweaveError, Failure) as error:
        told = in_own_words(error) if isinstance(error, TrendweaveError) else error
        make_console(errors=True).print(str(told), markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
