"""`trendweave stream`: a query, or many, on a stream of files or of Kafka, until it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from trendweave.cli.failure import Failure
from trendweave.cli.options import RuleOptions, as_option, read_pairs
from trendweave.cli.running import explain_missing_spark
from trendweave.consoles import make_console
from trendweave.errors import TrendweaveError
from trendweave.language.durations import read_duration

if TYPE_CHECKING:
    from trendweave.cli.spark_streams import Streaming

StreamFormat: TypeAlias = Literal["parquet", "json", "csv"]

#: What each place needs, and what else it may be given.
_SOURCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "files": (("events",), ("format", "schema")),
    "kafka": (("servers", "topic", "schema"), ("starting",)),
}
_SINKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "console": ((), ("early",)),
    "files": (("out",), ("out_format",)),
    "kafka": (("servers", "out_topic"), ("early", "out_key")),
}
#: What a shell gives for a command that Ctrl-C ended.
INTERRUPTED = 130
_LINES_OF_LOG = 12


@dataclass(frozen=True, kw_only=True)
class Stream(RuleOptions):
    """Run a query, or many, on a stream until Ctrl-C; the same command goes on where it ended."""

    from_: Annotated[Literal["files", "kafka"], typer.Option("--from", help="Where events come from.")]
    checkpoint: Annotated[str, typer.Option(metavar="DIR", help="Spark's checkpoint folder, for restarts.")]
    to: Annotated[
        Literal["console", "files", "kafka"],
        typer.Option(help="Where to write rows; console is a live table, or JSON lines in a pipe."),
    ] = "console"
    events: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of events.")] = None
    format: Annotated[StreamFormat | None, typer.Option(help="The format of its files; parquet by default.")] = None
    schema: Annotated[
        str | None, typer.Option(metavar="DDL", help='The columns of events: "time timestamp, type string, ...".')
    ] = None
    servers: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Kafka's bootstrap servers.")] = None
    topic: Annotated[str | None, typer.Option(help="The topic of events, whose values are JSON objects.")] = None
    starting: Annotated[
        Literal["earliest", "latest"] | None, typer.Option(help="Where a new checkpoint starts; latest by default.")
    ] = None
    out: Annotated[str | None, typer.Option(metavar="DIR", help="The folder of results.")] = None
    out_format: Annotated[StreamFormat | None, typer.Option(help="The format of its files; parquet by default.")] = None
    out_topic: Annotated[str | None, typer.Option(help="The topic of results, as JSON objects.")] = None
    out_key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column of the Kafka keys; may be repeated; by default the groups."),
    ] = None
    watermark: Annotated[str, typer.Option(help="How late events may be, relative to the latest one.")] = "10 seconds"
    early: Annotated[bool, typer.Option("--early", help="Also return rows of open windows, with every batch.")] = False
    buckets: Annotated[
        int | None, typer.Option(min=1, help="The number of state buckets; fixed for the life of a checkpoint.")
    ] = None
    trigger: Annotated[str | None, typer.Option(help="The interval of batches; by default as soon as possible.")] = None
    available_now: Annotated[bool, typer.Option("--available-now", help="Stop when all available events are read.")] = (
        False
    )
    packages: Annotated[str | None, typer.Option(help="Maven coordinates for Spark, separated by commas.")] = None
    jars: Annotated[str | None, typer.Option(help="Jars for Spark, separated by commas.")] = None
    read_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's reader; may be repeated.")
    ] = None
    write_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of Spark's writer; may be repeated.")
    ] = None
    log: Annotated[Path | None, typer.Option(help="A file for Spark's own log.")] = None

    def run(self) -> None:
        """Do it."""
        self._check_places()
        _check_length(self.watermark, "--watermark", or_none_at_all=True)
        if self.trigger is not None:
            _check_length(self.trigger, "--trigger")
        _ = self.settings, self.reading, self.writing
        asked = self.load()
        with explain_missing_spark(without=""):
            from trendweave.cli import spark_streams
        _run_until_stopped(spark_streams.Streaming(self, asked))

    @property
    def title(self) -> str:
        """What a view calls the stream."""
        return f"{self.events or self.topic} to {self.out or self.out_topic or 'console'}"

    @property
    def settings(self) -> dict[str, str]:
        """Settings for Spark."""
        jars = (("spark.jars.packages", self.packages), ("spark.jars", self.jars))
        return super().settings | {name: value for name, value in jars if value}

    @property
    def reading(self) -> dict[str, str]:
        """Options of Spark's reader."""
        return read_pairs(self.read_option, "--read-option")

    @property
    def writing(self) -> dict[str, str]:
        """Options of Spark's writer."""
        return read_pairs(self.write_option, "--write-option")

    def _check_places(self) -> None:
        """Find wrong usage: what no other option, file or server could make right."""
        (needed_from, may_from), (needed_to, may_to) = _SOURCES[self.from_], _SINKS[self.to]
        needed = dict.fromkeys(needed_from, f"--from {self.from_}") | dict.fromkeys(needed_to, f"--to {self.to}")
        for name, place in needed.items():
            if not getattr(self, name):
                raise typer.BadParameter(f"{place} needs it", param_hint=as_option(name))
        of_places = {name for both in (*_SOURCES.values(), *_SINKS.values()) for names in both for name in names}
        for name in sorted(of_places - {*needed, *may_from, *may_to}):
            if getattr(self, name):
                message = f"has no meaning with --from {self.from_} --to {self.to}"
                raise typer.BadParameter(message, param_hint=as_option(name))
        if self.format in ("csv", "json") and self.schema is None:
            raise typer.BadParameter(f"a stream of {self.format} files needs it", param_hint="--schema")
        if self.trigger is not None and self.available_now:
            raise typer.BadParameter("has no meaning with --available-now", param_hint="--trigger")


def _check_length(text: str, option: str, or_none_at_all: bool = False) -> None:
    try:
        read_duration(text, option, or_none_at_all)
    except TrendweaveError as error:
        message = error.problems[0].message.removeprefix(f"{option}: ")
        raise typer.BadParameter(message, param_hint=option) from error


class Signals:
    """Ctrl-C and SIGTERM ask the stream to stop; a second one leaves at once, which loses nothing but repeats the
    rows of a micro-batch that were shown and not noted as done."""

    def __init__(self) -> None:
        self.asked = False
        self._console = make_console()
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        self.watch()

    def watch(self) -> None:
        """Again after Spark has started, as it takes Ctrl-C for itself and would cancel what runs."""
        for number in self._before:
            signal.signal(number, self._handle)

    def restore(self) -> None:
        """Give signals back to those who had them."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            self._console.show_cursor(True)
            os._exit(INTERRUPTED)
        self.asked = True


def _run_until_stopped(streaming: Streaming) -> None:
    """Until it ends or is stopped."""
    from trendweave.cli import spark_session

    signals = Signals()
    try:
        with ExitStack() as stack:
            # What the JVM and its workers write would tear a live view.
            with redirect_errors(streaming.given.log):
                started = spark_session.session(*streaming.session, progress=False, without="")
                spark = stack.enter_context(started)
            signals.watch()
            streaming.start(spark, stack)
            streaming.follow(lambda: signals.asked)
            if streaming.reader_is_gone:
                # Python would complain when it flushes what nobody reads.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        signals.restore()


@contextmanager
def redirect_errors(log: Path | None) -> Iterator[None]:
    """Processes that are started in the block write their errors there; the end of it is told where they fail."""
    with _open_log(log) as file:
        begin = file.seek(0, os.SEEK_END)
        sys.stderr.flush()
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield
        except Failure as error:
            file.seek(begin)
            said = file.read().decode(errors="replace").strip().splitlines()[-_LINES_OF_LOG:]
            raise Failure("\n".join([*said, str(error)])) from error
        finally:
            os.dup2(before, 2)
            os.close(before)


def _open_log(log: Path | None) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile() if log is None else log.open("ab+")
    except OSError as error:
        raise Failure(f"the log cannot be written: {error}", "does the folder exist, and is it writable?") from error
