"""A query on a store, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import pyarrow as pa

from trendweave.devices.names import Device
from trendweave.interruptible import interruptible
from trendweave.programs.program import Program
from trendweave.programs.ties import count_ties
from trendweave.progress import expect
from trendweave.rows.dropped import Dropped, report_dropped
from trendweave.runners.events_at_once import TieWarning
from trendweave.runners.metrics import Metrics
from trendweave.runners.options import Using
from trendweave.store.event_store import EventStore
from trendweave.store.layout.moments import read_between
from trendweave.store.patterns.access import Access
from trendweave.store.patterns.costs.calibration import load_weights
from trendweave.store.patterns.plan_access import Wish, plan_access
from trendweave.store.patterns.running.rows_of_access import prepare_stretches
from trendweave.store.patterns.running.told import actual_cost, tell_access


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
