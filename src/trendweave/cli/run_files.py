"""`trendweave run`: events in files in, rows in a file or on the terminal out, on one of the runners."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from trendweave import IntervalPlan, Query, Workload
from trendweave.cli import files
from trendweave.cli.answers import Asked, split_rows
from trendweave.cli.failure import Failure
from trendweave.cli.options import Device, Exchange, Numbers, TimeOptions, add_times, choose_type_column
from trendweave.cli.terminal import print_table
from trendweave.cli.trend_text import write_lists_as_text
from trendweave.consoles import make_console
from trendweave.pictures.kinds import find_kind

if TYPE_CHECKING:
    from trendweave import Options


@dataclass(frozen=True, slots=True)
class FileRun:
    """`out` is a file, a folder, or - for standard output; `show` is a page that trends are drawn on. `sharing` is for
    workloads; None is as if not given."""

    asked: Asked
    events: Sequence[str]
    out: str
    time: str
    type: str | None
    numbers: Numbers
    show: Path | None = None
    sharing: Literal["auto", "always", "never"] | None = None
    exchange: Exchange | None = None
    device: Device | None = None
    max_trends: int | None = None
    max_rows: int | None = None
    max_work: int | None = None
    memory: str | None = None
    times: TimeOptions = field(default_factory=TimeOptions)
    order_by: Sequence[str] | None = None
    rule_columns: Sequence[Literal["version", "description"]] = ()

    @property
    def options(self) -> Options:
        """Options of `run`."""
        options: Options = {"numbers": self.numbers}
        add_times(options, self.times)
        if self.order_by:
            options["order_by"] = self.order_by
        if self.exchange is not None:
            options["exchange"] = self.exchange.value
        if self.device is not None:
            options["device"] = self.device.value
        if self.max_trends is not None:
            options["max_trends"] = self.max_trends
        if self.max_rows is not None:
            options["max_rows"] = self.max_rows
        if self.max_work is not None:
            options["max_work"] = self.max_work
        if self.memory is not None:
            options["memory"] = self.memory
        if isinstance(self.asked, Query):
            return options
        return {**options, "sharing": self.sharing, "rule_columns": self.rule_columns}


def run_in_process(run: FileRun, console: Console) -> None:
    """Without a JVM; `console` shows how far it is."""
    folder = check_out(run)
    with tell(console, "reading events"):
        table = files.read_tables(files.find_files(run.events))
    type_ = choose_type_column(run.asked, run.type, table.column_names)
    # How far this is, the run itself shows.
    result = run.asked.run(table, run.time, type_, **run.options)
    with tell(console, f"writing {result.num_rows:,} rows"):
        write_result(run, result, type_, folder)
    draw(run, result)
    if run.out == "-":
        print_result(run, result, type_)


def tell(console: Console, what: str) -> AbstractContextManager[object]:
    """Say at a terminal what is being done."""
    return console.status(what) if console.is_terminal else nullcontext()


def check_out(run: FileRun) -> files.FileKind | None:
    """Find out before the work that its result has no place; the kind of files where it is a folder of them."""
    if run.out == "-":
        return None
    if not files.is_folder(run.out):
        files.check_place(Path(run.out))
        return None
    if isinstance(run.asked, Query) or files.is_elsewhere(run.out):
        message = f"{run.out} has no ending, and folders of results are written by Spark"
        raise files.table_error(message, "name a file such as result.parquet, or use --runner spark")
    return files.check_folder(run.out, by_spark=False)


def write_result(run: FileRun, result: pa.Table, type_: str | None, folder: files.FileKind | None) -> None:
    """Write rows into a file, or those of each query into a file of its own; nothing where they are printed."""
    if folder is not None and isinstance(run.asked, Workload):
        for name, rows in split_rows(run.asked, result, run.time, type_):
            path = Path(run.out) / f"{name}{files.ending_of(folder)}"
            files.make_folder(path.parent)
            files.write_table(rows, path)
    elif run.out != "-":
        files.write_table(result, Path(run.out))


def run_on_spark(run: FileRun, master: str, conf: Mapping[str, str], console: Console) -> None:
    """Run the query on Spark; all that can be wrong without Spark is found before it starts."""
    with explain_missing_spark():
        from trendweave.cli import spark_files, spark_session
    kind, paths = spark_files.choose_files(run.events, spark_session.is_local(master))
    by_tasks = run.out != "-" and files.is_folder(run.out) and writes_by_tasks(run)
    folder = files.check_folder(run.out) if by_tasks else check_out(run)
    with spark_session.session(master, conf, progress=console.is_terminal) as spark:
        events = spark_files.read_events(spark, kind, paths)
        type_ = choose_type_column(run.asked, run.type, events.columns)
        started = spark_files.SparkRun(run.asked, events, run.time, type_, run.options)
        if by_tasks and folder is not None:
            started.write(run.out, folder)
            return
        rows = started.rows()
        draw(run, rows)
        write_result(run, rows, type_, folder)
        if run.out == "-":
            print_result(run, rows, type_)


def writes_by_tasks(run: FileRun) -> bool:
    """Whether Spark's tasks write a folder: of one query, and on file systems that only they can reach."""
    return isinstance(run.asked, Query) or files.is_elsewhere(run.out)


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


def check_show(run: FileRun) -> None:
    """Refuse to draw what has no picture, before anything runs."""
    if run.show is None:
        return
    if isinstance(run.asked, Workload):
        raise Failure("--show draws the result of one query, not of many", "run the file of one query")
    if run.out != "-" and files.is_folder(run.out):
        raise Failure("--show cannot be combined with a folder of results", "write to a file such as trends.parquet")
    if run.show.suffix.lower() not in (".html", ".svg", ".png") or not run.show.absolute().parent.is_dir():
        raise Failure(f"{run.show} cannot be written", "name an .html, .svg or .png file in an existing folder")


def draw(run: FileRun, result: pa.Table) -> None:
    """Write the picture of `--show`, where it was asked for: a page of trends or matches has more than a picture."""
    if run.show is None or isinstance(run.asked, Workload):
        return
    listed = run.asked.lists_trends or run.asked.kind == "intervals"
    if run.show.suffix.lower() != ".html" or not listed:
        if find_kind(result.schema) is None:
            message = "--show draws windows, numbers, trends and situations, and the rows have none of them"
            raise Failure(message, "leave --show out, or RETURN TRENDS or a number")
        from trendweave import plot  # pictures are imported by those who want one

        plot(result, run.asked, numbers=run.numbers).save(run.show)
        return
    from trendweave.pictures import TimeLine, draw_time_line, draw_trends

    plan = run.asked.plan
    if isinstance(plan, IntervalPlan):
        keys = plan.key_names
        if plan.returns != "situations":
            keys = tuple(output.name for output in plan.outputs if output.function is None)
        page = draw_time_line(TimeLine(plan.text, plan.returns, plan.names, keys), result)
    else:
        page = draw_trends(result, str(run.asked))
    run.show.write_text(page, encoding="utf-8")


def print_result(run: FileRun, result: pa.Table, type_: str | None) -> None:
    """Print tables for people at a terminal, one per query; CSV for programs, one for all."""
    if sys.stdout.isatty():
        console = make_console()
        if isinstance(run.asked, Query):
            print_table(console, write_lists_as_text(result))
            return
        for name, rows in split_rows(run.asked, result, run.time, type_):
            console.rule(Text(name, style="bold"), align="left")
            print_table(console, write_lists_as_text(rows))
        return
    import pyarrow.csv

    pyarrow.csv.write_csv(write_lists_as_text(result), sys.stdout.buffer)
