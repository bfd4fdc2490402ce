"""What is told of a run on a store: counts for metrics, and text for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from trendweave.pictures.bars import ReadingPlan, Share, WayToRead
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.access import Access, Considered, Cost

_LABEL = 13


def tell_access(access: Access, store: EventStore) -> dict[str, Any]:
    """Counts by name: what was read and skipped, and what it was estimated to cost."""
    groups = access.chosen_groups
    read = int(store.groups.bytes[groups].sum())
    return {
        "road": access.road,
        "row_groups_read": int(groups.size),
        "row_groups_skipped": access.groups - int(groups.size),
        "bytes_read": read,
        "bytes_skipped": access.bytes - read,
        "blocks_read": access.blocks[0],
        "blocks_skipped": access.blocks[1] - access.blocks[0],
        "index_entries_read": access.entries,
        "estimated_row_groups": access.estimated.groups,
        "estimated_entries": access.estimated.entries,
        "estimated_cost": access.estimated.seconds,
    }


def actual_cost(access: Access, store: EventStore, events: int) -> float:
    """What was read and computed, weighed as estimates are: in seconds of a machine as it was measured.

    Args:
        access: How the store was read.
        store: The store.
        events: How many events were computed.
    """
    groups = access.chosen_groups
    bytes_ = float(store.groups.bytes[groups].sum()) * access.shown
    data = (np.asarray(one) for one in (bytes_, float(groups.size), float(events)))
    seconds = float(access.weights.of_data(*data))
    if access.reason is None:
        seconds += access.weights.choosing * float(store.groups.rows[groups].sum())
        lookups = np.asarray(float(access.asked * len(store.files)))
        seconds += float(access.weights.of_indexes(np.asarray(float(access.entries)), lookups)) if access.asked else 0.0
    return seconds


def explain_access(access: Access, store: EventStore) -> str:
    """The ways that were considered, the one that was chosen, and what is read."""
    groups = access.chosen_groups
    bytes_ = int(store.groups.bytes[groups].sum())
    rows = [("every trend", one) for one in access.symbols]
    rows += [("considered", _show(one, one.road == access.road)) for one in access.considered]
    rows.append(("chosen", access.road if access.reason is None else f"{access.road}: {access.reason}"))
    if access.reason is None:
        stretches = [section.stretches for section in access.sections if section.stretches is not None]
        number = sum(one.count for one in stretches)
        rows.append(("stretches", f"{number:,} of time, {sum(one.length for one in stretches):,} steps in all"))
        if access.apart:
            rows.append(("", "events of different stretches never meet"))
    rows.append(("reads", f"{groups.size:,} of {access.groups:,} row groups, {_size(bytes_)} of {_size(access.bytes)}"))
    rows.append(("", f"{access.blocks[0]:,} of {access.blocks[1]:,} blocks, {access.entries:,} index entries"))
    return "\n".join(f"{label:<{_LABEL}}{text}" for label, text in rows)


def draw_access(access: Access, store: EventStore) -> ReadingPlan:
    """The same, to be drawn."""
    groups = access.chosen_groups
    bytes_ = int(store.groups.bytes[groups].sum())
    ways = [
        WayToRead(
            f"{one.road} on {'; '.join(one.indexes)}" if one.indexes else one.road,
            one.cost.seconds,
            _cost(one.cost),
            one.road == access.road,
        )
        for one in access.considered
    ]
    shares = (
        Share("row groups", int(groups.size), access.groups, f"{groups.size:,} of {access.groups:,}"),
        Share("bytes", bytes_, access.bytes, f"{_size(bytes_)} of {_size(access.bytes)}"),
        Share("blocks of the light index", *access.blocks, f"{access.blocks[0]:,} of {access.blocks[1]:,}"),
    )
    reason = access.reason or f"every trend has {'; '.join(access.symbols)}"
    return ReadingPlan("how stored events are read", reason, tuple(ways), shares)


def _show(one: Considered, chosen: bool) -> str:
    asked = f" on {'; '.join(one.indexes)}" if one.indexes else ""
    return f"{'* ' if chosen else '  '}{one.road}{asked}: {_cost(one.cost)}"


def _cost(cost: Cost) -> str:
    entries = f", {cost.entries:,.0f} index entries" if cost.entries else ""
    return f"about {cost.seconds:.3g} s, {cost.groups:,.0f} row groups, {cost.events:,.0f} events{entries}"


def _size(number: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if number < 1024 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1024
    raise AssertionError("the last unit is returned")
