"""All options of `trendweave stream` as one structure: which of them go together, and the stream that they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from trendweave.cli.options import (
    Device,
    NumberFormat,
    RuleColumn,
    Sharing,
    TimeUnit,
    check_master,
    read_pairs,
    read_times,
)
from trendweave.errors import TrendweaveError
from trendweave.language.durations import read_duration

if TYPE_CHECKING:
    from trendweave.cli.answers import Asked
    from trendweave.cli.streams.running import StreamRun
    from trendweave.cli.streams.sources import Sink, Source


class From(StrEnum):
    """Where events come from."""

    files = "files"
    kafka = "kafka"


class To(StrEnum):
    """Where rows go."""

    console = "console"
    files = "files"
    kafka = "kafka"


class FileFormat(StrEnum):
    """What files are."""

    parquet = "parquet"
    json = "json"
    csv = "csv"


class Starting(StrEnum):
    """Where a new checkpoint begins in a topic."""

    earliest = "earliest"
    latest = "latest"


#: What each place needs, and what else it may be given.
_SOURCES = {
    From.files: (("events",), ("format", "schema")),
    From.kafka: (("servers", "topic", "schema"), ("starting",)),
}
_SINKS = {
    To.console: ((), ("early",)),
    To.files: (("out",), ("out_format",)),
    To.kafka: (("servers", "out_topic"), ("early", "out_key")),
}
#: Options that mean something in some places alone.
_OF_PLACES = (
    *("events", "format", "schema", "servers", "topic", "starting", "out", "out_format", "out_topic"),
    "out_key",
    *("trigger", "early", "available_now"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """What the user gave, by the names of the command's parameters; None or False is what was not given."""

    file: str | None
    text: str | None
    from_: From
    checkpoint: str
    to: To
    events: str | None
    format: FileFormat | None
    schema: str | None
    servers: str | None
    topic: str | None
    starting: Starting | None
    out: str | None
    out_format: FileFormat | None
    out_topic: str | None
    out_key: list[str] | None
    watermark: str
    early: bool
    numbers: NumberFormat
    buckets: int | None
    trigger: str | None
    available_now: bool
    time: str
    type: str
    master: str | None
    conf: list[str] | None
    packages: str | None
    jars: str | None
    read_option: list[str] | None
    write_option: list[str] | None
    log: Path | None
    sharing: Sharing | None = None
    device: Device | None = None
    time_unit: TimeUnit | None = None
    time_format: str | None = None
    order_by: list[str] | None = None
    param: list[str] | None = None
    rule_columns: list[RuleColumn] | None = None

    @property
    def title(self) -> str:
        """What a view calls the stream."""
        return f"{self.events or self.topic} to {self.out or self.out_topic or 'console'}"

    @property
    def settings(self) -> dict[str, str]:
        """Settings for Spark."""
        given = read_pairs(self.conf or [], "--conf")
        jars = (("spark.jars.packages", self.packages), ("spark.jars", self.jars))
        return given | {name: value for name, value in jars if value}

    def check(self) -> None:
        """Find wrong usage: what no other option, file or server could make right.

        Raises:
            typer.BadParameter: An option is missing, has no meaning here, or cannot be read.
        """
        self._check_places()
        check_master(self.master)
        _check_length(self.watermark, "--watermark", or_none_at_all=True)
        if self.trigger is not None:
            _check_length(self.trigger, "--trigger")
        _ = self.settings
        for name in ("read_option", "write_option"):
            read_pairs(getattr(self, name) or [], _as_option(name))

    def _check_places(self) -> None:
        given = {name: getattr(self, name) for name in _OF_PLACES if getattr(self, name) not in (None, False, [])}
        needed = dict.fromkeys(_SOURCES[self.from_][0], f"--from {self.from_.value}")
        needed |= dict.fromkeys(_SINKS[self.to][0], f"--to {self.to.value}")
        for name, place in needed.items():
            if name not in given:
                raise typer.BadParameter(f"{place} needs it", param_hint=_as_option(name))
        allowed = {*needed, *_SOURCES[self.from_][1], *_SINKS[self.to][1], "trigger", "available_now"}
        for name in given:
            if name not in allowed:
                message = f"has no meaning with --from {self.from_.value} --to {self.to.value}"
                raise typer.BadParameter(message, param_hint=_as_option(name))
        if self.format in (FileFormat.csv, FileFormat.json) and self.schema is None:
            raise typer.BadParameter(f"a stream of {self.format} files needs it", param_hint="--schema")
        if self.trigger is not None and self.available_now:
            raise typer.BadParameter("has no meaning with --available-now", param_hint="--trigger")

    def make_run(
        self,
        asked: Asked,
        sharing: Literal["auto", "always", "never"] | None = None,
        rule_columns: tuple[Literal["version", "description"], ...] = (),
    ) -> StreamRun:
        """Make the stream that is asked for; Spark must be installed."""
        from trendweave import Workload
        from trendweave.cli.answers import QUERY
        from trendweave.cli.streams.running import StreamRun

        return StreamRun(
            asked=asked,
            source=self._make_source(),
            sink=self._make_sink(QUERY if isinstance(asked, Workload) else None),
            checkpoint=self.checkpoint,
            time=self.time,
            type=self.type or None,
            numbers=self.numbers.value,
            watermark=self.watermark,
            early=self.early,
            buckets=self.buckets,
            trigger=self.trigger,
            available_now=self.available_now,
            sharing=sharing,
            device=None if self.device is None else self.device.value,
            times=read_times(self.time_unit, self.time_format),
            order_by=self.order_by,
            rule_columns=rule_columns,
        )

    def _make_source(self) -> Source:
        from trendweave.cli.streams.sources import FileSource, TopicSource

        reading = read_pairs(self.read_option or [], "--read-option")
        if self.from_ is From.files:
            format = self.format or FileFormat.parquet
            return FileSource(events=str(self.events), format=format.value, schema=self.schema, options=reading)
        return TopicSource(
            servers=str(self.servers),
            topic=str(self.topic),
            schema=str(self.schema),
            starting=(self.starting or Starting.latest).value,
            options=reading,
        )

    def _make_sink(self, by: str | None) -> Sink | None:
        from trendweave.cli.streams.sources import FileSink, TopicSink

        writing = read_pairs(self.write_option or [], "--write-option")
        if self.to is To.files:
            format = self.out_format or FileFormat.parquet
            return FileSink(out=str(self.out), format=format.value, options=writing, by=by)
        if self.to is To.kafka:
            keys = tuple(self.out_key or ())
            return TopicSink(servers=str(self.servers), topic=str(self.out_topic), keys=keys, options=writing)
        return None


def _as_option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check_length(text: str, option: str, or_none_at_all: bool = False) -> None:
    try:
        read_duration(text, option, or_none_at_all)
    except TrendweaveError as error:
        message = error.problems[0].message.removeprefix(f"{option}: ")
        raise typer.BadParameter(message, param_hint=option) from error
