"""The options of `trendweave stream`, and which of them go together."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from trendweave.cli.options import (
    Master,
    NumberFormat,
    QueryFile,
    Settings,
    TimeColumn,
    TypeColumn,
    check_master,
    load,
    pairs,
)
from trendweave.errors import TrendweaveError
from trendweave.language.durations import read_duration


class From(StrEnum):
    files = "files"
    kafka = "kafka"


class To(StrEnum):
    console = "console"
    files = "files"
    kafka = "kafka"


class FileFormat(StrEnum):
    parquet = "parquet"
    json = "json"
    csv = "csv"


class Starting(StrEnum):
    earliest = "earliest"
    latest = "latest"


def stream(
    file: QueryFile,
    from_: Annotated[From, typer.Option("--from", help="Where events come from.")],
    checkpoint: Annotated[str, typer.Option(metavar="DIR", help="Where Spark keeps what a restart needs.")],
    to: Annotated[
        To, typer.Option(help="Where rows go; console is a live table, or JSON lines in a pipe.")
    ] = To.console,
    events: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of events.")] = None,
    format: Annotated[FileFormat | None, typer.Option(help="What its files are; parquet without it.")] = None,
    schema: Annotated[
        str | None, typer.Option(metavar="DDL", help='The columns of events: "time timestamp, type string, ...".')
    ] = None,
    servers: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Kafka's bootstrap servers.")] = None,
    topic: Annotated[str | None, typer.Option(help="The topic of events, whose values are JSON objects.")] = None,
    starting: Annotated[Starting | None, typer.Option(help="Where a new checkpoint begins; latest without it.")] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of results.")] = None,
    out_format: Annotated[FileFormat | None, typer.Option(help="What its files are; parquet without it.")] = None,
    out_topic: Annotated[str | None, typer.Option(help="The topic of results, as JSON objects.")] = None,
    watermark: Annotated[str, typer.Option(help="How far events may be behind the latest one.")] = "10 seconds",
    early: Annotated[bool, typer.Option("--early", help="Rows of open windows as well, with every batch.")] = False,
    numbers: Annotated[NumberFormat, typer.Option(help="How counts are written.")] = NumberFormat.decimal,
    buckets: Annotated[
        int, typer.Option(min=1, help="Parts of the state; the same for a checkpoint's whole life.")
    ] = 16,
    trigger: Annotated[str | None, typer.Option(help="A batch this often; as soon as possible without it.")] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Stop when all that is there is read.")
    ] = False,
    time: TimeColumn = "time",
    type: TypeColumn = "type",
    master: Master = None,
    conf: Settings = None,
    packages: Annotated[str | None, typer.Option(help="Maven coordinates for Spark, by commas.")] = None,
    jars: Annotated[str | None, typer.Option(help="Jars for Spark, by commas.")] = None,
    read_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's reader; may be repeated.")
    ] = None,
    write_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's writer; may be repeated.")
    ] = None,
    log: Annotated[Path | None, typer.Option(help="A file for what Spark itself says.")] = None,
) -> None:
    """Run a query on a stream until Ctrl-C; the same command goes on where it ended."""
    given = {
        **{"events": events, "format": format, "schema": schema, "servers": servers, "topic": topic},
        **{"starting": starting, "out": out, "out-format": out_format, "out-topic": out_topic, "trigger": trigger},
        **{"early": early or None, "available-now": available_now or None},
    }
    _check(given, from_, to)
    check_master(master)
    _check_length(watermark, "--watermark", or_none_at_all=True)
    if trigger is not None:
        _check_length(trigger, "--trigger")
    settings = pairs(conf or [], "--conf")
    settings |= {key: value for key, value in (("spark.jars.packages", packages), ("spark.jars", jars)) if value}
    reading, writing = pairs(read_option or [], "--read-option"), pairs(write_option or [], "--write-option")
    asked = load(file)
    from trendweave.cli.run_files import spark_installed

    with spark_installed(without=""):
        from trendweave.cli.stream_run import StreamRun
        from trendweave.cli.stream_sources import FileSink, FileSource, Sink, Source, TopicSink, TopicSource
    from trendweave.cli.run_stream import run_stream

    source: Source
    sink: Sink | None = None
    if from_ is From.files:
        source = FileSource(str(events), (format or FileFormat.parquet).value, schema, reading)
    else:
        source = TopicSource(str(servers), str(topic), str(schema), (starting or Starting.latest).value, reading)
    if to is To.files:
        sink = FileSink(str(out), (out_format or FileFormat.parquet).value, writing)
    elif to is To.kafka:
        sink = TopicSink(str(servers), str(out_topic), writing)
    run = StreamRun(
        *(asked, source, sink, checkpoint, time, type or None, numbers.value),
        *(watermark, early, buckets, trigger, available_now),
    )
    title = f"{events or topic} to {out or out_topic or 'console'}"
    run_stream(run, master or "local[*]", settings, title, log)


#: What each place needs, and what else it may be given.
_SOURCES = {
    From.files: (("events",), ("format", "schema")),
    From.kafka: (("servers", "topic", "schema"), ("starting",)),
}
_SINKS = {
    To.console: ((), ("early",)),
    To.files: (("out",), ("out-format",)),
    To.kafka: (("servers", "out-topic"), ("early",)),
}


def _check(given: Mapping[str, object], from_: From, to: To) -> None:
    """Wrong usage is what no other option, file or server could make right."""
    needed = dict.fromkeys(_SOURCES[from_][0], f"--from {from_.value}")
    needed |= dict.fromkeys(_SINKS[to][0], f"--to {to.value}")
    for name, place in needed.items():
        if given[name] is None:
            raise typer.BadParameter(f"{place} needs it", param_hint=f"--{name}")
    allowed = {*needed, *_SOURCES[from_][1], *_SINKS[to][1], "trigger", "available-now"}
    for name, value in given.items():
        if value is not None and name not in allowed:
            message = f"has no meaning with --from {from_.value} --to {to.value}"
            raise typer.BadParameter(message, param_hint=f"--{name}")
    if given["format"] in (FileFormat.csv, FileFormat.json) and given["schema"] is None:
        raise typer.BadParameter(f"a stream of {given['format']} files needs it", param_hint="--schema")
    if given["trigger"] is not None and given["available-now"] is not None:
        raise typer.BadParameter("has no meaning with --available-now", param_hint="--trigger")


def _check_length(text: str, option: str, or_none_at_all: bool = False) -> None:
    try:
        read_duration(text, option, or_none_at_all)
    except TrendweaveError as error:
        message = error.problems[0].message.removeprefix(f"{option}: ")
        raise typer.BadParameter(message, param_hint=option) from error
