"""How stored events are read for queries: what was considered, what was chosen, and what is left to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from trendweave.store.patterns.costs.cost_model import Weights
from trendweave.store.patterns.intervals.stretches import Stretches

#: Indexes are used where they are estimated to cost less than this part of reading everything.
WORTH = 0.85
Road: TypeAlias = Literal["replay", "light index", "secondary indexes"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Row groups, bytes and events of data that are read, index entries, and seconds of all of it."""

    groups: float
    bytes: float
    events: float
    entries: float
    seconds: float


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
