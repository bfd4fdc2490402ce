"""`trendweave store ...`: stored events and their indexes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trendweave.cli.failure import Failure
from trendweave.cli.options import TimeFormatOption, TimeUnitOption, read_times
from trendweave.cli.own_words import show_warnings
from trendweave.consoles import make_console
from trendweave.errors import DataError

if TYPE_CHECKING:
    from trendweave import EventStore

store = typer.Typer(no_args_is_help=True, help="Store events in files, with indexes for fast queries.")


class Using(Enum):
    """How aggregates are answered."""

    auto = "auto"
    index = "index"
    replay = "replay"


Where = Annotated[str, typer.Argument(metavar="PATH", help="The folder of the store, or a URI such as s3://...")]
Time = Annotated[str, typer.Option(help="The time column, for a folder that `create` did not make.")]
Events = Annotated[
    list[str], typer.Option(metavar="PATH", help="Files or folders, as in `trendweave run`; may be repeated.")
]


@store.command()
def create(
    path: Where,
    like: Annotated[Path, typer.Option(metavar="PATH", help="A table with the columns of the store.")],
    time: Annotated[str, typer.Option(help="The time column.")] = "time",
    type: Annotated[
        str | None, typer.Option(help="The type column, '' for none; by default `type`, if there is one.")
    ] = None,
    key: Annotated[list[str] | None, typer.Option(help="A column to bucket events by; may be repeated.")] = None,
    index: Annotated[list[str] | None, typer.Option(help="A column to look events up by; may be repeated.")] = None,
    buckets: Annotated[int | None, typer.Option(help="The number of buckets that keys are distributed to.")] = None,
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
) -> None:
    """Create an empty store."""
    from trendweave import EventStore
    from trendweave.cli.files import read_schema

    times = read_times(time_unit, time_format)
    schema = read_schema(like)
    if type is None:
        type = "type" if "type" in schema.names else ""
    EventStore.create(path, schema, time, type or None, key or [], index or [], buckets, **times)
    print("created")


@store.command()
def append(
    path: Where,
    events: Events,
    time: Time = "time",
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
) -> None:
    """Append events; each file is added atomically."""
    from trendweave.cli.files import EventFiles, find_files, read_tables

    times = read_times(time_unit, time_format)
    opened = open_store(path, time)
    found = find_files(events)
    rows = 0
    with progress("files", len(found.paths)) as step:
        for file in found.paths:
            rows += opened.append(read_tables(EventFiles(found.kind, (file,))), **times)
            step(file.name, 1)
    print(f"{rows:,} rows were added")


@store.command()
def index(
    path: Where,
    column: Annotated[list[str] | None, typer.Option(help="A column to look events up by; may be repeated.")] = None,
    time: Time = "time",
) -> None:
    """Build missing indexes."""
    opened = open_store(path, time)
    with progress("rows", int(opened.groups.rows.sum())) as step:
        opened.build_index(column or [], told=step)
    print(opened.describe())


@store.command()
def describe(path: Where, time: Time = "time") -> None:
    """Describe a store: files, rows, times, indexes and sizes."""
    print(open_store(path, time).describe())


@store.command()
def verify(
    path: Where,
    deep: Annotated[bool, typer.Option(help="Rebuild each light index from the data and compare.")] = False,
    time: Time = "time",
) -> None:
    """Verify all files; exit code 1 if something is wrong. A missing index is no fault."""
    opened = open_store(path, time)
    with progress("files", len(opened.files)) as step:
        found = opened.verify(deep, told=step)
    if not found.is_well:
        raise Failure("\n".join(found.problems), "trendweave store index rebuilds indexes")
    print(f"{found.files:,} files and {found.indexes:,} indexes are intact")


@store.command()
def compact(path: Where, time: Time = "time") -> None:
    """Merge files that are small or overlap in time."""
    opened = open_store(path, time)
    with progress("files", None) as step:
        merged = opened.compact(told=step)
    print(f"{merged:,} files were replaced; there are {len(opened.files):,} now")


@store.command()
def vacuum(
    path: Where,
    older_than: Annotated[str, typer.Option(help="Younger files are left alone, as they may be in use.")] = "1 day",
    time: Time = "time",
) -> None:
    """Remove unfinished appends, replaced files, and indexes without data."""
    removed = open_store(path, time).vacuum(older_than)
    print(f"{len(removed):,} files were removed")


@store.command()
def calibrate(path: Where, time: Time = "time") -> None:
    """Measure the cost of reading on this machine."""
    costs = open_store(path, time).calibrate()
    print(f"nanoseconds: {costs.row:.1f} a row, {costs.value:.1f} a value, {costs.group:,.0f} a row group, "
          f"{costs.node:.1f} a node of the tree")  # fmt: skip


@store.command()
def aggregate(
    path: Where,
    aggregates: Annotated[str, typer.Argument(help="For example 'COUNT(*), AVG(price) AS mean'.")],
    within: Annotated[str | None, typer.Option(help="The length of a window: '1 day', '1000 events'.")] = None,
    slide: Annotated[str | None, typer.Option(help="The slide of the window.")] = None,
    begin: Annotated[str | None, typer.Option("--from", help="Only events from this time on.")] = None,
    end: Annotated[str | None, typer.Option("--to", help="Only events before this time.")] = None,
    using: Annotated[
        Using, typer.Option(help="By the index, by a scan (replay), or the cheaper one (auto).")
    ] = Using.auto,
    explain: Annotated[bool, typer.Option(help="Show what would be read, and read nothing.")] = False,
    out: Annotated[str, typer.Option(metavar="PATH", help="A file, or - for the terminal (CSV in a pipe).")] = "-",
    time: Time = "time",
) -> None:
    """Aggregate events over windows."""
    import pyarrow.csv

    from trendweave.cli.files import check_place, write_table
    from trendweave.cli.terminal import print_table
    from trendweave.cli.trend_text import write_lists_as_text

    opened = open_store(path, time)
    between = [_moment(text, opened) for text in (begin, end)]
    if explain:
        print(opened.explain_aggregate(aggregates, within, slide, between, using.value))
        return
    if out != "-":
        check_place(Path(out))
    found = opened.aggregate(aggregates, within, slide, between, using.value)
    if out != "-":
        write_table(found, Path(out))
    elif sys.stdout.isatty():
        print_table(make_console(), found)
    else:
        pyarrow.csv.write_csv(write_lists_as_text(found), sys.stdout.buffer)


def _moment(text: str | None, opened: EventStore) -> str | float | None:
    """A moment as it is written: of a time column of numbers, a number of seconds."""
    import pyarrow as pa

    if text is None or pa.types.is_timestamp(opened.kind.arrow):
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text} is no number of seconds, as times of this store are") from None


def open_store(path: str, time: str) -> EventStore:
    """A store that was made, or one over the files that are there."""
    from trendweave import EventStore

    show_warnings()
    try:
        return EventStore.open(path)
    except DataError as error:
        if error.problems[0].code != "TW333":
            raise
    return EventStore.over(path, time=time)


class _Steps:
    """Moves a bar on."""

    def __init__(self, bar: Progress, total: int | None, what: str) -> None:
        self._bar, self._task = bar, bar.add_task(what, total=total)

    def __call__(self, name: str, number: int) -> None:
        self._bar.update(self._task, advance=number, description=name)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[_Steps]:
    """A bar on stderr while something runs, if that is a terminal; it goes away at the end."""
    errors = make_console(errors=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        yield _Steps(bar, total, what)
