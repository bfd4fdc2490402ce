"""What a program is asked for besides its plan; of trends one by one: limits, and the strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from trendweave.devices.names import Device
from trendweave.results.types import Numbers

Strategy = Literal["baseline", "m-cet", "t-cet", "h-cet"]
STRATEGIES: tuple[Strategy, ...] = ("baseline", "m-cet", "t-cet", "h-cet")
MEMORY = 512 * 2**20
LEAST_MEMORY = 16 * 2**20
MAX_TRENDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Detection:
    """Bytes that finding trends may use, how many are shown at most, and the strategy (None: M-CET)."""

    memory: int = MEMORY
    max_trends: int = MAX_TRENDS
    strategy: Strategy | None = None

    def share(self, parts: int) -> Detection:
        """The same for one of several that use the memory at the same time."""
        return replace(self, memory=self.memory // parts)


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused before it is computed: more rows of a result, and more transitions times events, times states or
    events, whichever are fewer, of a template that is not small."""

    max_rows: int = 10**8
    max_work: int = 2 * 10**10


DEFAULTS, LIMITS = Detection(), Limits()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a program is asked for besides its plan.

    Attributes:
        numbers: How whole numbers are written.
        detection: How trends are shown one by one.
        device: What computes.
        order_by: The columns that order events of one time, for queries that look for trends.
        limits: What is refused before it is computed.
    """

    numbers: Numbers = "decimal"
    detection: Detection = DEFAULTS
    device: Device = "cpu"
    order_by: tuple[str, ...] = ()
    limits: Limits = LIMITS


WISHES = Wishes()
