"""How stored events are read for queries: what was considered, what was chosen, what is left to read, and what
metrics and `explain` say of it.

Reading all events between two times is what every other way is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from trendweave.pictures.bars import ReadingPlan, Share, WayToRead
from trendweave.store.event_store import EventStore
from trendweave.store.patterns.costs import Cost, Weights
from trendweave.store.patterns.intervals import Stretches

#: Indexes are used where they are estimated to cost less than this part of reading everything.
WORTH = 0.85
Road: TypeAlias = Literal["replay", "light index", "secondary indexes"]


@dataclass(frozen=True, slots=True)
class Considered:
    """A way to read, and what it was estimated to cost."""

    road: Road
    cost: Cost
    indexes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadSection:
    """What is read of a section.

    Attributes:
        bucket: Its number; None where it is the only section.
        stretches: The stretches of time; None: all.
        groups: The numbers of the row groups in the store.
        free: Per stretch, whether no window lies across its end and the begin of the next one.
    """

    bucket: int | None
    stretches: Stretches | None
    groups: np.ndarray
    free: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """How stored events are read.

    Attributes:
        road: The way that was chosen.
        reason: Why it is all events, where they are.
        sections: What is read.
        apart: Whether events of different stretches must not meet.
        low: The first time that is asked for; None: no bound.
        high: The last one.
        estimated: What it was estimated to cost.
        considered: The ways that there were, the chosen one among them.
        entries: How many index entries were read to plan it.
        groups: How many row groups there are in all.
        bytes: How many bytes they have.
        shown: Which share of the bytes of a row group are columns that are read.
        blocks: Blocks of the light index that have events which are read, and how many there are.
        weights: What estimates were made with.
        asked: How many terms were asked of indexes.
        symbols: What every trend has, for people.
    """

    road: Road
    reason: str | None
    sections: tuple[ReadSection, ...]
    apart: bool
    low: int | None
    high: int | None
    estimated: Cost
    considered: tuple[Considered, ...]
    entries: int
    groups: int
    bytes: int
    shown: float
    blocks: tuple[int, int]
    weights: Weights
    asked: int = 0
    symbols: tuple[str, ...] = ()

    @property
    def chosen_groups(self) -> np.ndarray:
        """The row groups that are read, each once."""
        found = [section.groups for section in self.sections]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Everything:
    """Reading all events between two times."""

    store: EventStore
    low: int | None
    high: int | None
    shown: float
    groups: np.ndarray
    blocks: int
    weights: Weights

    @property
    def cost(self) -> Cost:
        """What it costs."""
        return self.cost_of(self.groups)

    def cost_of(self, numbers: np.ndarray) -> Cost:
        """What reading some row groups costs, and computing all of their events."""
        groups = self.store.groups
        bytes_ = float(groups.bytes[numbers].sum()) * self.shown
        events = float(groups.rows[numbers].sum())
        seconds = self.weights.of_data(*(np.asarray(number) for number in (bytes_, numbers.size, events)))
        return Cost(float(numbers.size), bytes_, events, 0.0, float(seconds))

    @property
    def considered(self) -> tuple[Considered, ...]:
        return (Considered("replay", self.cost),)

    def access(self, reason: str, considered: tuple[Considered, ...] | None = None) -> Access:
        """All of it, for a reason."""
        read = ReadSection(None, None, self.groups)
        return self._make(reason, (read,), considered or self.considered, self.cost, self.blocks)

    def nothing(self) -> Access:
        """None of it."""
        return self._make("no events lie between these times", (), self.considered, Cost(0, 0, 0, 0, 0), 0)

    def _make(
        self,
        reason: str,
        reads: tuple[ReadSection, ...],
        considered: tuple[Considered, ...],
        cost: Cost,
        blocks: int,
    ) -> Access:
        store = self.store
        return Access(
            "replay",
            reason,
            reads,
            False,
            self.low,
            self.high,
            cost,
            considered,
            0,
            int(store.groups.rows.size),
            int(store.groups.bytes.sum()),
            self.shown,
            (blocks, int(store.blocks.count.size)),
            self.weights,
        )


def read_everything(store: EventStore, low: int | None, high: int | None, shown: float, weights: Weights) -> Everything:
    blocks, groups = store.blocks, store.groups
    if low is None and high is None:
        numbers = np.arange(groups.rows.size)
        inside = np.ones(blocks.count.size, np.bool_)
    else:
        inside = np.ones(blocks.count.size, np.bool_)
        inside &= True if low is None else blocks.last >= low
        inside &= True if high is None else blocks.first <= high
        numbers = np.unique(blocks.number[inside])
    return Everything(store, low, high, shown, numbers, int(inside.sum()), weights)


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
