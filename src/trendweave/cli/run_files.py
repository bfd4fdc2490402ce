"""`trendweave run`: events in files in, rows in a file or on the terminal out, on one of the runners."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from rich.console import Console

from trendweave import IntervalPlan, Query
from trendweave.cli import files
from trendweave.cli.failure import Failure
from trendweave.cli.options import Numbers, choose_type_column
from trendweave.cli.terminal import print_table
from trendweave.cli.trend_text import write_trends_as_text


@dataclass(frozen=True, slots=True)
class FileRun:
    """`out` is a file, a folder, or - for standard output; `show` is a page that trends are drawn on."""

    query: Query
    events: Sequence[str]
    out: str
    time: str
    type: str | None
    numbers: Numbers
    show: Path | None = None


def run_in_process(run: FileRun, console: Console) -> None:
    """Without a JVM; `console` shows how far it is."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    if run.out != "-":
        if files.is_folder(run.out):
            message = f"{run.out} has no ending, and folders of results are written by Spark"
            raise files.table_error(message, "name a file such as result.parquet, or use --runner spark")
        files.check_place(Path(run.out))
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        step = progress.add_task("reading events", total=3)
        table = files.read_tables(files.find_files(run.events))
        progress.update(step, advance=1, description=f"looking for trends in {table.num_rows:,} events")
        type_ = choose_type_column(run.query, run.type, table.column_names)
        result = run.query.run(table, run.time, type_, numbers=run.numbers)
        progress.update(step, advance=1, description=f"writing {result.num_rows:,} rows")
        if run.out != "-":
            files.write_table(result, Path(run.out))
    _draw(run, result)
    if run.out == "-":
        print_result(result)


def run_on_spark(run: FileRun, master: str, conf: Mapping[str, str], console: Console) -> None:
    """Run the query on Spark; all that can be wrong without Spark is found before it starts."""
    with explain_missing_spark():
        from trendweave.cli import spark_files, spark_session
    kind, paths = spark_files.choose_files(run.events, spark_session.is_local(master))
    folder = files.check_folder(run.out) if run.out != "-" and files.is_folder(run.out) else None
    if run.out != "-" and folder is None:
        files.check_place(Path(run.out))
    with spark_session.session(master, conf, progress=console.is_terminal) as spark:
        events = spark_files.read_events(spark, kind, paths)
        type_ = choose_type_column(run.query, run.type, events.columns)
        started = spark_files.SparkRun(run.query, events, run.time, type_, run.numbers)
        if folder is not None:
            started.write(run.out, folder)
            return
        rows = started.rows()
        _draw(run, rows)
        if run.out != "-":
            files.write_table(rows, Path(run.out))
        else:
            print_result(rows)


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
        raise Failure(message, f"pip install 'trendweave[spark]'{without}") from error


def check_show(run: FileRun) -> None:
    """Refuse to draw what is no list of trends, before anything runs."""
    if run.show is None:
        return
    if run.query.kind != "intervals" and not run.query.lists_trends:
        raise Failure("--show draws trends, and the query returns none", "RETURN TRENDS, perhaps with SAMPLE 100")
    if run.out != "-" and files.is_folder(run.out):
        raise Failure("--show does not go with a folder of results", "write to a file such as trends.parquet")
    if run.show.suffix.lower() != ".html" or not run.show.absolute().parent.is_dir():
        raise Failure(f"{run.show} cannot be written", "name an .html file in a folder that is there")


def _draw(run: FileRun, result: pa.Table) -> None:
    """Write the page of `--show`, where it was asked for."""
    if run.show is None:
        return
    from trendweave.pictures import TimeLine, draw_time_line, draw_trends

    plan = run.query.plan
    if isinstance(plan, IntervalPlan):
        keys = plan.key_names
        if plan.returns != "situations":
            keys = tuple(output.name for output in plan.outputs if output.function is None)
        page = draw_time_line(TimeLine(plan.text, plan.returns, plan.names, keys), result)
    else:
        page = draw_trends(result, str(run.query))
    run.show.write_text(page, encoding="utf-8")


def print_result(result: pa.Table) -> None:
    """Print a table for people at a terminal, CSV for programs."""
    result = write_trends_as_text(result)
    if sys.stdout.isatty():
        print_table(Console(), result)
        return
    import pyarrow.csv

    pyarrow.csv.write_csv(result, sys.stdout.buffer)
