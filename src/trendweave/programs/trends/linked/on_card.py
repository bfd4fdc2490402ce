"""Finds links on a card."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.expressions.compiled.paired import PairCondition
from trendweave.gpu.matching.links import CardLinks
from trendweave.programs.trends.linked.conditions import LinkCondition


class NotLinkedError(Exception):
    """A card does not link these rows or conditions; it says why, as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class OnCard:
    """Links rows on a card, where all of them fit."""

    links: CardLinks

    def find_all(
        self,
        condition: LinkCondition,
        sources: np.ndarray,
        targets: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        room: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Linker`."""
        found = self.links.find_all(_compiled(condition), sources, targets, low, high, room)
        if found is None:
            raise NotLinkedError(f"more than {room:,} links between events")
        return found

    def find_first(
        self, condition: LinkCondition, sources: np.ndarray, targets: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """See `Linker`."""
        return self.links.find_first(_compiled(condition), sources, targets, low, high)


def _compiled(condition: LinkCondition) -> PairCondition:
    if condition.why_not is not None:
        raise NotLinkedError(f"a condition on two events that is not compiled ({condition.why_not})")
    return condition.pair
