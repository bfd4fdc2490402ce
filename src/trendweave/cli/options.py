"""The options of commands: each is a field of a class, with its type and its help; commands inherit those they take.

They have the names and values of `trendweave.Options`, so that what was given is passed on as it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast, get_type_hints

import typer

from trendweave import IntervalPlan, Options, Query, Workload, query
from trendweave.devices.names import Device
from trendweave.results.types import Numbers
from trendweave.rows.time_parsing import TimeUnit
from trendweave.runners.options import Exchange, Sharing, Using
from trendweave.workload import read_values, read_workload

#: What a command runs that takes queries.
Asked: TypeAlias = Query | Workload
Runner: TypeAlias = Literal["spark", "local"]
_ENDINGS_OF_MANY = (".json", ".yaml", ".yml")
#: Options of `run` that are passed on as they were given.
_PASSED_ON = tuple(name for name in Options.__annotations__ if name != "between")

TypeColumn = Annotated[str, typer.Option(help="The type column; an empty string for none.")]


class RuleColumn(StrEnum):
    """What a rule has besides its query; Typer knows no lists of literals."""

    version = "version"
    description = "description"


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command, and what was given to it; its documentation is its help."""

    def run(self) -> None:
        """Do it."""
        raise NotImplementedError

    @classmethod
    def add_to(cls, app: typer.Typer, name: str) -> None:
        """Let Typer call it. Typer reads options from the parameters of a function: these are the fields."""
        hints = get_type_hints(cls, include_extras=True)

        def call(**given: Any) -> None:
            cls(**given).run()

        parameters = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hints[field.name],
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
            )
            for field in fields(cls)
        ]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = hints
        app.command(name, help=cls.__doc__)(call)


@dataclass(frozen=True, kw_only=True)
class TimeColumn(Command):
    """The column of time."""

    time: Annotated[str, typer.Option(help="The time column.")] = "time"


@dataclass(frozen=True, kw_only=True)
class TimeOptions(TimeColumn):
    """How times are read."""

    time_unit: Annotated[
        TimeUnit | None, typer.Option(help="The unit of an integer time column, since 1970; seconds by default.")
    ] = None
    time_format: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT", help="The format of times that are text: iso, or for example '%d.%m.%Y %H:%M:%S'."
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ComputingOptions(TimeOptions):
    """What computes, and how numbers are returned."""

    numbers: Annotated[Numbers, typer.Option(help="How counts and sums are returned.")] = "decimal"
    device: Annotated[
        Device | None,
        typer.Option(help="What computes: one core (cpu), all cores (threads), a GPU (gpu), or the fastest (auto)."),
    ] = None
    master: Annotated[
        str | None, typer.Option(help="Spark's master; by default all cores of this machine (local[*]).")
    ] = None
    conf: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")] = (
        None
    )

    @property
    def options(self) -> Options:
        """Those of `trendweave.Options` that were given."""
        given = {name: getattr(self, name, None) for name in _PASSED_ON}
        return cast("Options", {name: value for name, value in given.items() if value is not None})

    @property
    def settings(self) -> dict[str, str]:
        """Settings for Spark.

        Raises:
            typer.BadParameter: They, or the master, are not of the right form.
        """
        master = self.master
        if master and not (master == "yarn" or master.startswith(("local", "spark://", "k8s://"))):
            message = "a master is local, local[4], spark://..., k8s://... or yarn"
            raise typer.BadParameter(message, param_hint="--master")
        return read_pairs(self.conf, "--conf")


@dataclass(frozen=True, kw_only=True)
class QueryOptions(TimeColumn):
    """One query or many."""

    file: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY",
            help="A file with one query, or - for standard input; for many, a folder of .tw files, a .json or .yaml "
            "file.",
        ),
    ] = None
    text: Annotated[
        str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself, instead of a file.")
    ] = None
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="The value of $NAME in the query: a literal such as 3, 'text' or 10 minutes; may be repeated.",
        ),
    ] = None
    type: TypeColumn = "type"

    def load(self, check: Callable[[Asked], None] | None = None) -> Asked:
        """Read the query of a file or of standard input, or all queries of a folder or a file of rules.

        Args:
            check: Called where some of many queries cannot be read, with the others: what it raises is told as well.

        Returns:
            A workload for a folder and for .json and .yaml files; else a query.

        Raises:
            typer.BadParameter: The file cannot be read, or there are both or neither.
            TrendweaveError: Queries have problems.
        """
        values = read_values(read_pairs(self.param, "--param"))

        def check_bound(readable: Workload) -> None:
            """What others have as parameters, the readable ones may not have."""
            known = {name for query in readable.values() for name in query.parameters}
            if check is not None:
                check(readable.bind({name: value for name, value in values.items() if name in known}))

        file = self.file
        if file is not None and self.text is not None:
            raise typer.BadParameter(
                f"{file} is read as a file with the query, and -q gives one, too: leave one of them out"
            )
        if file is None:
            if self.text is None:
                raise typer.BadParameter("give a file with the query, or the query itself with -q")
            asked: Asked = query(self.text)
        elif file != "-" and (Path(file).is_dir() or Path(file).suffix.lower() in _ENDINGS_OF_MANY):
            if not Path(file).exists():
                raise typer.BadParameter(f"{file} cannot be read: there is no such file")
            asked = read_workload(file, check_bound)
        else:
            asked = query(read_text(file))
        return asked.bind(values) if values else asked

    def choose_type(self, asked: Asked, columns: Sequence[str]) -> str | None:
        """The column that holds the type, on events with these columns; None where all are of one type."""
        return choose_type_column(asked, self.type or None, columns)


@dataclass(frozen=True, kw_only=True)
class CheckOptions(QueryOptions, TimeOptions):
    """What checks queries against events."""

    def check_columns(self, events: str | Path | None, asked: Asked) -> None:
        """Check queries against the columns of events, where there are some on this machine."""
        from trendweave.cli.files import is_elsewhere, read_schema

        if events is None or is_elsewhere(str(events)):
            return
        columns = read_schema(Path(events))
        type_ = self.choose_type(asked, columns.names)
        if isinstance(asked, Workload) or self.time_unit or self.time_format:
            # Also whether columns of all queries stand in one table.
            asked.schema(columns, self.time, type_, time_unit=self.time_unit, time_format=self.time_format)
        else:
            asked.check(columns, self.time, type_)


@dataclass(frozen=True, kw_only=True)
class RuleOptions(CheckOptions, ComputingOptions):
    """What runs queries, alone or many at once."""

    order_by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column that orders events with the same timestamp; may be repeated."),
    ] = None
    sharing: Annotated[
        Sharing | None,
        typer.Option(
            help="For many queries: whether common parts of patterns are computed once; by default if it pays."
        ),
    ] = None
    rule_columns: Annotated[
        list[RuleColumn] | None,
        typer.Option(
            help="Of many queries: a column with the version or description of each row's rule; may be repeated."
        ),
    ] = None

    def load(self, check: Callable[[Asked], None] | None = None) -> Asked:
        """As for other commands; options of many queries are refused where there is one."""
        asked = super().load(check)
        if isinstance(asked, Query):
            for name in ("sharing", "rule_columns"):
                if getattr(self, name):
                    raise typer.BadParameter("has no meaning with one query", param_hint=as_option(name))
        return asked


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Command):
    """Stored events instead of files."""

    store: Annotated[
        str | None, typer.Option(metavar="PATH", help="Stored events, instead of --events: a folder or URI.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class EventOptions(StoreOptions, ComputingOptions):
    """Events that are there, in files or in a store, and where their rows go."""

    events: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="A .parquet, .csv or .json (one object per line) file, or a folder; may be repeated."
        ),
    ] = None
    out: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="A file of such a format, a folder/ (for many queries, a file for each), or - for the terminal (CSV "
            "in a pipe).",
        ),
    ] = "-"
    runner: Annotated[
        Runner | None,
        typer.Option(
            help="Where it runs: on Spark, or in this process without a JVM. By default on Spark, if installed."
        ),
    ] = None
    exchange: Annotated[
        Exchange | None, typer.Option(help="Deprecated: tasks on Spark always shuffle packed columns.")
    ] = None
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="FROM TO",
            help="With --store: only events from the first time (inclusive) to the second (exclusive).",
        ),
    ] = None
    using: Annotated[
        Using | None,
        typer.Option(help="With --store: the cheapest access path (auto), by indexes, or a scan (replay)."),
    ] = None
    max_trends: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="A query that would list more trends is refused; 1,000,000 by default."
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="NUMBER", help="Windows that could make more rows are refused; 100,000,000 by default."
        ),
    ] = None
    max_work: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Patterns with more transitions x events x min(states, events) are refused; 2 x 10^10 by default.",
        ),
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help='Memory limit for listing trends; "512 MB" by default.')
    ] = None

    @property
    def is_on_spark(self) -> bool:
        """Whether it runs on Spark: as was asked for, or else where that is installed or a master was named."""
        return choose_runner(self.runner, self.master) == "spark"

    def check_places(self) -> None:
        """Refuse options that do not go together.

        Raises:
            typer.BadParameter: An option has no meaning with another one, or without it.
        """
        settings = self.settings
        if not self.is_on_spark and (self.master or settings or self.exchange):
            raise typer.BadParameter("--master, --conf and --exchange are for --runner spark")
        if self.store is None and (self.between or self.using):
            raise typer.BadParameter("--between and --using are for --store")


def choose_runner(runner: Runner | None, master: str | None = None) -> Runner:
    """The runner that was asked for; without one Spark, where it is installed or a master was named."""
    return runner or ("spark" if master or find_spec("pyspark") is not None else "local")


def read_text(file: str) -> str:
    """The text of a file, or of standard input, which is called -.

    Raises:
        typer.BadParameter: The file cannot be read.
    """
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error


def read_pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """Read settings of the form KEY=VALUE; `option` is where they were given."""
    found = [setting.partition("=") for setting in given or ()]
    for name, sign, _ in found:
        if not (name and sign):
            raise typer.BadParameter(f"{name!r} is not of the form KEY=VALUE", param_hint=option)
    return {name.strip(): value for name, _, value in found}


def as_option(name: str) -> str:
    """How a field is called on the command line."""
    return f"--{name.replace('_', '-')}"


def choose_type_column(asked: Asked, type_: str | None, columns: Sequence[str]) -> str | None:
    """Choose the column that holds the type, where the user has not named one.

    Args:
        asked: The query or queries; one over intervals needs no type, and takes the default column only where both have
            it.
        type_: The column that was given, or the default `type`.
        columns: The columns of the events.

    Returns:
        The column; None where all rows are of one type.
    """
    if isinstance(asked, Workload):
        # Queries over intervals that name no type take all rows by themselves.
        needed = any(choose_type_column(asked[name], type_, columns) is not None for name in asked)
        return type_ if needed else None
    plan = asked.plan
    if isinstance(plan, IntervalPlan) and type_ == "type" and (type_ not in columns or plan.source is None):
        return None
    return type_
