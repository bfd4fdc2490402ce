"""The command line. Exit codes: 0, 1 for a query or data error (message on stderr), 2 for wrong usage."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape

from trendweave.errors import TrendweaveError
from trendweave.queries import Query, query

if TYPE_CHECKING:
    import pyarrow as pa

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

QueryFile = Annotated[str, typer.Argument(metavar="QUERY", help="A file with one query, or - for standard input.")]
TimeColumn = Annotated[str, typer.Option(help="The column that holds the time.")]
TypeColumn = Annotated[str, typer.Option(help="The column that holds the type; an empty string for none.")]


class Format(StrEnum):
    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


class NumberFormat(StrEnum):
    decimal = "decimal"
    int64 = "int64"
    text = "text"
    float64 = "float64"
    log2 = "log2"


class Runner(StrEnum):
    local = "local"


def _is_interval_query(asked: Query) -> bool:
    from trendweave.intervals import IntervalQuery

    return isinstance(asked, IntervalQuery)


def _show(asked: Query, result: pa.Table, file: Path) -> None:
    if not _is_interval_query(asked):
        raise typer.BadParameter("--show draws the matches of interval queries")
    from trendweave.intervals.time_line import time_line_page

    file.write_text(time_line_page(asked.plan, result), encoding="utf-8")


def _type_column(asked: Query, type: str, columns: list[str]) -> str | None:
    """The column of types; interval queries need none, and take the default one only where it is there."""
    if _is_interval_query(asked) and type == "type" and (type not in columns or asked.plan.source is None):
        return None
    return type or None


def _load(file: str) -> Query:
    if file == "-":
        return query(sys.stdin.read())
    try:
        return query(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error


@app.callback()
def _about() -> None:
    """Trendweave: event-trend analytics for Apache Spark."""


@app.command()
def check(
    file: QueryFile,
    schema: Annotated[Path | None, typer.Option(help="A table whose columns the query is checked against.")] = None,
    time: TimeColumn = "time",
    type: TypeColumn = "type",
) -> None:
    """Check a query; with --schema, also whether it fits a table."""
    checked = _load(file)
    if schema is not None:
        from trendweave.files import read_schema

        columns = read_schema(schema)
        checked.check(columns, time=time, type=_type_column(checked, type, columns.names))
    print("ok")


@app.command()
def explain(
    file: QueryFile,
    format: Annotated[Format, typer.Option(help="Text for people, a drawing of the template, or JSON.")] = Format.text,
) -> None:
    """Show what a query means and how it will be computed."""
    print(_load(file).explain(format.value))


@app.command()
def run(
    file: QueryFile,
    events: Annotated[Path, typer.Option(help="A .parquet, .csv, .json (one object a line) or .arrow file.")],
    out: Annotated[str, typer.Option(help="A file of such a kind, or - for the terminal (CSV in a pipe).")] = "-",
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    numbers: Annotated[NumberFormat, typer.Option(help="How counts are written.")] = NumberFormat.decimal,
    runner: Annotated[Runner, typer.Option(help="Where the query runs.")] = Runner.local,
    show: Annotated[
        Path | None, typer.Option(help="Draw the matches of an interval query into this HTML file.")
    ] = None,
) -> None:
    """Run a query on a file of events."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from trendweave.files import read_table, write_table
    from trendweave.terminal import print_table

    asked = _load(file)
    errors = Console(stderr=True)
    logging.getLogger("trendweave").addHandler(RichHandler(console=errors, show_time=False, show_path=False))
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        step = progress.add_task("reading events", total=3)
        table = read_table(events)
        progress.update(step, advance=1, description=f"aggregating trends of {table.num_rows:,} events")
        options = {} if _is_interval_query(asked) else {"numbers": numbers.value}
        result = asked.run(table, time=time, type=_type_column(asked, type, table.column_names), **options)
        if show is not None:
            _show(asked, result, show)
        progress.update(step, advance=1, description=f"writing {result.num_rows:,} rows")
        if out != "-":
            write_table(result, Path(out))
    if out == "-" and sys.stdout.isatty():
        print_table(Console(), result)
    elif out == "-":
        import pyarrow.csv

        pyarrow.csv.write_csv(result, sys.stdout.buffer)


@app.command()
def demo() -> None:
    """Show a query on real data: its plan, its result and a chart."""
    from trendweave.demo import run_demo

    run_demo(Console())


def main() -> None:
    try:
        app()
    except TrendweaveError as error:
        Console(stderr=True, soft_wrap=True, highlight=False).print(escape(str(error)))
        sys.exit(1)
