"""Operators in every place: tables in this process, pieces, sessions, Spark, stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.errors import DataError, Problem, raise_problems
from trendweave.events import schema_of
from trendweave.operators.binding import Asked, refuse_right, refuse_store_beside
from trendweave.operators.on_spark import run_on_spark
from trendweave.operators.on_store import ask_store, run_on_store
from trendweave.planning.checks.operators import check_sides
from trendweave.planning.operator_plans import FilterPlan, JoinPlan
from trendweave.queries import TypeColumn

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave.operators.operator import Piped
    from trendweave.programs.operators.stages import Stage
    from trendweave.runners.incremental import Incremental
    from trendweave.runners.local import Batches
    from trendweave.runners.options import Settings
    from trendweave.runners.session import PushSession

Options = Mapping[str, Any]


def run(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Any:
    """Rows, as the kind of table that the events came in."""
    if places.is_store(events):
        return run_on_store(piped, events, right, time, type_, options)
    asked, taken, give_back = _take(piped, events, right, time, type_)
    if places.is_read_by_tasks(taken):
        taken = taken.to_spark()
    if places.is_spark(taken):
        return run_on_spark(asked, taken, options)
    columns = _columns_as_they_came(piped, events)
    rows = give_back(places.run(asked, taken, options))
    if columns is None:
        return rows
    from trendweave.rows.tables import restore_types

    return restore_types(rows, columns)


def iterate(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Batches:
    """The same rows as an iterator over batches."""
    asked, taken, _ = _take(piped, events, right, time, type_)
    return places.iterate(asked, taken, options)


def find_schema(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> Any:
    """The columns of the result."""
    asked, taken, _ = _take(piped, events, right, time, type_)
    found = places.find_schema(asked, taken, options)
    return _columns_as_they_came(piped, events) or found


def check(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn) -> None:
    """Raise what does not fit."""
    find_schema(piped, events, right, time, type_, {})


def make_engine(piped: Piped, events: Any, time: str, type_: TypeColumn, options: Options) -> Incremental:
    """An engine for events piece by piece."""
    return places.make_engine(Asked(piped.operators, time, type_), events, options)


def open_session(piped: Piped, events: Any, time: str, type_: TypeColumn, options: Options) -> PushSession:
    """A session for events one by one."""
    return places.open_session(Asked(piped.operators, time, type_), events, options)


def bind_stages(
    piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options
) -> tuple[tuple[Stage, ...], Settings]:
    """Every operator bound to the columns of events, or to the rows of the one before, and the options."""
    from trendweave.runners.options import Place

    asked, taken, _ = _take(piped, events, right, time, type_)
    if places.is_read_by_tasks(taken):
        taken = taken.to_spark()
    read = places.settings_of_session(taken.sparkSession) if places.is_spark(taken) else None
    settings = asked.settings(Place.SCHEMA, options, read)
    asked.check(taken.schema if places.is_store(taken) else taken)
    if places.is_spark(taken):
        from trendweave.runners.spark.prepare import arrow_schema as spark_schema
        from trendweave.runners.spark.prepare import in_plain_strings

        return asked.bind_all(spark_schema(in_plain_strings(taken).schema), settings), settings
    from trendweave.rows.tables import arrow_schema

    return asked.bind_all(arrow_schema(taken.schema if places.is_store(taken) else taken), settings), settings


def chain_of(stages: tuple[Stage, ...], settings: Settings) -> dict[str, Any]:
    """What is told of all operators together: what brings events together on a stream, and what computes."""
    from trendweave.programs.operators.stages import shared_keys

    stateful = next((number for number, stage in enumerate(stages) if not stage.is_filter), None)
    told: dict[str, Any] = {}
    if stateful is not None:
        names = {path: name for name, path in stages[stateful].met_by.items()}
        keys = [names[path] for path in shared_keys(stages[stateful:])]
        told["on a stream all events meet by"] = ", ".join(keys)
    return {**told, "device": settings.device}


def explain_device(piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn, options: Options) -> list[str]:
    """What each device is estimated to take, one a line; nothing where there are columns alone, or on Spark."""
    asked, taken, _ = _take(piped, events, right, time, type_)
    if not places.is_in_process(taken):
        return []
    return places.explain_device(asked, taken, None, options).split("\n")


def _take(
    piped: Piped, events: Any, right: Any, time: str, type_: TypeColumn
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
        raise refuse_store_beside()
    raise_problems(check_sides(first.task, schema_of(events), schema_of(right), time), first.source)
    return Asked(piped.operators, time, type_, merged=True), *_merge(first.task, events, right, time)


def _merge(plan: JoinPlan, events: Any, right: Any, time: str) -> tuple[Any, Callable[[Any], Any]]:
    """Events of both sides as one stream."""
    if places.is_spark(events) != places.is_spark(right):
        message = "one side of a join is a Spark DataFrame, and the other is none"
        raise DataError([Problem("TW308", message, "make DataFrames of both, or tables of both")])
    if places.is_spark(events):
        from trendweave.runners.spark.operators.sides import merge_frames

        return merge_frames(events, right, plan, time), _unchanged
    import pyarrow as pa

    from trendweave.programs.operators.joins.sides import merge_sides, merged_schema
    from trendweave.rows.tables import arrow_schema, as_arrow

    if isinstance(events, pa.Schema) or isinstance(right, pa.Schema):
        return merged_schema(arrow_schema(events), arrow_schema(right), plan, time), _unchanged
    left, give_back = as_arrow(events)
    return merge_sides(left, as_arrow(right)[0], plan, time), give_back


def _columns_as_they_came(piped: Piped, events: Any) -> pa.Schema | None:
    """Those of Arrow tables that filters alone work on, which change no column; None elsewhere."""
    import pyarrow as pa

    if not all(isinstance(operator.task, FilterPlan) for operator in piped.operators):
        return None
    if isinstance(events, pa.Schema):
        return events.remove_metadata()
    arrow = isinstance(events, pa.Table | pa.RecordBatch | pa.RecordBatchReader)
    return events.schema.remove_metadata() if arrow else None


def _unchanged(rows: Any) -> Any:
    return rows
