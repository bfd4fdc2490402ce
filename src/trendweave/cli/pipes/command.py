"""`trendweave pipe`: what it takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    Runner,
    Settings,
    StorePath,
    TimeColumn,
    TimeFormatOption,
    TimeUnitOption,
    UsingOption,
    Where,
    check_master,
    choose_runner,
    read_pairs,
    read_times,
)
from trendweave.cli.own_words import show_warnings

if TYPE_CHECKING:
    from trendweave.operators import Chain, Operator


Text = Annotated[
    str,
    typer.Argument(
        metavar="TEXT",
        help="Operators with | between them, such as 'FILTER x > 1 | AGGREGATE AVG(x) OVER 1 minute'; or a file that "
        "has them, or - for standard input.",
    ),
]
Events = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH", help="A .parquet, .csv or .json (one object per line) file, or a folder; may be repeated."
    ),
]
Right = Annotated[
    list[str] | None, typer.Option(metavar="PATH", help="The same for the right side of a join; may be repeated.")
]
Out = Annotated[
    str, typer.Option(metavar="PATH", help="A file of such a format, on Spark also a folder/, or - for the terminal.")
]
#: Events of one time are ordered operator by operator, so the option only tells where that is written.
OrderElsewhere = Annotated[list[str] | None, typer.Option("--order-by", hidden=True)]
Type = Annotated[str | None, typer.Option(help="The type column, for MATCH; by default `type`, if there is one.")]


def pipe(
    text: Text,
    events: Events = None,
    right: Right = None,
    out: Out = "-",
    time: TimeColumn = "time",
    type: Type = None,
    numbers: Annotated[NumberFormat, typer.Option(help="How sums and counts are returned.")] = NumberFormat.decimal,
    runner: Where = None,
    master: Master = None,
    conf: Settings = None,
    exchange: ExchangeOption = None,
    device: DeviceOption = None,
    max_trends: MaxTrends = None,
    max_rows: MaxRows = None,
    max_work: MaxWork = None,
    memory: Memory = None,
    store: StorePath = None,
    between: Between = None,
    using: UsingOption = None,
    time_unit: TimeUnitOption = None,
    time_format: TimeFormatOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the plan and where each step runs.")] = False,
    order_by: OrderElsewhere = None,
) -> None:
    """Run operators (FILTER, AGGREGATE, JOIN, MATCH) on files of events, or on stored events."""
    from trendweave.cli.pipes.run import PipeRun, explain_pipe, run_here, run_on_spark

    settings = read_pairs(conf or [], "--conf")
    check_master(master)
    runner = choose_runner(runner, master)
    if runner is Runner.local and (master or settings or exchange):
        raise typer.BadParameter("--master, --conf and --exchange are for --runner spark")
    if order_by:
        raise typer.BadParameter("write it into the operators, such as OVER 3 ROWS ORDER BY x", param_hint="--order-by")
    if store is not None and (events or right):
        raise typer.BadParameter("give either --events or --store")
    if store is None and (between or using):
        raise typer.BadParameter("--between and --using are for --store")
    if not (store or events or explain):
        raise typer.BadParameter("give --events or --store")
    if device is not None and not (store or events):
        raise typer.BadParameter("--explain tells of a --device with --events or --store")
    options: dict[str, Any] = {"numbers": numbers.value}
    options |= {} if device is None else {"device": device.value}
    options |= {} if exchange is None else {"exchange": exchange.value}
    options |= {} if max_trends is None else {"max_trends": max_trends}
    options |= {} if max_rows is None else {"max_rows": max_rows}
    options |= {} if max_work is None else {"max_work": max_work}
    options |= {} if memory is None else {"memory": memory}
    options |= read_times(time_unit, time_format)
    options |= {} if using is None else {"using": using.value}
    asked = PipeRun(read_pipe(text), events or (), right or (), store, between, out, time, type, options)
    if explain:
        explain_pipe(asked)
        return
    errors = show_warnings()
    if runner is Runner.local:
        run_here(asked)
    else:
        run_on_spark(asked, master or "local[*]", settings, errors.is_terminal)


def read_pipe(text: str) -> Chain | Operator:
    """Operators that are written in the argument, in a file, or on standard input.

    Raises:
        typer.BadParameter: The file cannot be read.
        TrendweaveError: The operators have problems.
    """
    from trendweave import operators

    if text == "-":
        return operators.pipe(sys.stdin.read())
    try:
        # A text is too long for the name of a file, or has letters that none has.
        is_file = Path(text).is_file()
    except (OSError, ValueError):
        is_file = False
    if not is_file:
        return operators.pipe(text)
    try:
        return operators.pipe(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{text} cannot be read: {error}") from error
