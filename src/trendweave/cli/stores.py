"""`trendweave store ...`: stored events and their indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from trendweave.cli.failure import Failure
from trendweave.cli.options import TimeOptions
from trendweave.cli.own_words import show_warnings
from trendweave.cli.running import open_store, print_rows, read_moment
from trendweave.consoles import make_console
from trendweave.runners.options import Using

if TYPE_CHECKING:
    from trendweave import EventStore

store = typer.Typer(no_args_is_help=True, help="Store events in files, with indexes for fast queries.")

Where = Annotated[str, typer.Argument(metavar="PATH", help="The folder of the store, or a URI such as s3://...")]
Time = Annotated[str, typer.Option(help="The time column, for a folder that `create` did not make.")]


@dataclass(frozen=True, kw_only=True)
class Create(TimeOptions):
    """Create an empty store."""

    path: Where
    like: Annotated[Path, typer.Option(metavar="PATH", help="A table with the columns of the store.")]
    type: Annotated[
        str | None, typer.Option(help="The type column, '' for none; by default `type`, if there is one.")
    ] = None
    key: Annotated[list[str] | None, typer.Option(help="A column to bucket events by; may be repeated.")] = None
    index: Annotated[list[str] | None, typer.Option(help="A column to look events up by; may be repeated.")] = None
    buckets: Annotated[int | None, typer.Option(help="The number of buckets that keys are distributed to.")] = None

    def run(self) -> None:
        """Do it."""
        from trendweave import EventStore
        from trendweave.cli.files import read_schema

        schema = read_schema(self.like)
        type_ = self.type
        if type_ is None:
            type_ = "type" if "type" in schema.names else ""
        EventStore.create(
            *(self.path, schema, self.time, type_ or None, self.key or [], self.index or [], self.buckets),
            time_unit=self.time_unit,
            time_format=self.time_format,
        )
        print("created")


@dataclass(frozen=True, kw_only=True)
class Append(TimeOptions):
    """Append events; each file is added atomically."""

    path: Where
    events: Annotated[
        list[str], typer.Option(metavar="PATH", help="Files or folders, as in `trendweave run`; may be repeated.")
    ]

    def run(self) -> None:
        """Do it."""
        from trendweave.cli.files import EventFiles, find_files, read_tables

        opened = _open(self.path, self.time)
        found = find_files(self.events)
        rows = 0
        with progress("files", len(found.paths)) as step:
            for file in found.paths:
                table = read_tables(EventFiles(found.kind, (file,)))
                rows += opened.append(table, time_unit=self.time_unit, time_format=self.time_format)
                step(file.name, 1)
        print(f"{rows:,} rows were added")


Create.add_to(store, "create")
Append.add_to(store, "append")


@store.command()
def index(
    path: Where,
    column: Annotated[list[str] | None, typer.Option(help="A column to look events up by; may be repeated.")] = None,
    time: Time = "time",
) -> None:
    """Build missing indexes."""
    opened = _open(path, time)
    with progress("rows", int(opened.groups.rows.sum())) as step:
        opened.build_index(column or [], told=step)
    print(opened.describe())


@store.command()
def describe(path: Where, time: Time = "time") -> None:
    """Describe a store: files, rows, times, indexes and sizes."""
    print(_open(path, time).describe())


@store.command()
def verify(
    path: Where,
    deep: Annotated[bool, typer.Option(help="Rebuild each light index from the data and compare.")] = False,
    time: Time = "time",
) -> None:
    """Verify all files; exit code 1 if something is wrong. A missing index is no fault."""
    opened = _open(path, time)
    with progress("files", len(opened.files)) as step:
        found = opened.verify(deep, told=step)
    if not found.is_well:
        raise Failure("\n".join(found.problems), "trendweave store index rebuilds indexes")
    print(f"{found.files:,} files and {found.indexes:,} indexes are intact")


@store.command()
def compact(path: Where, time: Time = "time") -> None:
    """Merge files that are small or overlap in time."""
    opened = _open(path, time)
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
    removed = _open(path, time).vacuum(older_than)
    print(f"{len(removed):,} files were removed")


@store.command()
def calibrate(path: Where, time: Time = "time") -> None:
    """Measure the cost of reading on this machine."""
    costs = _open(path, time).calibrate()
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
    using: Annotated[Using, typer.Option(help="By the index, by a scan (replay), or the cheaper one (auto).")] = "auto",
    explain: Annotated[bool, typer.Option(help="Show what would be read, and read nothing.")] = False,
    out: Annotated[str, typer.Option(metavar="PATH", help="A file, or - for the terminal (CSV in a pipe).")] = "-",
    time: Time = "time",
) -> None:
    """Aggregate events over windows."""
    from trendweave.cli.files import check_place, write_table

    opened = _open(path, time)
    between = [
        None if text is None else read_moment(opened, text, option)
        for text, option in ((begin, "--from"), (end, "--to"))
    ]
    if explain:
        print(opened.explain_aggregate(aggregates, within, slide, between, using))
        return
    if out != "-":
        check_place(Path(out))
    found = opened.aggregate(aggregates, within, slide, between, using)
    if out == "-":
        print_rows(found)
    else:
        write_table(found, Path(out))


def _open(path: str, time: str) -> EventStore:
    """Open a store; what is wrong with it is told while it is used."""
    show_warnings()
    return open_store(path, time)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[str, int], None]]:
    """A bar on stderr while something runs, if that is a terminal; it goes away at the end. It is moved on by what is
    done at the time, and how much of it was."""
    errors = make_console(errors=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name, number: bar.update(task, advance=number, description=name)
