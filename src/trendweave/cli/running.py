"""`trendweave run` and `trendweave pipe`: events in files or in a store in, rows in files or on the terminal out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from trendweave import IntervalPlan, Query, Workload
from trendweave.cli.failure import Failure
from trendweave.cli.options import Asked, EventOptions, RuleOptions, read_text
from trendweave.cli.own_words import show_warnings
from trendweave.consoles import make_console
from trendweave.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave import EventStore, Options
    from trendweave.operators import Chain, Operator
    from trendweave.table_files import FileKind


@dataclass(frozen=True, kw_only=True)
class Running(EventOptions):
    """A command that reads events, computes, and writes rows. What it computes is `asked`: queries or operators."""

    @property
    def sides(self) -> list[list[str]]:
        """The files of the events; of a join, those of both sides."""
        return [self.events or []]

    @abstractmethod
    def columns(self, asked: Any, events: Any) -> dict[str, Any]:
        """The columns of time and type as arguments of `run`, on these events."""

    @property
    @abstractmethod
    def named_type(self) -> str | None:
        """The column of the type: `type` where no other one was named, None where there is to be none."""

    @abstractmethod
    def put_in_order(self, asked: Any, rows: pa.Table, sides: Sequence[Any]) -> pa.Table:
        """Rows that Spark gave, in the order in which this process would give them."""

    def find_folder(self, asked: Any) -> FileKind | None:
        """Find out before the work that its result has no place; the kind of files where it is a folder of them."""
        from trendweave.cli import files

        if self.out == "-":
            return None
        if not files.is_folder(self.out):
            files.check_place(Path(self.out))
            return None
        if not self.is_on_spark and not self.is_written_here(asked):
            message = f"{self.out} has no ending, and folders of results are written by Spark"
            raise files.table_error(message, "name a file such as result.parquet, or use --runner spark")
        return files.check_folder(self.out, by_spark=not self.is_written_here(asked))

    def is_written_here(self, asked: Any) -> bool:
        """Whether a folder of results is a file per query, on file systems that this process can reach."""
        from trendweave.cli.files import is_elsewhere

        return isinstance(asked, Workload) and not is_elsewhere(self.out)

    def open_store(self) -> tuple[EventStore, Options]:
        """The store, and the options of a run on it."""
        assert self.store is not None
        store = open_store(self.store, self.time, self.named_type)
        options = self.options
        if self.between is not None:
            first, end = self.between
            options["between"] = read_moment(store, first, "--between"), read_moment(store, end, "--between")
        return store, options

    def compute(self, asked: Any) -> None:
        """Run it, on Spark or here, and write the rows."""
        errors = show_warnings()
        if self.is_on_spark:
            with explain_missing_spark():
                from trendweave.cli.spark_files import compute_on_spark
            compute_on_spark(self, asked, errors)
            return
        from trendweave.cli import files

        folder = self.find_folder(asked)
        options = self.options
        with tell(errors, "reading events" if self.store is None else "asking the store"):
            if self.store is None:
                sides: list[Any] = [files.read_tables(files.find_files(paths)) for paths in self.sides]
            else:
                store, options = self.open_store()
                sides = [store]
        # How far this is, the run itself shows.
        rows = asked.run(*sides, **self.columns(asked, sides[0]), **options)
        with tell(errors, f"writing {rows.num_rows:,} rows"):
            self.write(asked, rows, sides[0], folder)

    def write(self, asked: Any, rows: pa.Table, events: Any, folder: FileKind | None) -> None:
        """Write all rows into a file, those of each query into a file of its own, or to standard output."""
        from trendweave.cli import files

        if self.out == "-":
            print_rows(rows, self.split(asked, rows, events))
        elif folder is None:
            files.write_table(rows, Path(self.out))
        else:
            for name, own in self.split(asked, rows, events):
                path = Path(self.out) / f"{name}{files.ending_of(folder)}"
                files.make_folder(path.parent)
                files.write_table(own, path)

    def split(self, asked: Any, rows: pa.Table, events: Any) -> Iterator[tuple[str, pa.Table]]:
        """The rows of each query with its name, and with its columns alone; the name of one alone is empty."""
        yield "", rows


def print_rows(rows: pa.Table, parts: Iterable[tuple[str, pa.Table]] | None = None) -> None:
    """Print tables for people at a terminal, one per part with a name; CSV for programs, one for all."""
    import sys

    from trendweave.cli.tables import print_table, write_lists_as_text

    if sys.stdout.isatty():
        console = make_console()
        for name, own in [("", rows)] if parts is None else parts:
            if name:
                console.rule(Text(name, style="bold"), align="left")
            print_table(console, write_lists_as_text(own))
        return
    import pyarrow.csv

    pyarrow.csv.write_csv(write_lists_as_text(rows), sys.stdout.buffer)


@dataclass(frozen=True, kw_only=True)
class Run(Running, RuleOptions):
    """Run one or many queries on files of events or on stored events."""

    show: Annotated[
        Path | None, typer.Option(help="Also draw a picture of trends, windows or matches: .html, .svg or .png.")
    ] = None

    def run(self) -> None:
        """Do it."""
        self.check_places()
        asked = self.load(lambda asked: self.check_columns(self.events[0] if self.events else None, asked))
        if (self.store is None) == (not self.events):
            raise typer.BadParameter("give either --events or --store")
        self._check_picture(asked)
        self.compute(asked)

    def columns(self, asked: Asked, events: Any) -> dict[str, Any]:
        """A store knows its columns, unless another type is named."""
        if self.store is not None:
            return {} if self.type == "type" else {"type": self.named_type}
        time, type_ = self.whose(asked, events)
        return {"time": time, "type": type_}

    @property
    def named_type(self) -> str | None:
        """As it was named."""
        return self.type or None

    def whose(self, asked: Asked, events: Any) -> tuple[str, str | None]:
        """The columns of time and type, by which rows are found."""
        if self.store is not None:
            return events.time, events.type if self.type == "type" else self.named_type
        return self.time, self.choose_type(asked, events.columns if self.is_on_spark else events.column_names)

    def put_in_order(self, asked: Asked, rows: pa.Table, sides: Sequence[Any]) -> pa.Table:
        """By query, window and group."""
        from trendweave.cli.answers import describe_answers

        return describe_answers(asked, rows, *self.whose(asked, sides[0])).sort(rows)

    def split(self, asked: Asked, rows: pa.Table, events: Any) -> Iterator[tuple[str, pa.Table]]:
        """Those of each query of a workload."""
        if isinstance(asked, Query):
            yield "", rows
            return
        for name in asked:
            yield name, asked.rows(rows, name, *self.whose(asked, events))

    def write(self, asked: Asked, rows: pa.Table, events: Any, folder: FileKind | None) -> None:
        """Also draw the picture, where it was asked for."""
        if self.out != "-":
            super().write(asked, rows, events, folder)
        if self.show is not None and isinstance(asked, Query):
            self._draw(asked, rows, self.show)
        if self.out == "-":
            super().write(asked, rows, events, folder)

    def _check_picture(self, asked: Asked) -> None:
        """Refuse to draw what has no picture, before anything runs."""
        from trendweave.cli.files import is_folder

        if self.show is None:
            return
        if isinstance(asked, Workload):
            raise Failure("--show draws the result of one query, not of many", "run the file of one query")
        if self.out != "-" and is_folder(self.out):
            message = "--show cannot be combined with a folder of results"
            raise Failure(message, "write to a file such as trends.parquet")
        if self.show.suffix.lower() not in (".html", ".svg", ".png") or not self.show.absolute().parent.is_dir():
            raise Failure(f"{self.show} cannot be written", "name an .html, .svg or .png file in an existing folder")

    def _draw(self, asked: Query, rows: pa.Table, path: Path) -> None:
        """A page of trends or matches has more than a picture."""
        from trendweave.pictures.kinds import find_kind

        listed = asked.lists_trends or asked.kind == "intervals"
        if path.suffix.lower() != ".html" or not listed:
            if find_kind(rows.schema) is None:
                message = "--show draws windows, numbers, trends and situations, and the rows have none of them"
                raise Failure(message, "leave --show out, or RETURN TRENDS or a number")
            from trendweave import plot  # pictures are imported by those who want one

            plot(rows, asked, numbers=self.numbers).save(path)
            return
        from trendweave.pictures import draw_time_line, draw_trends
        from trendweave.showing import time_line_of

        plan = asked.plan
        if isinstance(plan, IntervalPlan):
            page = draw_time_line(time_line_of(plan), rows)
        else:
            page = draw_trends(rows, str(asked))
        path.write_text(page, encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Pipe(Running):
    """Run operators (FILTER, AGGREGATE, JOIN, MATCH) on files of events, or on stored events."""

    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT",
            help="Operators with | between them, such as 'FILTER x > 1 | AGGREGATE AVG(x) OVER 1 minute'; or a file "
            "that has them, or - for standard input.",
        ),
    ]
    right: Annotated[
        list[str] | None, typer.Option(metavar="PATH", help="The same for the right side of a join; may be repeated.")
    ] = None
    type: Annotated[
        str | None, typer.Option(help="The type column, for MATCH; by default `type`, if there is one.")
    ] = None
    explain: Annotated[bool, typer.Option("--explain", help="Show the plan and where each step runs.")] = False
    #: Events of one time are ordered operator by operator, so the option only tells where that is written.
    order_by: Annotated[list[str] | None, typer.Option("--order-by", hidden=True)] = None

    def run(self) -> None:
        """Do it."""
        self.check_places()
        if self.order_by:
            message = "write it into the operators, such as OVER 3 ROWS ORDER BY x"
            raise typer.BadParameter(message, param_hint="--order-by")
        if self.store is not None and (self.events or self.right):
            raise typer.BadParameter("give either --events or --store")
        if not (self.store or self.events or self.explain):
            raise typer.BadParameter("give --events or --store")
        if self.device is not None and not (self.store or self.events):
            raise typer.BadParameter("--explain tells of a --device with --events or --store")
        asked = self._read()
        if self.explain:
            print(self._explain(asked))
        else:
            self.compute(asked)

    def _read(self) -> Chain | Operator:
        """Operators that are written in the argument, in a file, or on standard input."""
        from trendweave import operators

        try:
            # A text is too long for the name of a file, or has letters that none has.
            is_file = self.text == "-" or Path(self.text).is_file()
        except (OSError, ValueError):
            is_file = False
        return operators.pipe(read_text(self.text) if is_file else self.text)

    def _explain(self, asked: Chain | Operator) -> Any:
        """What would be done; with files or a store, by their columns. Estimates of devices are made of events."""
        from trendweave.cli import files

        if self.store is not None:
            store, options = self.open_store()
            return asked.explain(store, **self.columns(asked, store), **options)
        if not self.events:
            return asked.explain()
        found = [files.find_files(paths) for paths in self.sides]
        if self.device == "auto":
            sides: list[Any] = [files.read_tables(one) for one in found]
        else:
            sides = [files.read_schema(one.paths[0]) for one in found]
        return asked.explain(*sides, **self.columns(asked, sides[0]), **self.options)

    @property
    def sides(self) -> list[list[str]]:
        """Both of a join."""
        return [self.events or [], *([self.right] if self.right else [])]

    def columns(self, asked: Chain | Operator, events: Any) -> dict[str, Any]:
        """The type is that of a store or `type`, if there is one, unless another is named."""
        return {"time": self.time} | ({} if self.type is None else {"type": self.type or None})

    @property
    def named_type(self) -> str | None:
        """As it was named."""
        return "type" if self.type is None else self.type or None

    def put_in_order(self, asked: Chain | Operator, rows: pa.Table, sides: Sequence[Any]) -> pa.Table:
        """As the last operator orders them."""
        from trendweave.operators.running import find_order

        left, right = (*sides, None)[:2]
        return find_order(asked, left, right, self.options, **self.columns(asked, left))(rows)


def tell(console: Console, what: str) -> AbstractContextManager[object]:
    """Say at a terminal what is being done."""
    return console.status(what) if console.is_terminal else nullcontext()


@contextmanager
def explain_missing_spark(without: str = ", or use --runner local") -> Iterator[None]:
    """`without` says how to do without Spark, where the command can."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in ("pyspark", "py4j", "pandas"):
            raise
        message = f"Spark is not installed: there is no Python package {missing}"
        if missing == "pandas":
            message = "Spark needs pandas to pass columns to Python, and it is not installed"
        raise Failure(message, f"pip install 'trendweave[spark]'{without}") from error


def open_store(path: str, time: str, type_: str | None = "type") -> EventStore:
    """A store that was made, or one over the files that are there, with these columns of time and type; without the
    column `type`, which is looked for unless another is named, all events are of one."""
    from trendweave import EventStore

    try:
        return EventStore.open(path)
    except DataError as error:
        if error.problems[0].code != "TW333":
            raise
    return EventStore.over(path, time=time) if type_ == "type" else EventStore.over(path, time=time, type=type_)


def read_moment(store: EventStore, text: str, option: str) -> str | float:
    """A time as it was written; a number where the store counts seconds.

    Raises:
        typer.BadParameter: It is no number there.
    """
    import pyarrow as pa

    if pa.types.is_timestamp(store.schema.field(store.time).type):
        return text
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        message = f"{text} is no number of seconds, as times of this store are"
        raise typer.BadParameter(message, param_hint=option) from None
