"""The command `trendweave stream`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trendweave.cli.options import (
    DeviceOption,
    Master,
    NumberFormat,
    OrderOption,
    Parameters,
    QueryFile,
    QueryText,
    RuleColumns,
    Settings,
    SharingOption,
    TimeColumn,
    TimeFormatOption,
    TimeUnitOption,
    TypeColumn,
    load_queries,
    read_rule_columns,
    read_sharing,
)
from trendweave.cli.streams.options import FileFormat, From, Starting, StreamOptions, To


def stream(
    from_: Annotated[From, typer.Option("--from", help="Where events come from.")],
    checkpoint: Annotated[str, typer.Option(metavar="DIR", help="Spark's checkpoint folder, for restarts.")],
    file: QueryFile = None,
    text: QueryText = None,
    to: Annotated[
        To, typer.Option(help="Where to write rows; console is a live table, or JSON lines in a pipe.")
    ] = To.console,
    events: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of events.")] = None,
    format: Annotated[FileFormat | None, typer.Option(help="The format of its files; parquet by default.")] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="DDL", help='The columns of events: "time timestamp, type string, ...".')
    ] = None,
    servers: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Kafka's bootstrap servers.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic of events, whose values are JSON objects.")] = None,
    starting: Annotated[Starting | None, typer.Option(help="Where a new checkpoint starts; latest by default.")] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of results.")] = None,
    out_format: Annotated[FileFormat | None, typer.Option(help="The format of its files; parquet by default.")] = None,
    out_topic: Annotated[str | None, typer.Option(help="The topic of results, as JSON objects.")] = None,
    out_key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of the Kafka keys; may be repeated; by default the groups."),
    ] = None,
    watermark: Annotated[str, typer.Option(help="How late events may be, relative to the latest one.")] = "10 seconds",
    early: Annotated[bool, typer.Option("--early", help="Also return rows of open windows, with every batch.")] = False,
    numbers: Annotated[NumberFormat, typer.Option(help="How counts are returned.")] = NumberFormat.decimal,
    buckets: Annotated[
        int | None, typer.Option(min=1, help="The number of state buckets; fixed for the life of a checkpoint.")
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(help="The interval of batches; by default as soon as possible.")
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Stop when all available events are read.")
    ] = False,
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    master: Master = None,
    conf: Settings = None,
    packages: Annotated[str | None, typer.Option(help="Maven coordinates for Spark, separated by commas.")] = None,
    jars: Annotated[str | None, typer.Option(help="Jars for Spark, separated by commas.")] = None,
    read_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's reader; may be repeated.")
    ] = None,
    write_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's writer; may be repeated.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="A file for Spark's own log.")] = None,
    sharing: SharingOption = None,
    device: DeviceOption = None,
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
    order_by: OrderOption = None,
    param: Parameters = None,
    rule_columns: RuleColumns = None,
) -> None:
    """Run a query, or many, on a stream until Ctrl-C; the same command goes on where it ended."""
    # Typer makes the options of the command from its parameters; from here on they are one structure, by name.
    _run(StreamOptions(**locals()))


def _run(options: StreamOptions) -> None:
    from trendweave.cli.run_files import explain_missing_spark

    options.check()
    asked = load_queries(options.file, options.text, parameters=options.param)
    shared = read_sharing(asked, options.sharing)
    rule_columns = read_rule_columns(asked, options.rule_columns)
    with explain_missing_spark(without=""):
        run = options.make_run(asked, shared, rule_columns)
    from trendweave.cli.streams.until_stopped import run_until_stopped

    run_until_stopped(run, options.master or "local[*]", options.settings, options.title, options.log)
