"""Operators on stored events: the first ones ask the store, the others run on their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trendweave import places
from trendweave.events import TypeColumn
from trendweave.operators.binding import Asked, refuse_store_beside
from trendweave.operators.on_spark import run_on_spark
from trendweave.planning.operator_plans import AggregatePlan
from trendweave.queries import Query, store_time

if TYPE_CHECKING:
    import pyarrow as pa

    from trendweave.operators.operator import Piped
    from trendweave.runners.options import Settings
    from trendweave.store.event_store import EventStore

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
    from trendweave.runners.options import Place

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
    from trendweave.store.operators.reading import read_for_filters

    read = asked.bind(store.schema, settings).needs.read
    return places.run(asked, read_for_filters(store, asked.leading_filters, read, settings), later)


def ask_store(piped: Piped, store: EventStore, time: str, type_: TypeColumn) -> Asked:
    """The operators, with the columns of time and type that the store knows."""
    asked = Asked(piped.operators, store_time(store, time), type_)
    return asked if store.type is None else replace(asked, usual_type=store.type)


def _aggregate(asked: Asked, store: EventStore, settings: Settings) -> pa.Table | None:
    """Rows of aggregates of windows, where the store can tell them."""
    from trendweave.programs.operators.windows.program import WindowAggregates
    from trendweave.store.operators.windows import windows_on_store

    program = asked.bind_one(0, store.schema, settings).program
    assert isinstance(program, WindowAggregates)
    return windows_on_store(program, store, settings)


def _run_behind(asked: Asked, rows: Any, options: Mapping[str, Any]) -> Any:
    """The operators behind the first one, on its rows."""
    if len(asked.operators) == 1:
        return rows
    others = asked.behind(1)
    return run_on_spark(others, rows, options) if places.is_spark(rows) else places.run(others, rows, options)
