"""The command line. Exit codes: 0, 1 for a query or data error (message on stderr), 2 for wrong usage."""

from __future__ import annotations

import atexit
import gc
import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from trendweave import Query, Workload
from trendweave.cli.failure import Failure
from trendweave.cli.options import (
    Between,
    DeviceOption,
    ExchangeOption,
    Master,
    MaxRows,
    MaxTrends,
    MaxWork,
    Memory,
    NumberFormat,
    OrderOption,
    Parameters,
    QueryFile,
    QueryText,
    RuleColumns,
    Runner,
    Settings,
    SharingOption,
    StorePath,
    TimeColumn,
    TimeFormatOption,
    TimeOptions,
    TimeUnitOption,
    TypeColumn,
    UsingOption,
    Where,
    check_master,
    choose_runner,
    choose_type_column,
    load_queries,
    read_pairs,
    read_rule_columns,
    read_sharing,
    read_times,
)
from trendweave.cli.own_words import in_own_words, show_warnings
from trendweave.cli.package_command import package
from trendweave.cli.pipes.command import pipe
from trendweave.cli.projects.command import new
from trendweave.cli.serve_command import serve
from trendweave.cli.store_commands import store
from trendweave.cli.streams.command import stream
from trendweave.cli.warm_up_command import warm_up
from trendweave.consoles import make_console
from trendweave.errors import TrendweaveError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


class Format(StrEnum):
    """How a plan is shown."""

    text = "text"
    mermaid = "mermaid"
    dot = "dot"
    json = "json"


Events = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH", help="A .parquet, .csv or .json (one object per line) file, or a folder; may be repeated."
    ),
]
Out = Annotated[
    str,
    typer.Option(
        metavar="PATH",
        help="A file of such a format, a folder/ (for many queries, a file for each), or - for the terminal (CSV in "
        "a pipe).",
    ),
]


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


@app.command()
def check(
    file: QueryFile = None,
    text: QueryText = None,
    schema: Annotated[Path | None, typer.Option(help="A table to check the query's columns against.")] = None,
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
    param: Parameters = None,
) -> None:
    """Check one or many queries; with --schema, also against the columns of a table."""
    fits = partial(_check_columns, schema, time, type or None, read_times(time_unit, time_format))
    fits(load_queries(file, text, fits, param))
    print("ok")


def _check_columns(
    events: Path | None, time: str, type_: str | None, times: TimeOptions, checked: Query | Workload
) -> None:
    """Check queries against the columns of events, where there are some on this machine."""
    from trendweave.cli.files import is_elsewhere, read_schema

    if events is None or is_elsewhere(str(events)):
        return
    columns = read_schema(events)
    type_ = choose_type_column(checked, type_, columns.names)
    if isinstance(checked, Workload) or times:
        # Also whether columns of all queries stand in one table.
        checked.schema(columns, time=time, type=type_, **times)
    else:
        checked.check(columns, time=time, type=type_)


@app.command()
def explain(
    file: QueryFile = None,
    text: QueryText = None,
    format: Annotated[Format, typer.Option(help="Plain text, a drawing of the template, or JSON.")] = Format.text,
    store: StorePath = None,
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    param: Parameters = None,
    loop: Annotated[bool, typer.Option("--loop", help="Print the loops that are generated for a query.")] = False,
    schema: Annotated[
        Path | None, typer.Option(help="With --loop: a table whose columns (for many queries: events) loops are for.")
    ] = None,
) -> None:
    """Explain how a query is computed; for many queries, what they share; for a store, what is read."""
    queries = load_queries(file, text, parameters=param)
    if loop:
        if format is not Format.text:
            raise typer.BadParameter(
                "has no meaning with --loop, which prints the text of loops", param_hint="--format"
            )
        print(_explain_loops(queries, schema, time, type or None))
        return
    if store is None:
        print(queries.explain(format.value))
        return
    from trendweave.cli.run_store import open_any

    print(queries.explain(open_any(store, time, type or None)))


def _explain_loops(queries: Query | Workload, table: Path | None, time: str, type_: str | None) -> str:
    if table is None:
        return queries.explain(time=time, type=type_, loop=True)
    from trendweave.cli.files import read_schema, read_table

    events = read_table(table) if isinstance(queries, Workload) else read_schema(table).empty_table()
    type_ = choose_type_column(queries, type_, events.column_names)
    return queries.explain(events=events, time=time, type=type_, loop=True)


@app.command()
def run(
    file: QueryFile = None,
    text: QueryText = None,
    events: Events = None,
    out: Out = "-",
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    numbers: Annotated[NumberFormat, typer.Option(help="How counts are returned.")] = NumberFormat.decimal,
    runner: Where = None,
    master: Master = None,
    conf: Settings = None,
    sharing: SharingOption = None,
    exchange: ExchangeOption = None,
    show: Annotated[
        Path | None, typer.Option(help="Also draw a picture of trends, windows or matches: .html, .svg or .png.")
    ] = None,
    store: StorePath = None,
    between: Between = None,
    using: UsingOption = None,
    device: DeviceOption = None,
    max_trends: MaxTrends = None,
    max_rows: MaxRows = None,
    max_work: MaxWork = None,
    memory: Memory = None,
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
    order_by: OrderOption = None,
    param: Parameters = None,
    rule_columns: RuleColumns = None,
) -> None:
    """Run one or many queries on files of events or on stored events."""
    from trendweave.cli.run_files import FileRun, check_show, run_in_process, run_on_spark

    settings = read_pairs(conf or [], "--conf")
    check_master(master)
    runner = choose_runner(runner, master)
    if runner is Runner.local and (master or settings or exchange):
        raise typer.BadParameter("--master, --conf and --exchange are for --runner spark")
    times = read_times(time_unit, time_format)
    first = Path(events[0]) if events else None
    queries = load_queries(file, text, partial(_check_columns, first, time, type or None, times), param)
    shared = read_sharing(queries, sharing)
    if (store is None) == (not events):
        raise typer.BadParameter("give either --events or --store")
    if store is None and (between or using):
        raise typer.BadParameter("--between and --using are for --store")
    asked = FileRun(
        queries,
        events or (),
        out,
        time,
        type or None,
        numbers.value,
        show,
        shared,
        exchange,
        device,
        max_trends,
        max_rows,
        max_work,
        memory,
        times,
        order_by,
        read_rule_columns(queries, rule_columns),
    )
    check_show(asked)
    errors = show_warnings()
    if store is not None:
        from trendweave.cli.run_store import StoreRun, run_store_here, run_store_on_spark

        stored = StoreRun(asked, store, between, using)
        if runner is Runner.local:
            run_store_here(stored, errors)
        else:
            run_store_on_spark(stored, master or "local[*]", settings, errors)
    elif runner is Runner.local:
        run_in_process(asked, errors)
    else:
        run_on_spark(asked, master or "local[*]", settings, errors)


app.command()(new)
app.command()(package)
app.command()(pipe)
app.command()(stream)
app.command()(serve)
app.command(name="warm-up")(warm_up)
app.add_typer(store, name="store")


@app.command(deprecated=True)
def calibrate() -> None:
    """Do nothing: --device auto goes by a table of thresholds."""
    print("--device auto goes by a table of thresholds; there is nothing to calibrate any more")


@app.command()
def demo(
    runner: Where = None,
    picture: Annotated[Path, typer.Option(help="The file of the picture, .html or .svg.")] = Path(
        "trendweave-demo.html"
    ),
) -> None:
    """Run a query on real data: its plan, its result, a picture, and the speed on a large stream."""
    from trendweave.cli.demo import run_demo

    run_demo(make_console(), on_spark=choose_runner(runner) is Runner.spark, picture=picture)


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
