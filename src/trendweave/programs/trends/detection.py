"""How trends are found one by one: limits, and the strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Strategy = Literal["baseline", "m-cet", "t-cet", "h-cet"]
STRATEGIES: tuple[Strategy, ...] = ("baseline", "m-cet", "t-cet", "h-cet")
MEMORY = 512 * 2**20
LEAST_MEMORY = 16 * 2**20
MAX_TRENDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Detection:
    """Bytes that finding trends may use, how many are shown at most, and the strategy (None: the optimiser's)."""

    memory: int = MEMORY
    max_trends: int = MAX_TRENDS
    strategy: Strategy | None = None


DEFAULTS = Detection()
