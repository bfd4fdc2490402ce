"""Operators in every place: tables in this process, pieces, sessions, Spark, stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.errors import DataError, Problem, raise_problems
from trendweave.events import AUTO, TypeColumn, schema_of
from trendweave.operators.binding import Asked, refuse_right, refuse_store_beside
from trendweave.operators.on_spark import run_on_spark
from trendweave.planning.checks.operators import check_sides
from trendweave.planning.operator_plans import AggregatePlan, FilterPlan, JoinPlan
from trendweave.queries import Query, store_time
from trendweave.runners.place import Place

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave.operators.operator import Piped
    from trendweave.programs.operators.chain import Stage
    from trendweave.rows.time_parsing import TimeReading
    from trendweave.runners.auto import Choice
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.local import Batches
    from trendweave.runners.options import Settings
    from trendweave.runners.session import PushSession
    from trendweave.store.event_store import EventStore

Options = Mapping[str, Any]


def run(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Any:
    """Rows, as the kind of table that the events came in."""
    if places.is_store(events):
        return run_on_store(piped, events, right, time, type_, options)
    asked, taken, give_back = _take(piped, events, right, time, type_, options)
    if places.is_read_by_tasks(taken):
        taken = taken.to_spark()
    if places.is_spark(taken):
        return run_on_spark(asked, taken, options)
    columns = _columns_as_they_came(piped, events, time, options)
    rows = give_back(places.run(asked, taken, options))
    if columns is None:
        return rows
    from trendweave.rows.tables import restore_types

    return restore_types(rows, columns)


def iterate(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Batches:
    """The same rows as an iterator over batches."""
    asked, taken, _ = _take(piped, events, right, time, type_, options)
    return places.iterate(asked, taken, options)


def find_schema(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Any:
    """The columns of the result."""
    asked, taken, _ = _take(piped, events, right, time, type_, options)
    found = places.find_schema(asked, taken, options)
    return _columns_as_they_came(piped, events, time, options) or found


def check(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn) -> None:
    """Raise what does not fit."""
    find_schema(piped, events, right, time, type_, {})


def make_engine(piped: Piped, events: Any, time: str, type_: TypeColumn, options: Options) -> Incremental:
    """An engine for events piece by piece."""
    return places.make_engine(Asked(piped.operators, time, type_), events, options)


def open_session(piped: Piped, events: Any, time: str, type_: TypeColumn, options: Options) -> PushSession:
    """A session for events one by one."""
    from trendweave.operators.drawing import make_chain

    return places.open_session(Asked(piped.operators, time, type_), events, options, partial(make_chain, piped))


def bind_stages(
    piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options
) -> tuple[tuple[Stage, ...], Settings]:
    """Every operator bound to the columns of events, or to the rows of the one before, and the options."""

    asked, taken, _ = _take(piped, events, right, time, type_, options)
    if places.is_read_by_tasks(taken):
        taken = taken.to_spark()
    read = places.settings_of_session(taken.sparkSession) if places.is_spark(taken) else None
    settings = asked.settings(Place.SCHEMA, options, read)
    if places.is_spark(taken):
        # Tasks choose no device.
        settings = replace(settings, device="cpu") if settings.device == "auto" else settings
        from trendweave.runners.spark.prepare import arrow_schema as spark_schema
        from trendweave.runners.spark.prepare import in_plain_strings, settle_numbers_on_spark
        from trendweave.runners.spark.time_parsing import read_times_on_spark

        frame = settle_numbers_on_spark(read_times_on_spark(taken, asked.time_columns, settings.times), asked.queries())
        frame = in_plain_strings(frame)
        asked.check(frame)
        return asked.bind_all(spark_schema(frame.schema), settings), settings
    from trendweave.rows.tables import arrow_schema
    from trendweave.rows.time_parsing import read_schema
    from trendweave.rows.unknown_types import settle_numbers

    columns = arrow_schema(taken.schema if places.is_store(taken) else taken)
    if not places.is_store(taken):
        columns = settle_numbers(columns, asked.queries())
    columns = read_schema(columns, asked.time_columns, settings.times)
    asked.check(columns)
    stages = asked.bind_all(columns, settings)
    if not places.is_store(taken):
        from trendweave.programs.operators.on_gpu import check_on_card

        check_on_card(stage.program for stage in stages)
    return stages, settings


def chain_of(stages: tuple[Stage, ...]) -> dict[str, Any]:
    """What is told of all operators together: what brings events together on a stream."""
    from trendweave.programs.operators.chain import shared_keys

    stateful = next((number for number, stage in enumerate(stages) if not stage.is_filter), None)
    told: dict[str, Any] = {}
    if stateful is not None:
        names = {path: name for name, path in stages[stateful].met_by.items()}
        keys = [names[path] for path in shared_keys(stages[stateful:])]
        told["on a stream all events meet by"] = ", ".join(keys)
    return told


def find_device(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Choice | None:
    """What device="auto" takes; None where there are columns alone, on stores and on Spark."""
    asked, taken, _ = _take(piped, events, right, time, type_, options)
    return places.find_device(asked, taken, None, options) if places.is_in_process(taken) else None


def _take(
    piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options
) -> tuple[Asked, Any, Callable[[Any], Any]]:
    """What is asked, the events that it is asked of, those of two sides as one, and how rows are handed back."""
    if places.is_store(events):
        return ask_store(piped, events, time, type_), events, _unchanged
    if right is None:
        return Asked(piped.operators, time, type_), events, _unchanged
    first = piped.operators[0]
    if not isinstance(first.task, JoinPlan):
        raise refuse_right(first)
    events, right = (one.to_spark() if places.is_read_by_tasks(one) else one for one in (events, right))
    if places.is_store(right):
        raise refuse_store_beside(both=False)
    times = _times(options)
    (events, give_back), (right, _) = (_read_side(one, time, times) for one in (events, right))
    raise_problems(check_sides(first.task, schema_of(events), schema_of(right), time), first.source)
    return Asked(piped.operators, time, type_, merged=True), _merge(first.task, events, right, time), give_back


def _times(options: Options) -> TimeReading:
    from trendweave.rows.time_parsing import read_time_options

    return read_time_options(options.get("time_unit"), options.get("time_format"))


def _read_side(events: Any, time: str, times: TimeReading) -> tuple[Any, Callable[[Any], Any]]:
    """Events of one side, their times read, and how rows are handed back."""
    if places.is_spark(events):
        from trendweave.runners.spark.time_parsing import read_times_on_spark

        return read_times_on_spark(events, (time,), times), _unchanged
    import pyarrow as pa

    from trendweave.rows.tables import arrow_schema, as_arrow
    from trendweave.rows.time_parsing import read_schema, read_times

    if isinstance(events, pa.Schema):
        return read_schema(arrow_schema(events), (time,), times), _unchanged
    table, give_back = as_arrow(events)
    return read_times(table, (time,), times), give_back


def _merge(plan: JoinPlan, events: Any, right: Any, time: str) -> Any:
    """Events of both sides, whose times are read, as one stream."""
    if places.is_spark(events) != places.is_spark(right):
        message = "one side of the join is a Spark DataFrame, the other is not"
        raise DataError([Problem("TW308", message, "convert both to DataFrames, or both to tables")])
    if places.is_spark(events):
        from trendweave.runners.spark.operators import merge_frames

        return merge_frames(events, right, plan, time)
    import pyarrow as pa

    from trendweave.programs.operators.joins.sides import merge_sides, merged_schema
    from trendweave.rows.tables import arrow_schema

    if isinstance(events, pa.Schema) or isinstance(right, pa.Schema):
        return merged_schema(arrow_schema(events), arrow_schema(right), plan, time)
    return merge_sides(events, right, plan, time)


def _columns_as_they_came(piped: Piped, events: Any, time: str, options: Options) -> pa.Schema | None:
    """Those of Arrow tables that filters alone work on, which change no column; None elsewhere."""
    import pyarrow as pa

    if not all(isinstance(operator.task, FilterPlan) for operator in piped.operators):
        return None
    from trendweave.rows.time_parsing import read_schema

    if not isinstance(events, pa.Schema):
        if not isinstance(events, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            return None
        events = events.schema
    return read_schema(events.remove_metadata(), (time,), _times(options))


def _unchanged(rows: Any) -> Any:
    return rows


#: Options that say how the store is read.
_OF_STORES = ("between", "using", "spark")


def run_on_store(
    piped: Piped, store: EventStore, right: Any, time: str, type_: TypeColumn, options: Mapping[str, Any]
) -> Any:
    """Rows as an Arrow table; with a session of Spark as a DataFrame.

    Raises:
        OptionError: There is another table.
    """
    if right is not None:
        raise refuse_store_beside(both=places.is_store(right))

    spark = options.get("spark")
    asked = ask_store(piped, store, time, type_)
    settings = asked.settings(Place.STORE, options, None if spark is None else places.settings_of_session(spark))
    asked.check(store.schema)
    later = {name: value for name, value in options.items() if name not in _OF_STORES}
    first = asked.operators[0].task
    if isinstance(first, Query):
        return _run_behind(asked, first.run(store, time, type_, **options), later)
    if spark is not None:
        return run_on_spark(asked, store.to_spark(spark, between=settings.between), later)
    if isinstance(first, AggregatePlan):
        rows = _aggregate(asked, store, settings)
        if rows is not None:
            return _run_behind(asked, rows, later)
    from trendweave.store.operators import read_for_filters

    read = asked.bind(store.schema, settings).needs.read
    return places.run(asked, read_for_filters(store, asked.leading_filters, read, settings), later)


def ask_store(piped: Piped, store: EventStore, time: str, type_: TypeColumn) -> Asked:
    """The operators, with the columns of time and type that the store knows."""
    asked = Asked(piped.operators, store_time(store, time), type_)
    return asked if store.type is None else replace(asked, usual_type=store.type)


def _aggregate(asked: Asked, store: EventStore, settings: Settings) -> pa.Table | None:
    """Rows of aggregates of windows, where the store can tell them."""
    from trendweave.store.operators import windows_on_store

    windows = asked.bind_one(0, store.schema, settings).windows
    return None if windows is None else windows_on_store(windows, store, settings)


def _run_behind(asked: Asked, rows: Any, options: Mapping[str, Any]) -> Any:
    """The operators behind the first one, on its rows."""
    if len(asked.operators) == 1:
        return rows
    others = asked.behind(1)
    return run_on_spark(others, rows, options) if places.is_spark(rows) else places.run(others, rows, options)


def find_order(
    piped: Piped, events: Any, right: Any, options: Mapping[str, Any], time: str, type: TypeColumn = AUTO
) -> Callable[[pa.Table], pa.Table]:
    """What puts all rows of a run into order; those that one task has made stand in theirs already.

    Args:
        piped: The operators.
        events: What they ran on: a DataFrame or a store.
        right: The events of the right side of a join; None without them.
        options: Those of the run.
        time: As in `run`.
        type: As in `run`.
    """
    stages, _ = bind_stages(piped, events, right, time, type, options)

    def order(rows: pa.Table) -> pa.Table:
        behind = len(stages)
        while behind > 1 and stages[behind - 1].is_filter:
            behind -= 1
        # Filters behind the last other operator order rows by time, and leave those of one time as they are.
        last = [*stages[behind - 1 : behind], *stages[behind:][-1:]]
        task = piped.operators[behind - 1].task
        if isinstance(task, Query):
            rows = _by_window_and_group(rows, task)
            last = last[1:]
        for stage in last:
            arrange = stage.program.arranging()
            rows = rows if arrange is None else arrange(rows)
        return rows

    return order


def _by_window_and_group(rows: pa.Table, query: Query) -> pa.Table:
    """Rows of a query by the columns that tell them apart, which come first."""
    names = rows.column_names[: rows.num_columns - query.value_count]
    return rows.sort_by([(name, "ascending") for name in names]) if names else rows
