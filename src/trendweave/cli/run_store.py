"""`trendweave run --store`: stored events in, rows out, by their indexes where that pays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from trendweave.cli.options import Using
from trendweave.cli.run_files import FileRun, check_out, draw, explain_missing_spark, print_result, write_result
from trendweave.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave import EventStore, Options


@dataclass(frozen=True, slots=True)
class StoreRun:
    """A run whose events are stored. `between` is as it was written."""

    run: FileRun
    path: str
    between: tuple[str, str] | None
    using: Using | None

    def options(self, store: EventStore) -> Options:
        """Options of `run`."""
        options: Options = {**self.run.options}
        if self.between is not None:
            options["between"] = read_bounds(store, self.between)
        if self.using is not None:
            options["using"] = self.using.value
        return options

    def open(self) -> EventStore:
        """The store."""
        return open_any(self.path, self.run.time, self.run.type)

    @property
    def named_type(self) -> dict[str, Any]:
        """The column of the type as an argument of `run`, where another is named than the one that a store knows."""
        return {} if self.run.type == "type" else {"type": self.run.type}

    def type_in(self, store: EventStore) -> str | None:
        """The column of the type: that of the store, unless another is named."""
        return store.type if self.run.type == "type" else self.run.type


def open_any(path: str, time: str, type_: str | None) -> EventStore:
    """A store that was made, or one over the files that are there, with these columns of time and type; without the
    column `type`, which is looked for unless another is named, all events are of one."""
    from trendweave import EventStore

    try:
        return EventStore.open(path)
    except DataError as error:
        if error.problems[0].code != "TW333":
            raise
    return EventStore.over(path, time=time) if type_ == "type" else EventStore.over(path, time=time, type=type_)


def read_bounds(store: EventStore, between: tuple[str, str]) -> tuple[Any, Any]:
    """Times as text, or numbers where the store counts seconds."""
    return (_read(store, between[0]), _read(store, between[1]))


def _read(store: EventStore, text: str) -> Any:
    import pyarrow as pa

    if pa.types.is_timestamp(store.schema.field(store.time).type):
        return text
    try:
        return float(text) if "." in text or "e" in text.lower() else int(text)
    except ValueError:
        raise typer.BadParameter(f"{text} is no number of seconds", param_hint="--between") from None


def run_store_here(asked: StoreRun, console: Console) -> None:
    """Without a JVM; `console` shows how far it is."""
    folder = check_out(asked.run)
    with console.status("asking the store") if console.is_terminal else nullcontext():
        store = asked.open()
        rows = asked.run.asked.run(store, **asked.named_type, **asked.options(store))
    _finish(asked, store, rows, folder)


def run_store_on_spark(asked: StoreRun, master: str, conf: Mapping[str, str], console: Console) -> None:
    """By Spark's tasks; what can be wrong without Spark is found before it starts."""
    with explain_missing_spark():
        from trendweave.cli import spark_files, spark_session
        from trendweave.runners.spark.versions import collect_arrow
    folder = check_out(asked.run)
    store = asked.open()
    options = asked.options(store)
    with spark_session.session(master, conf, progress=console.is_terminal) as spark:
        options["spark"] = spark
        found: Any = asked.run.asked.run(store, **asked.named_type, **options)
        with spark_session.explain_spark_errors():
            rows = collect_arrow(found)
    spark_files.tell_of_no_rows(rows)
    _finish(asked, store, rows, folder)


def _finish(asked: StoreRun, store: EventStore, rows: pa.Table, folder: Any) -> None:
    write_result(asked.run, rows, asked.type_in(store), folder)
    draw(asked.run, rows)
    if asked.run.out == "-":
        print_result(asked.run, rows, asked.type_in(store))
