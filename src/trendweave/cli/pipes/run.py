"""Operators on files or on a store, and where their rows go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from trendweave.cli import files
from trendweave.cli.run_files import explain_missing_spark
from trendweave.cli.run_store import open_any, read_bounds
from trendweave.cli.terminal import print_table
from trendweave.cli.trend_text import write_lists_as_text
from trendweave.consoles import make_console
from trendweave.operators.running import find_order
from trendweave.rows.given_times.result_times import check_result_times

if TYPE_CHECKING:
    from trendweave import EventStore
    from trendweave.operators import Chain, Operator


@dataclass(frozen=True, slots=True)
class PipeRun:
    """`right` are files of the right side of a join, `store` stored events instead of `events`. `out` is a file, a
    folder, or - for standard output; `type` is None where no column was named."""

    chain: Chain | Operator
    events: Sequence[str]
    right: Sequence[str]
    store: str | None
    between: tuple[str, str] | None
    out: str
    time: str
    type: str | None
    options: Mapping[str, Any]

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of time and type, as `run` takes them."""
        return {"time": self.time} | ({} if self.type is None else {"type": self.type or None})

    def sides(self, read: Callable[[Sequence[str]], Any]) -> tuple[Any, Any]:
        """What is read of files of both sides; None of a side without files."""
        return read(self.events), read(self.right) if self.right else None

    def open(self) -> tuple[EventStore, dict[str, Any]]:
        """The store, and the options of a run on it."""
        assert self.store is not None
        store = open_any(self.store, self.time, "type" if self.type is None else self.type or None)
        bounds = {} if self.between is None else {"between": read_bounds(store, self.between)}
        return store, {**self.options, **bounds}


def explain_pipe(run: PipeRun) -> None:
    """Tell what would be done; with files or a store, by their columns. Estimates of devices are made of events."""
    if run.store is not None:
        store, options = run.open()
        print(run.chain.explain(store, **run.columns, **options))
        return
    if not run.events:
        print(run.chain.explain())
        return
    if run.options.get("device") == "auto":
        left, right = run.sides(lambda paths: files.read_tables(files.find_files(paths)))
    else:
        left, right = run.sides(lambda paths: files.read_schema(files.find_files(paths).paths[0]))
    print(run.chain.explain(left, right, **run.columns, **run.options))


def run_here(run: PipeRun) -> None:
    """Without a JVM."""
    _check_out(run, by_spark=False)
    if run.store is not None:
        store, options = run.open()
        rows = run.chain.run(store, **run.columns, **options)
    else:
        left, right = run.sides(lambda paths: files.read_tables(files.find_files(paths)))
        rows = run.chain.run(left, right, **run.columns, **run.options)
    _write(run, rows)


def run_on_spark(run: PipeRun, master: str, conf: Mapping[str, str], progress: bool) -> None:
    """Run on Spark; all that can be wrong without Spark is found before it starts."""
    with explain_missing_spark():
        from trendweave.cli import spark_files, spark_session
        from trendweave.runners.spark.versions import collect_arrow
    folder = _check_out(run, by_spark=True)
    local = spark_session.is_local(master)
    chosen = run.sides(lambda paths: spark_files.choose_files(paths, local)) if run.store is None else ()
    with spark_session.session(master, conf, progress=progress) as spark:
        if run.store is not None:
            store, options = run.open()
            rows = run.chain.run(store, **run.columns, **options, spark=spark)
            asked_of: tuple[Any, Any] = store, None
        else:
            left, right = (None if one is None else spark_files.read_plainly(spark, *one) for one in chosen)
            rows = run.chain.run(left, right, **run.columns, **run.options)
            asked_of = left, right
        if folder is not None:
            spark_files.write_rows(rows, run.out, folder)
            return
        with spark_session.explain_spark_errors():
            found = collect_arrow(rows)
            in_order = find_order(run.chain, *asked_of, run.options, **run.columns)
    check_result_times(found, run.time, run.options)
    _write(run, in_order(found))


def _check_out(run: PipeRun, by_spark: bool) -> files.FileKind | None:
    """Find out before the work that its result has no place; the kind of files where it is a folder of them."""
    if run.out == "-":
        return None
    if not files.is_folder(run.out):
        files.check_place(Path(run.out))
        return None
    if not by_spark:
        message = f"{run.out} has no ending, and folders of results are written by Spark"
        raise files.table_error(message, "name a file such as result.parquet, or use --runner spark")
    return files.check_folder(run.out)


def _write(run: PipeRun, rows: pa.Table) -> None:
    if run.out != "-":
        files.write_table(rows, Path(run.out))
        return
    if sys.stdout.isatty():
        print_table(make_console(), write_lists_as_text(rows))
        return
    import pyarrow.csv

    pyarrow.csv.write_csv(write_lists_as_text(rows), sys.stdout.buffer)
