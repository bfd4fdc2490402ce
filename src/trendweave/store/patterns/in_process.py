"""A query on what is read of a store, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from trendweave.devices.names import Device
from trendweave.interruptible import interruptible
from trendweave.programs.program import Program
from trendweave.programs.ties import count_ties
from trendweave.progress import expect
from trendweave.rows.dropped import NOTHING_DROPPED, Dropped, report_dropped
from trendweave.rows.encoded import CHUNK, TIME
from trendweave.rows.times import TimeType, as_steps, has_time, time_type
from trendweave.runners.events_at_once import TieWarning
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Using
from trendweave.store.event_store import EventStore
from trendweave.store.layout.moments import read_between
from trendweave.store.patterns.access import Access, actual_cost, tell_access
from trendweave.store.patterns.costs import load_weights
from trendweave.store.patterns.intervals import Stretches
from trendweave.store.patterns.plan_access import Wish, plan_access


def prepare_stretches(
    program: Program,
    tables: Iterable[tuple[pa.Table, Stretches]],
    kind: TimeType,
    apart: bool,
    fit: Callable[[pa.Table], pa.Table] = lambda table: table,
    first: int = 0,
) -> tuple[pa.Table, Dropped]:
    """Prepared rows of the events that lie in stretches of time.

    Args:
        program: Prepares rows; it has a time column.
        tables: Events as they were read, and the stretches that they belong to.
        kind: How the time column counts.
        apart: Whether rows of different stretches must not meet: they are numbered as chunks of time are.
        fit: Gives events the types that the program is bound to.
        first: The number of the first stretch.

    Returns:
        The rows, and what was dropped.
    """
    prepared, dropped = [], NOTHING_DROPPED
    finer = kind.step // time_type(program.moment).step
    for table, stretches in tables:
        rows, lost = program.prepare(fit(keep_inside(table, program.needs.time, kind, stretches)))
        if apart:
            # Spark may count in finer steps.
            steps = np.floor_divide(as_steps(rows.column(TIME), time_type(program.moment)), finer)
            rows = rows.append_column(CHUNK, pa.array(stretches.places(steps) + first))
        prepared.append(rows)
        dropped += lost
        first += stretches.count
    if not prepared:
        return program.prepare(program.events.empty_table())
    return pa.concat_tables(prepared), dropped


def keep_inside(events: pa.Table, time: str | None, kind: TimeType, stretches: Stretches) -> pa.Table:
    """The events of some stretches of time."""
    assert time is not None, "stretches are of times"
    column = events.column(time)
    known = np.asarray(has_time(column))
    if not known.all():
        events = events.filter(pa.array(known))
        column = events.column(time)
    # Row groups come one after the other, and most of them are in order of time.
    parts = [stretches.hold(as_steps(pa.chunked_array([chunk]), kind)) for chunk in column.chunks]
    inside = np.concatenate([np.empty(0, np.bool_), *parts])
    return events if inside.all() else events.filter(pa.array(inside))


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a store.

    Attributes:
        wishes: The queries, which run together.
        between: Two times, or None; as users write them.
        using: What may be used.
    """

    wishes: tuple[Wish, ...]
    between: Any = None
    using: Using = "auto"


def plan_request(request: Request, store: EventStore, read: Sequence[str]) -> Access:
    """How a store is read.

    Args:
        request: What is asked.
        store: The events.
        read: The columns that are read.
    """
    low, end = read_between(request.between, store.kind)
    high = None if end is None else end - 1
    return plan_access(request.wishes, store, read, low, high, request.using, load_weights(store.place))


def run_on_store(
    program: Program, store: EventStore, request: Request, metrics: Metrics | None, device: Device = "cpu"
) -> pa.Table:
    """The rows of a program on what is read of a store: those of a run on all of it.

    Args:
        program: Bound to the columns of the store.
        store: The events.
        request: What is asked.
        metrics: Gets counts of what was read.
        device: What computes.
    """
    run = _run if device == "gpu" else interruptible(_run)
    return run(program, store, request, metrics, device)


def _run(program: Program, store: EventStore, request: Request, metrics: Metrics | None, device: Device) -> pa.Table:
    began = perf_counter()
    access = plan_request(request, store, program.needs.read)
    expect(access.estimated.seconds)
    planned = perf_counter()
    rows, dropped = read_rows(program, store, access)
    report_dropped(dropped)
    TieWarning().look(program, rows)
    batches = _compute(program, rows, device)
    if metrics is not None:
        dropped = replace(dropped, same_time=count_ties(program, rows))
        metrics.count(asdict(dropped))
        seconds = {"planning_seconds": planned - began, "seconds": perf_counter() - began}
        cost = {"actual_cost": actual_cost(access, store, dropped.rows)}
        metrics.count({**tell_access(access, store), **cost, **seconds})
    return pa.Table.from_batches(batches, program.schema.with_metadata(dropped.metadata))


def _compute(program: Program, rows: pa.Table, device: Device) -> list[pa.RecordBatch]:
    if device not in ("threads", "auto"):
        return list(program.compute(rows).batches)
    from trendweave.runners.threads.run import compute_rows_in_threads

    return compute_rows_in_threads(program, rows)


def read_rows(program: Program, store: EventStore, access: Access) -> tuple[pa.Table, Dropped]:
    """Prepared rows of what is read, and what was dropped."""
    columns = program.needs.read
    if access.reason is not None:
        end = None if access.high is None else access.high + 1
        between = None if access.low is None and access.high is None else (access.low, end)
        return program.prepare(store.read(access.chosen_groups, columns, between))
    tables = (
        (store.read(section.groups, columns), section.stretches)
        for section in access.sections
        if section.stretches is not None
    )
    return prepare_stretches(program, tables, store.kind, access.apart)
