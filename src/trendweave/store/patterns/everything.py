"""Reading all events of a store between two times: what every other way to read is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.store.event_store import EventStore
from trendweave.store.patterns.access import Access, Considered, Cost, ReadSection
from trendweave.store.patterns.costs.cost_model import Weights


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
