"""What commands share: options that mean the same in each of them, and how they are read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import Enum, StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypedDict

import typer

from trendweave import IntervalPlan, Query, Workload, query
from trendweave.workload import read_values, read_workload

if TYPE_CHECKING:
    from trendweave import Options

_ENDINGS_OF_MANY = (".json", ".yaml", ".yml")
#: How counts and sums of whole numbers are written.
Numbers = Literal["decimal", "int64", "text", "float64", "log2"]


class NumberFormat(StrEnum):
    """`Numbers` as Typer knows choices."""

    decimal = "decimal"
    int64 = "int64"
    text = "text"
    float64 = "float64"
    log2 = "log2"


class Sharing(StrEnum):
    """Whether what queries have in common is computed once."""

    auto = "auto"
    always = "always"
    never = "never"


class Exchange(StrEnum):
    """How rows meet on Spark."""

    auto = "auto"
    columns = "columns"
    rows = "rows"


class Device(StrEnum):
    """What computes."""

    cpu = "cpu"
    threads = "threads"
    gpu = "gpu"
    auto = "auto"


class Using(Enum):
    """How a store is read."""

    auto = "auto"
    index = "index"
    replay = "replay"


class RuleColumn(StrEnum):
    """What a rule has besides its query."""

    version = "version"
    description = "description"


class Runner(StrEnum):
    """Where a query runs."""

    spark = "spark"
    local = "local"


class TimeOptions(TypedDict, total=False):
    """Those of `trendweave.Options` that say how times are read."""

    time_unit: Literal["s", "ms", "us", "ns"]
    time_format: str


class TimeUnit(StrEnum):
    """What numbers of the time column count."""

    s = "s"
    ms = "ms"
    us = "us"
    ns = "ns"


QueryFile = Annotated[
    str | None,
    typer.Argument(
        metavar="QUERY",
        help="A file with one query, or - for standard input; for many, a folder of .tw files, a .json or .yaml file.",
    ),
]
QueryText = Annotated[
    str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself, instead of a file.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="The value of $NAME in the query: a literal such as 3, 'text' or 10 minutes; may be repeated.",
    ),
]
Where = Annotated[
    Runner | None,
    typer.Option(
        help="Where the query runs: on Spark, or in this process without a JVM. By default on Spark, if installed."
    ),
]
SharingOption = Annotated[
    Sharing | None,
    typer.Option(help="For many queries: whether common parts of patterns are computed once; by default if it pays."),
]
RuleColumns = Annotated[
    list[RuleColumn] | None,
    typer.Option(help="Of many queries: a column with the version or description of each row's rule; may be repeated."),
]
ExchangeOption = Annotated[
    Exchange | None,
    typer.Option(help="On Spark: the shuffle format, packed columns or rows."),
]
DeviceOption = Annotated[
    Device | None,
    typer.Option(help="What computes: one core (cpu), all cores (threads), a GPU (gpu), or the fastest (auto)."),
]
MaxTrends = Annotated[
    int | None,
    typer.Option(min=1, metavar="NUMBER", help="A query that would list more trends is refused; 1,000,000 by default."),
]
MaxRows = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="NUMBER", help="Windows that could make more rows are refused; 100,000,000 by default."
    ),
]
MaxWork = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="NUMBER",
        help="Patterns with more transitions x events x min(states, events) are refused; 2 x 10^10 by default.",
    ),
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help='Memory limit for listing trends; "512 MB" by default.')
]
StorePath = Annotated[
    str | None, typer.Option("--store", metavar="PATH", help="Stored events, instead of --events: a folder or URI.")
]
Between = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="FROM TO", help="With --store: only events from the first time (inclusive) to the second (exclusive)."
    ),
]
UsingOption = Annotated[
    Using | None, typer.Option(help="With --store: the cheapest access path (auto), by indexes, or a scan (replay).")
]
TimeColumn = Annotated[str, typer.Option(help="The time column.")]
TimeUnitOption = Annotated[
    TimeUnit | None,
    typer.Option(help="The unit of an integer time column, since 1970; seconds by default."),
]
TimeFormatOption = Annotated[
    str | None,
    typer.Option(metavar="FORMAT", help="The format of times that are text: iso, or for example '%d.%m.%Y %H:%M:%S'."),
]
OrderOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="A column that orders events with the same timestamp; may be repeated."),
]
TypeColumn = Annotated[str, typer.Option(help="The type column; an empty string for none.")]
Master = Annotated[str | None, typer.Option(help="Spark's master; by default all cores of this machine (local[*]).")]
Settings = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A Spark setting; may be repeated.")]


def load_query(file: str) -> Query:
    """Read the query of a file, or of standard input.

    Args:
        file: A path, or - for standard input.

    Returns:
        The query, checked and planned.

    Raises:
        typer.BadParameter: The file cannot be read.
        TrendweaveError: The query has problems.
    """
    if file == "-":
        return query(sys.stdin.read())
    try:
        return query(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from error


def choose_runner(runner: Runner | None, master: str | None = None) -> Runner:
    """The runner that was asked for; without one Spark, where it is installed or a master was named."""
    if runner is not None:
        return runner
    return Runner.spark if master or find_spec("pyspark") is not None else Runner.local


def load_queries(
    file: str | None,
    text: str | None = None,
    check: Callable[[Query | Workload], None] | None = None,
    parameters: list[str] | None = None,
) -> Query | Workload:
    """Read the query of a file or of standard input, or all queries of a folder or a file of rules.

    Args:
        file: A path, or - for standard input.
        text: The query itself; either it or a path is given.
        check: Called where some of many queries cannot be read, with the others: what it raises is told as well.
        parameters: Values of parameters, as NAME=VALUE.

    Returns:
        A workload for a folder and for .json and .yaml files; else a query.

    Raises:
        typer.BadParameter: The file cannot be read, or there are both or neither.
        TrendweaveError: Queries have problems.
    """
    if file is not None and text is not None:
        raise typer.BadParameter(
            f"{file} is read as a file with the query, and -q gives one, too: leave one of them out"
        )
    if file is None and text is None:
        raise typer.BadParameter("give a file with the query, or the query itself with -q")
    values = read_values(read_pairs(parameters or [], "--param"))

    def check_bound(readable: Workload) -> None:
        """What others have as parameters, the readable ones may not have."""
        known = {name for query in readable.values() for name in query.parameters}
        if check is not None:
            check(readable.bind({name: value for name, value in values.items() if name in known}))

    asked = _load(file, text, check_bound)
    return asked.bind(values) if values else asked


def _load(file: str | None, text: str | None, check: Callable[[Workload], None]) -> Query | Workload:
    if file is None:
        return query(text or "")
    if file != "-" and (Path(file).is_dir() or Path(file).suffix.lower() in _ENDINGS_OF_MANY):
        if not Path(file).exists():
            raise typer.BadParameter(f"{file} cannot be read: there is no such file")
        return read_workload(file, check)
    return load_query(file)


def read_sharing(asked: Query | Workload, sharing: Sharing | None) -> Literal["auto", "always", "never"] | None:
    """The option of a run; it is refused where there is one query, which has nothing to share."""
    if sharing is not None and isinstance(asked, Query):
        raise typer.BadParameter("has no meaning with one query", param_hint="--sharing")
    return None if sharing is None else sharing.value


def read_rule_columns(
    asked: Query | Workload, names: Sequence[RuleColumn] | None
) -> tuple[Literal["version", "description"], ...]:
    """The option of a run; it is refused where there is one query, which is no rule."""
    if names and isinstance(asked, Query):
        raise typer.BadParameter("has no meaning with one query", param_hint="--rule-columns")
    return tuple(name.value for name in names or ())


def add_times(options: Options, times: TimeOptions) -> None:
    """Put the options that say how times are read among others."""
    if "time_unit" in times:
        options["time_unit"] = times["time_unit"]
    if "time_format" in times:
        options["time_format"] = times["time_format"]


def read_times(unit: TimeUnit | None, format: str | None) -> TimeOptions:
    """The options of a run that say how times are read."""
    options: TimeOptions = {}
    if unit is not None:
        options["time_unit"] = unit.value
    if format is not None:
        options["time_format"] = format
    return options


def read_pairs(given: list[str], option: str) -> dict[str, str]:
    """Read settings of the form KEY=VALUE; `option` is where they were given."""
    found = [setting.partition("=") for setting in given]
    for name, sign, _ in found:
        if not (name and sign):
            raise typer.BadParameter(f"{name!r} is not of the form KEY=VALUE", param_hint=option)
    return {name.strip(): value for name, _, value in found}


def check_master(master: str | None) -> None:
    """Refuse what is no master of Spark."""
    if master and not (master == "yarn" or master.startswith(("local", "spark://", "k8s://"))):
        raise typer.BadParameter("a master is local, local[4], spark://..., k8s://... or yarn", param_hint="--master")


def choose_type_column(asked: Query | Workload, type_: str | None, columns: Sequence[str]) -> str | None:
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
