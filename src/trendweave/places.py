"""The places where a query or a workload runs, and how one is chosen: the same for both.

Whatever is asked for comes here as an `Asked`: something that knows its options, can check columns, and can be bound to
them. What it is bound to is a program, and every place runs programs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard, TypeVar

from trendweave.errors import DataError
from trendweave.runners.place import Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from trendweave.devices.names import Device
    from trendweave.pictures.picture import Picture
    from trendweave.programs.program import Program
    from trendweave.rows.unknown_types import TypedQuery
    from trendweave.runners.auto import Choice
    from trendweave.runners.incremental import Given, Incremental
    from trendweave.runners.local import Batches
    from trendweave.runners.options import Settings
    from trendweave.runners.session import PushSession
    from trendweave.runners.spark.reading import ParquetEvents
    from trendweave.store.event_store import EventStore
    from trendweave.store.patterns.access import Access
    from trendweave.store.patterns.plan_access import Wish

_Found = TypeVar("_Found")


def _import_engine() -> None:
    """Import what computes before a signal can end that half-way: Python would leave broken packages behind."""
    if "trendweave.runners.local" not in sys.modules:
        from trendweave.interruptible import interruptible

        interruptible(import_module)("trendweave.runners.local")


class Asked(Protocol):
    """A query or a workload with the columns that were named for it, asked to run somewhere."""

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The columns that hold times."""

    def settings(
        self, place: Place, options: Mapping[str, Any], read_setting: Callable[[str], str | None] | None
    ) -> Settings:
        """The options of a call, checked."""

    def tell(self, events: pa.Table, rows: int) -> None:
        """Warn, once, of what a user would want to know of a result with so many rows."""

    def order(self, rows: pa.Table) -> pa.Table:
        """All rows of a result, in their order."""

    def check(self, schema: Any) -> None:
        """Raise all that does not fit these columns."""

    def bind(self, schema: pa.Schema, settings: Settings) -> Program:
        """The program on events of these columns, which fit."""

    def queries(self) -> tuple[TypedQuery, ...]:
        """The plans of queries that read events as they come, each with the column that holds the type."""

    def wishes(self, ordered: bool = False) -> tuple[Wish, ...]:
        """The queries, as a store plans for them; `ordered` where columns order events of one time."""


def run(asked: Asked, events: Any, options: Mapping[str, Any]) -> Any:
    """Rows, as the kind of table that the events came in.

    Args:
        asked: What runs.
        events: A table of any kind, a Spark DataFrame, or files that Spark's tasks read.
        options: The keyword arguments of the call.
    """
    _import_engine()

    if is_store(events):
        return _run_on_store(asked, events, options)
    if is_read_by_tasks(events):
        settings = asked.settings(Place.SPARK_BATCH, options, _settings_of(events))
        if settings.times.changes:
            return run(asked, events.to_spark(), options)
        program, _ = _bind_on_spark(asked, events.to_spark(), settings)
        from trendweave.runners.spark.reading import run_files

        _watch_tasks(events.sparkSession, settings)
        return run_files(program, events, settings)
    if is_spark(events):
        place = Place.SPARK_STREAM if events.isStreaming else Place.SPARK_BATCH
        settings = asked.settings(place, options, _settings_of(events))
        program, plain = _bind_on_spark(asked, events, settings)
        if events.isStreaming:
            from trendweave.runners.spark.stream import run_stream

            return run_stream(program, plain, settings)
        from trendweave.runners.spark.batch import run_batch

        _watch_tasks(events.sparkSession, settings)
        return run_batch(program, plain, settings)
    settings = asked.settings(Place.RUN, options, None)
    from trendweave.runners.local import run_local

    table, give_back = _read_here(asked, events, settings)
    rows = _on_device(asked, table, settings, lambda *bound: run_local(bound[0], table, settings.observation, bound[1]))
    asked.tell(table, rows.num_rows)
    return give_back(_mark_numbers(asked.order(rows), settings))


def _mark_numbers(rows: pa.Table, settings: Settings) -> pa.Table:
    """Rows that say where their counts are logarithms, so that a picture does, too."""
    from trendweave.rows.tables import mark_logarithms

    return mark_logarithms(rows) if settings.numbers == "log2" else rows


def _watch_tasks(spark: SparkSession, settings: Settings) -> None:
    """Show how far the tasks of actions on a result are."""
    from trendweave.runners.spark.progress import watch_tasks

    watch_tasks(spark, settings.progress)


def _read_here(asked: Asked, events: Any, settings: Settings) -> tuple[pa.Table, Callable[[pa.Table], Any]]:
    """Events of any kind as a table whose times are read, which fits; and how a result is handed back."""
    from trendweave.rows.tables import as_arrow
    from trendweave.rows.time_parsing import read_times, warn_of_far_future

    table, give_back = as_arrow(events)
    table = read_times(_settle(asked, table, settings), asked.time_columns, settings.times)
    try:
        asked.check(table.schema)
    except DataError as error:
        raise _with_index(error, events) from None
    for name in asked.time_columns:
        warn_of_far_future(table.column(name), name, settings.times.unit)
    return table, give_back


def _with_index(error: DataError, events: Any) -> DataError:
    """The error; where the index of a pandas frame has the name of a missing time or type, the hint says so."""
    index = getattr(getattr(events, "index", None), "names", None) or ()
    hints = {f"there is no {role} column {name}": name for role in ("time", "type") for name in index}
    problems = (
        replace(problem, hint=f"{hints[problem.message]} is in the index: run the query on frame.reset_index()")
        if problem.message in hints
        else problem
        for problem in error.problems
    )
    return DataError(problems, error.source)


def _settle(asked: Asked, table: pa.Table, settings: Settings) -> pa.Table:
    """Events with types for columns that nothing tells the type of."""
    from trendweave.rows.unknown_types import settle_types

    return settle_types(table, asked.queries(), asked.time_columns, settings.times)


def _on_device(asked: Asked, events: pa.Table, settings: Settings, work: Callable[[Program, Device], _Found]) -> _Found:
    """What is made of events on the device that is asked for, or on the one that suits them."""
    from trendweave.progress.watching import watching

    def work_watched(program: Program, device: Device) -> _Found:
        def estimate() -> float | None:
            from trendweave.runners.auto import estimate_seconds

            return estimate_seconds(program, events.num_rows, device)

        with watching(settings.progress, f"{events.num_rows:,} events", events.num_rows, estimate):
            return work(program, device)

    if settings.device != "auto":
        program = asked.bind(events.schema, settings)
        if settings.device == "gpu":
            from trendweave.programs.operators.on_gpu import check_card

            check_card(program)
        return work_watched(program, settings.device)
    from trendweave.runners.auto import choose_device, run_on_best

    program = asked.bind(events.schema, replace(settings, device="cpu"))

    def run_there(device: Device) -> _Found:
        # On one core it is bound already; many queries at once are told their device by nobody but the place.
        same = device == "cpu" or (device == "threads" and program.workload is not None)
        return work_watched(program if same else asked.bind(events.schema, replace(settings, device=device)), device)

    return run_on_best(choose_device(program, events), run_there)


def is_in_process(events: Any) -> bool:
    """Whether these are events in this process, not columns alone, and not those of Spark or of a store."""
    if is_store(events) or is_read_by_tasks(events) or is_spark(events):
        return False
    import pyarrow as pa

    return not isinstance(events, pa.Schema | Mapping)


def explain_loops(asked: Asked, relaxed: Asked, events: Any, options: Mapping[str, Any]) -> str:
    """The text of the loops that are written for events, or for made-up ones.

    Args:
        asked: The query.
        relaxed: The query without conditions on single events, so that made-up events meet them.
        events: Events; None to make some up, also where there are columns and no events.
        options: The keyword arguments of the call.
    """
    _import_engine()
    from trendweave.kernel_cache.kernel import recorded_texts
    from trendweave.runners.written_loops import explain_loops, make_events

    with recorded_texts(only_write=True):  # a GPU need not be there
        settings = asked.settings(Place.RUN, options, None)
    queries, time = asked.queries(), asked.time_columns[0]
    if events is None:
        events = make_events(asked.check, queries, time, None)
    table, _ = _read_here(asked, events, settings)
    if not table.num_rows:
        table = make_events(asked.check, queries, time, table.schema)
    return explain_loops(relaxed.bind(table.schema, settings), table)


def find_device(asked: Asked, events: Any, rows: int | None, options: Mapping[str, Any]) -> Choice:
    """What device="auto" takes for events, or for so many of which nothing is known, and why."""
    from trendweave.runners.auto import assume_device, choose_device

    settings = asked.settings(Place.SCHEMA, options, None)
    if events is None:
        return assume_device([wish.plan for wish in asked.wishes()], rows or 0)
    table, _ = _read_here(asked, events, settings)
    return choose_device(asked.bind(table.schema, replace(settings, device="cpu")), table)


def _run_on_store(asked: Asked, store: EventStore, options: Mapping[str, Any]) -> Any:

    spark = options.get("spark")
    settings = asked.settings(Place.STORE, options, None if spark is None else settings_of_session(spark))
    from trendweave.store.patterns.in_process import Request, run_on_store

    asked.check(store.schema)
    request = Request(asked.wishes(bool(settings.order_by)), settings.between, settings.using)
    if spark is not None:
        from trendweave.store.spark.queries import columns_on_spark, run_on_spark

        _watch_tasks(spark, settings)
        return run_on_spark(asked.bind(columns_on_spark(store), settings), store, request, settings)
    program = asked.bind(store.schema, settings)
    from trendweave.progress.watching import watching

    with watching(settings.progress, "asking stored events", int(store.groups.rows.sum())):
        rows = run_on_store(program, store, request, settings.observation, settings.device)
    return _mark_numbers(asked.order(rows), settings)


def explain_on_store(asked: Asked, store: EventStore, options: Mapping[str, Any]) -> str:
    """What is read of a store, and why."""
    from trendweave.store.patterns.access import explain_access

    return explain_access(_plan_on_store(asked, store, options), store)


def draw_on_store(asked: Asked, store: EventStore, options: Mapping[str, Any]) -> Picture:
    """The same as a picture."""
    from trendweave.pictures.bars import make_reading_plan
    from trendweave.store.patterns.access import draw_access

    return make_reading_plan(draw_access(_plan_on_store(asked, store, options), store))


def _plan_on_store(asked: Asked, store: EventStore, options: Mapping[str, Any]) -> Access:

    settings = asked.settings(Place.STORE, options, None)
    from trendweave.store.patterns.in_process import Request, plan_request

    asked.check(store.schema)
    request = Request(asked.wishes(bool(settings.order_by)), settings.between, settings.using)
    return plan_request(request, store, asked.bind(store.schema, settings).needs.read)


def iterate(asked: Asked, events: Any, options: Mapping[str, Any]) -> Batches:
    """The same rows as an iterator over batches."""
    _import_engine()

    settings = asked.settings(Place.ITER, options, None)
    from trendweave.runners.local import Batches

    table, _ = _read_here(asked, events, settings)
    batches = _on_device(
        asked, table, settings, lambda *bound: Batches(bound[0], table, settings.observation, bound[1])
    )
    return batches.tell_at_end(lambda rows: asked.tell(table, rows))


def read_columns(asked: Asked, source: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of events, or of what tells them, as checks see them.

    Args:
        asked: What is checked.
        source: What `run` takes, a schema of Arrow or Spark, or a mapping from names of columns to types.
        options: The keyword arguments of the call, of which those about times count.
    """
    from trendweave.rows.tables import find_columns, refuse_pandas_on_spark

    refuse_pandas_on_spark(source)
    settings = asked.settings(Place.SCHEMA, options, None)
    if is_read_by_tasks(source):
        source = source.to_spark()
    # Stores give columns of unknown type as they are.
    queries = () if is_store(source) else asked.queries()
    return find_columns(source, queries, asked.time_columns, settings.times)


def find_schema(asked: Asked, events: Any, options: Mapping[str, Any]) -> Any:
    """The columns of the result, in the types of the engine that has the events."""

    if stored := is_store(events):
        events = events.schema
    if is_read_by_tasks(events):
        events = events.to_spark()
    if is_spark(events):
        settings = asked.settings(Place.SCHEMA, options, _settings_of(events))
        program, plain = _bind_on_spark(asked, events, settings)
        from trendweave.runners.spark.prepare import result_type

        return result_type(program, plain.schema)
    settings = asked.settings(Place.SCHEMA, options, None)
    import pyarrow as pa

    if not isinstance(events, pa.Schema):
        from trendweave.rows.tables import as_arrow

        events = _settle(asked, as_arrow(events)[0], settings)
    # Filters of a store are asked of its row groups, whatever computes the rest.
    return _bind_here(asked, events, replace(settings, device="cpu") if stored else settings).schema


def make_engine(asked: Asked, events: Any, options: Mapping[str, Any]) -> Incremental:
    """An engine for events piece by piece."""
    _import_engine()
    from trendweave.runners.incremental import Incremental

    settings = asked.settings(Place.INCREMENTAL, options, None)
    return Incremental(_bind_here(asked, events, settings), _given(events, settings), settings.device == "gpu")


def open_session(
    asked: Asked, events: Any, options: Mapping[str, Any], draw: Callable[[], Picture] | None = None
) -> PushSession:
    """A session for events one by one; `draw` gives the picture that notebooks show with it."""
    from trendweave.runners.session import PushSession

    return PushSession(*prepare_session(asked, events, options), draw)


def prepare_session(asked: Asked, events: Any, options: Mapping[str, Any]) -> tuple[Incremental, str, bytes | None]:
    """What a session is made of: an engine, how far the watermark stays behind, and a state to go on from."""
    _import_engine()
    from trendweave.runners.incremental import Incremental

    settings = asked.settings(Place.PUSH, options, None)
    engine = Incremental(_bind_here(asked, events, settings), _given(events, settings), settings.device == "gpu")
    return engine, settings.watermark or "0 seconds", settings.state


def is_spark(events: object) -> bool:
    """Whether events are a DataFrame of Spark."""
    if not type(events).__module__.startswith("pyspark."):
        return False
    from trendweave.rows.tables import refuse_pandas_on_spark

    refuse_pandas_on_spark(events)
    return True


def is_store(events: object) -> TypeGuard[EventStore]:
    """Whether events are stored ones, with indexes."""
    return any(kind.__module__ == "trendweave.store.event_store" for kind in type(events).__mro__)


def is_read_by_tasks(events: object) -> bool:
    """Whether events are files of `trendweave.read`."""
    return type(events).__module__ == "trendweave.runners.spark.reading"


def _bind_here(asked: Asked, events: Any, settings: Settings) -> Program:
    from trendweave.rows.tables import arrow_schema
    from trendweave.rows.time_parsing import read_schema
    from trendweave.rows.unknown_types import settle_numbers

    schema = settle_numbers(arrow_schema(events), asked.queries())
    schema = read_schema(schema, asked.time_columns, settings.times)
    asked.check(schema)
    program = asked.bind(schema, settings)
    if settings.device == "gpu":
        from trendweave.programs.operators.on_gpu import check_on_card

        check_on_card([program])
    return program


def _given(events: Any, settings: Settings) -> Given | None:
    """Events as they come, where their times are still to be read."""
    if not settings.times.changes:
        return None
    from trendweave.rows.tables import arrow_schema
    from trendweave.runners.incremental import Given

    return Given(arrow_schema(events), settings.times)


def _bind_on_spark(asked: Asked, events: DataFrame, settings: Settings) -> tuple[Program, DataFrame]:
    """The program, and the events as it takes them."""
    from trendweave.kernel_cache.waiting import tell_driver
    from trendweave.runners.spark.prepare import arrow_schema, in_plain_strings, settle_numbers_on_spark
    from trendweave.runners.spark.time_parsing import read_times_on_spark
    from trendweave.runners.spark.versions import check_version
    from trendweave.runners.spark.workers import check_python

    check_version()
    check_python(events.sparkSession)
    tell_driver()
    events = read_times_on_spark(events, asked.time_columns, settings.times)
    events = settle_numbers_on_spark(events, asked.queries())
    asked.check(events)
    plain = in_plain_strings(events)
    return asked.bind(arrow_schema(plain.schema), settings), plain


def _settings_of(events: DataFrame | ParquetEvents) -> Callable[[str], str | None]:
    """Settings of the session that has the events."""
    return settings_of_session(events.sparkSession)


def settings_of_session(spark: SparkSession) -> Callable[[str], str | None]:
    """Gives the value of a setting of a session, None where it is not set."""

    def read(name: str) -> str | None:
        return spark.conf.get(name, "") or None

    return read
