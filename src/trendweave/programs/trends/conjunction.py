"""Aggregates per segment, and the pairs of trends that a conjunction counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trendweave.results.partials import Component, Partials


@dataclass(frozen=True, slots=True)
class SegmentPartials:
    """Aggregates per window and segment."""

    segment: np.ndarray
    partials: Partials

    def of_groups(self, group: np.ndarray) -> Partials:
        return Partials(self.partials.window, group[self.segment], self.partials.components)


def pair_trends(one: Partials, other: Partials, both: Partials, outputs: int) -> Partials:
    """The number of pairs of different trends, one of each pattern, per window and partition (GRETA, Section 9).

    Args:
        one: Trends of the first pattern, whose groups are partitions.
        other: Those of the second.
        both: Those of both.
        outputs: How many columns of the result are this number.

    Returns:
        Pairs, whose groups are partitions.
    """
    keys = [np.stack([part.window, part.group], axis=1) for part in (one, other, both)]
    places, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    counts = np.zeros((3, len(places)), object)
    for index, (part, at) in enumerate(
        zip((one, other, both), np.split(inverse, np.cumsum([len(key) for key in keys])[:-1]), strict=True)
    ):
        counts[index, at] = part.components[0].values.astype(object)
    shared = counts[2]
    only_one, only_other = counts[0] - shared, counts[1] - shared
    pairs = only_one * only_other + (only_one + only_other) * shared + shared * (shared - 1) // 2
    some = np.flatnonzero(pairs != 0)
    # Every output of a conjunction is COUNT(*).
    return Partials(places[some, 0], places[some, 1], (Component("sum", pairs[some]),) * (1 + outputs))
