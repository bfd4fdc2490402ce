"""The command line. Exit codes: 0, 1 for a query or data error (message on stderr), 2 for wrong usage."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from trendweave.errors import TrendweaveError
from trendweave.queries import Query, query

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

QueryFile = Annotated[str, typer.Argument(metavar="FILE", help="A file with one query, or - for standard input.")]


class Format(StrEnum):
    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error


def _load(file: str) -> Query:
    return query(_read(file))


@app.callback()
def _about() -> None:
    """Trendweave: event-trend analytics for Apache Spark."""


@app.command()
def check(
    file: QueryFile,
    schema: Annotated[
        Path | None, typer.Option(help="A Parquet or Arrow file whose columns the query is checked against.")
    ] = None,
    time: Annotated[str, typer.Option(help="The column that holds the time.")] = "time",
    type: Annotated[str, typer.Option(help="The column that holds the type; an empty string for none.")] = "type",
) -> None:
    """Check a query; with --schema, also whether it fits a table."""
    checked = _load(file)
    if schema is not None:
        checked.check(_file_schema(schema), time=time, type=type or None)
    print("ok")


def _file_schema(path: Path) -> object:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if path.suffix == ".parquet":
            return pq.read_schema(path)
        with pa.memory_map(str(path)) as source:
            return pa.ipc.open_file(source).schema
    except (OSError, pa.ArrowInvalid) as error:
        raise typer.BadParameter(f"{path} is neither a Parquet nor an Arrow file: {error}") from error


@app.command()
def explain(
    file: QueryFile,
    format: Annotated[Format, typer.Option(help="Text for people, a drawing of the template, or JSON.")] = Format.text,
) -> None:
    """Show what a query means and how it will be computed."""
    print(_load(file).explain(format.value))


@app.command()
def demo() -> None:
    """Explain three queries of the GRETA paper: stock market, cluster monitoring, traffic."""
    from trendweave.demo import run_demo

    run_demo(Console())


def main() -> None:
    try:
        app()
    except TrendweaveError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(escape(str(error)))
        sys.exit(1)
