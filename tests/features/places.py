"""The places that every test of a language feature runs in. A further place is added here, and nowhere else.

Places have no choice about the rows: those of a whole table in this process. What a place cannot run is told by the
plan and the type of the time column (`why_not`), never by an error that is caught.
"""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import trendweave
from tests.features.runs import Events, Row, as_rows, as_table
from tests.spark.comparing import settings
from trendweave.errors import DataError, ExecutionError, Problem
from trendweave.planning.interval_plan import IntervalPlan
from trendweave.planning.plan import WholeInput
from trendweave.planning.situated_plan import SituatedPlan
from trendweave.programs.operators.joins import searches as joins_in_threads
from trendweave.runners.threads import dealing
from trendweave.runners.threads import run as threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[..., list[Row]]

#: Half of a window that holds all events of a test; there are two windows over any event, and the first one holds all.
_WIDE = 2_000_000_000
_WIDE_WINDOW = f" WITHIN {2 * _WIDE} seconds SLIDE {_WIDE} seconds"
_WIDE_WITHIN = f" WITHIN {2 * _WIDE} seconds"


def on_local(text: str, events: Events, **options: Any) -> list[Row]:
    """The whole table at once."""
    found = trendweave.query(text).run(as_table(events), **options)
    assert isinstance(found, pa.Table)
    return as_rows(found)


def on_threads(text: str, events: Events, **options: Any) -> list[Row]:
    """The whole table at once, dealt out to three threads however few rows it has."""
    with dealing_everything_out():
        found = trendweave.query(text).run(as_table(events), **{"device": "threads", **options})
    assert isinstance(found, pa.Table)
    return as_rows(found)


@contextmanager
def dealing_everything_out(cores: int = 3) -> Iterator[None]:
    """Inside, there are so many cores, and one row is worth a thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "LEAST_ROWS", 1)
        patch.setattr(threads, "count_cores", lambda: cores)
        patch.setattr(joins_in_threads, "_FEW_TO_DEAL", 1)
        patch.setattr(joins_in_threads, "count_cores", lambda: cores)
        yield


def on_incremental(text: str, events: Events, **options: Any) -> list[Row]:
    """Pieces, cut at random, each with a watermark that makes no later event late; the state travels as bytes."""
    table = as_table(events)
    text = _given_a_window(text, _needs_within)
    engine = trendweave.query(text).incremental(table.schema, **options)
    seed = int(os.environ.get("CUTS_SEED", random.randrange(10**9)))
    print(f"CUTS_SEED={seed} cuts the events in the same way")  # shown where a test fails
    state, found = engine.start(), []
    for piece, watermark in _cut(table, options.get("time", "time"), random.Random(seed)):
        state, rows = engine.push(engine.read(state.to_bytes()), piece, watermark)
        assert rows.schema.equals(engine.schema)
        found.append(rows)
    found.append(engine.finish(state))
    assert state.late == 0
    return _in_order(as_rows(pa.concat_tables(found)))


def on_push(text: str, events: Events, **options: Any) -> list[Row]:
    """Event by event in order of time, without a delay: events of one time come together, so none is late."""
    table, time = as_table(events), options.get("time", "time")
    wide = _given_a_window(text, _never_closes)
    session = trendweave.query(wide).push(table.schema, **options)
    rows = [row for event in sorted(table.to_pylist(), key=_by_time(time)) for row in session.send(event)]
    assert session.late == 0
    found = as_rows(pa.Table.from_pylist(rows)) if rows else []
    found += as_rows(session.finish())
    return _in_order(found if wide == text else _of_the_first_window(found))


def spark_place(spark: SparkSession) -> Run:
    """One lazy DataFrame, in two partitions that have nothing to do with time or key."""

    def on_spark_batch(text: str, events: Events, **options: Any) -> list[Row]:
        table = as_table(events).combine_chunks()
        with settings(spark, sql_timestampType="TIMESTAMP_NTZ"):  # times without a zone stay without one
            frame = spark.createDataFrame(table).repartition(2)
        result = trendweave.query(text).run(frame, **options)
        with _told_as_in_process():
            return _in_order(as_rows(result.toArrow()))

    return on_spark_batch


@contextmanager
def _told_as_in_process() -> Iterator[None]:
    """An error of ours inside a task, as a place in this process raises it: Spark has its text alone."""
    from pyspark.errors import PythonException

    try:
        yield
    except PythonException as error:
        told = re.findall(r"^(TW\d+): (?:key .*?, times .*? to .*?: )?(.*)\n  hint: (.*)$", str(error), re.MULTILINE)
        if not told:
            raise
        kind = DataError if told[0][0].startswith("TW3") else ExecutionError
        raise kind([Problem(*problem) for problem in told]) from error


# ------------------------------------------------------------------------------------------------- what a place can run


def skip_what_cannot_run(place: str, text: str, events: Events, options: dict[str, Any]) -> None:
    if reason := why_not(place, text, as_table(events), options):
        pytest.skip(reason)


def why_not(place: str, text: str, table: pa.Table, options: dict[str, Any]) -> str | None:
    """The one rule: what a place cannot run by design, or None. What is no query, or does not fit, is to be refused."""
    plan = _plan_of(text)
    if place in ("local", "threads") or plan is None:
        return None
    if place == "spark_batch":
        unknown = [field.name for field in table.schema if not _is_known_to_spark(field.type)]
        return f"Spark has no type for {', '.join(unknown)}" if unknown else None
    if isinstance(plan, IntervalPlan) and plan.intervals is not None:
        return "given intervals are a whole table (TW404)"
    needs_window = _never_closes(plan) if place == "push" else _needs_within(plan)
    if needs_window and not _fits_the_wide_window(table, options.get("time", "time")):
        return "the query has no window (TW409, TW452), and no window that it could be given holds all times"
    return None


def _plan_of(text: str) -> Any:
    """The plan of trends, also of those in situations, or of intervals; None where the text is no query."""
    try:
        plan = trendweave.query(text).plan
    except trendweave.TrendweaveError:
        return None
    return plan.trend if isinstance(plan, SituatedPlan) else plan


def _never_closes(plan: Any) -> bool:
    """A session has no end, so nothing would ever come out of it before `finish`: it is refused."""
    return _needs_within(plan) if isinstance(plan, IntervalPlan) else isinstance(plan.window, WholeInput)


def _needs_within(plan: Any) -> bool:
    """Without WITHIN every situation would have to be kept for ever."""
    return isinstance(plan, IntervalPlan) and plan.within is None and plan.returns != "situations"


def _fits_the_wide_window(table: pa.Table, time: str) -> bool:
    if time not in table.column_names:
        return True
    kind = table.schema.field(time).type
    if not (pa.types.is_timestamp(kind) or kind in (pa.int64(), pa.float64())):
        return not _is_time(kind)
    times = [moment for moment in table.column(time).cast(pa.int64(), safe=False).to_pylist() if moment is not None]
    unit = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit] if pa.types.is_timestamp(kind) else 1
    return all(-_WIDE <= moment / unit < _WIDE for moment in times)


def _is_known_to_spark(kind: pa.DataType) -> bool:
    if pa.types.is_timestamp(kind):
        return kind.unit == "us" and kind.tz in (None, "UTC")
    if pa.types.is_decimal(kind):
        return bool(kind.scale >= 0 and kind.precision <= 38)
    unknown = (pa.types.is_unsigned_integer, pa.types.is_float16, pa.types.is_date64, pa.types.is_string_view)
    return not any(is_unknown(kind) for is_unknown in unknown)


def _is_time(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_dictionary(kind)


#: Those that need no JVM.
PLACES: dict[str, Run] = {"local": on_local, "threads": on_threads, "incremental": on_incremental, "push": on_push}


# ----------------------------------------------------------------------------------------------------- queries and rows


def _given_a_window(text: str, needs_one: Callable[[Any], bool]) -> str:
    """With a window that holds all events, where there is none and the place needs one."""
    plan = _plan_of(text)
    if plan is None or not needs_one(plan):
        return text
    window = _WIDE_WITHIN if isinstance(plan, IntervalPlan) else _WIDE_WINDOW
    return f"{text.rstrip().removesuffix(';')}{window}"


def _of_the_first_window(rows: list[Row]) -> list[Row]:
    """Of the two wide windows, the one that holds all events, as if it were the whole input."""
    edges = {"window_start": None, "window_end": None}
    return [row | edges if "window_start" in row else row for row in rows if _starts_first(row)]


def _starts_first(row: Row) -> bool:
    start = row.get("window_start", -_WIDE)
    if isinstance(start, datetime):
        start = (start.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    return bool(start == -_WIDE)


def _cut(table: pa.Table, time: str, draw: random.Random) -> Iterator[tuple[pa.Table, Any]]:
    """The rows as they stand, in pieces; a watermark, if any, is at most the earliest time of the pieces to come."""
    times = table.column(time).to_pylist()
    cuts = sorted(draw.choices(range(table.num_rows + 1), k=draw.randrange(5)))
    for low, high in pairwise([0, *cuts, table.num_rows]):
        to_come = [moment for moment in times[high:] if _is_moment(moment)]
        watermark = min(to_come) if to_come and draw.random() < 0.8 else None
        yield table.slice(low, high - low), watermark


def _is_moment(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _by_time(time: str) -> Callable[[Row], Any]:
    """Rows without a time come first, and have no effect."""
    return lambda event: (_is_moment(event[time]), event[time] if _is_moment(event[time]) else 0)


def _in_order(rows: list[Row]) -> list[Row]:
    """By window, as a table in this process has them; the order inside a window stays."""
    for name in ("window_start", "time"):
        if rows and rows[0].get(name) is not None:
            return sorted(rows, key=lambda row: row[name])
    return rows
