"""What finds links: compiled loops of this process, or a card."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from trendweave.expressions.compiled.paired import PairCondition


class Linker(Protocol):
    """Finds which targets can follow sources; both are row numbers, sorted."""

    def find_all(
        self,
        condition: PairCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Places of sources and of targets between `low` and `high` of their source that meet the condition, sorted by
        target and source; None where there are more than `room`."""

    def find_first(
        self, condition: PairCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """The first such target of each source, or -1."""
