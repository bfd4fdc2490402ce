"""Pairs of a join, in blocks of time, in order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.joins.active import ActiveWindow, Moving, Sliding
from trendweave.programs.operators.joins.bands import Band, as_floats
from trendweave.programs.operators.joins.candidates import (
    Candidates,
    Looks,
    evaluate_on_side,
    find_candidates,
    find_fitting,
    look_into,
)
from trendweave.programs.operators.joins.conjuncts import JoinCondition
from trendweave.programs.operators.joins.in_threads import search_in_threads
from trendweave.programs.operators.joins.on_card import search_on_card
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.programs.operators.joins.pair_tests import FEW, PairTest
from trendweave.programs.operators.joins.ways import BandSearch, Batches, Scan, Search, TakeAll, Way
from trendweave.rows.codes import order_codes
from trendweave.rows.times import check_edges

#: Pairs of a block, about.
_TARGET = 1 << 20
#: A block is done again in halves where it has so many times more.
_TOO_MANY = 8
#: Events of a block, at most.
_EVENTS = 1 << 16
#: Both on a graphics card.
_TARGET_ON_CARD, _EVENTS_ON_CARD = 1 << 23, 1 << 21
#: Where nothing is known yet, one of so many candidates is taken to be a pair.
_RARE = 64

#: Numbers, and which of them are valid.
_Floats: TypeAlias = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class PairSearch:
    """All that is to be joined.

    Attributes:
        left: The left events.
        right: The right events.
        left_window: The window over the left side.
        right_window: The window over the right side.
        condition: The condition, in parts.
        columns: By side: the names of its columns, and those of prepared rows.
        way: The way in which pairs are found; None: the one that fits.
        device: What computes.
    """

    left: OrderedSide
    right: OrderedSide
    left_window: ActiveWindow
    right_window: ActiveWindow
    condition: JoinCondition
    columns: Mapping[str, Mapping[str, str]]
    way: Way | None = None
    device: str = "cpu"

    @cached_property
    def looks_of_left(self) -> Looks:
        """What left events look at."""
        return look_into(self.left, self.right, self.right_window, ties=True)

    @cached_property
    def looks_of_right(self) -> Looks:
        """What right events look at."""
        return look_into(self.right, self.left, self.left_window, ties=not self._both_move)

    @property
    def _both_move(self) -> bool:
        """Both windows move with every moment: left events find all of the same time, so that right ones need not."""
        return isinstance(self.left_window, Moving) and isinstance(self.right_window, Moving)

    @cached_property
    def test(self) -> PairTest:
        """What is asked of pairs."""
        return PairTest(self.condition.pairs, self.left, self.right, self.columns)

    def searches(self, left_wanted: np.ndarray | None, right_wanted: np.ndarray | None) -> list[Search]:
        """How events of each side find partners; of some events, or of all."""
        for window in (self.left_window, self.right_window):
            if isinstance(window, Sliding):
                for side in (self.left, self.right):
                    check_edges(side.steps, window.length + window.slide)
        fitting = find_fitting(self.condition, self.left, self.right, self.columns)
        found = [
            find_candidates(fitting, self.left, self.right, self.looks_of_left, True, left_wanted),
            find_candidates(fitting, self.right, self.left, self.looks_of_right, False, right_wanted),
        ]
        pairs = sum(each.pairs for each in found)
        if self.device == "threads":
            return search_in_threads(lambda candidates: self._choose(candidates, pairs), found)
        chosen = [self._choose(candidates, pairs) for candidates in found]
        return [search_on_card(search) for search in chosen] if self.device == "gpu" else chosen

    def _choose(self, candidates: Candidates, pairs: int) -> Search:
        if not self.condition.pairs:
            return TakeAll(candidates)
        can_scan = self.test.compiled is not None
        if self.way in (None, "band"):
            search = self._search_band(candidates)
            if search is not None and (self.way == "band" or not can_scan or search.is_narrow):
                return search
        is_scan = self.way == "scan" or (self.way is None and pairs > FEW)
        if is_scan and can_scan:
            return Scan(candidates, self.test)
        return Batches(candidates, self.test)

    def _search_band(self, candidates: Candidates) -> BandSearch | None:
        for band in self.condition.bands:
            columns = self._evaluate(band)
            values = _as_values(columns, band.is_order)
            if values is None:
                continue
            (left, has_left), (right, has_right) = values
            own, others = (left, right) if candidates.of_left else (right, left)
            has_own, has_others = (has_left, has_right) if candidates.of_left else (has_right, has_left)
            # NULL has no partner: events without a value do not look, members without one stand where none is found.
            looking = has_own[candidates.probes]
            kept = Candidates(
                candidates.of_left,
                candidates.probes[looking],
                candidates.members,
                candidates.low[looking],
                candidates.high[looking],
            )
            others = np.where(np.isfinite(others), others, np.inf)
            others = np.where(has_others, others, np.nan)[candidates.members]
            floats = all(pa.types.is_floating(column.type) for column in columns)
            alone = floats and band.is_closed and len(self.condition.pairs) == 1
            return BandSearch(kept, self.test, band, own[kept.probes], others, alone)
        return None

    def _evaluate(self, band: Band) -> tuple[pa.Array, pa.Array]:
        """The values that a band compares."""
        left = evaluate_on_side(band.left, self.left, self.columns["left"])
        return left, evaluate_on_side(band.right, self.right, self.columns["right"])

    def pairs(
        self, left_wanted: np.ndarray | None = None, right_wanted: np.ndarray | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Left and right ranks of pairs: blocks one after the other, in order of row time, left and right rank.

        Args:
            left_wanted: Which left events are asked for, as those that look; None: all.
            right_wanted: The same of right events.
        """
        searches = self.searches(left_wanted, right_wanted)
        times = [(self.left if one.candidates.of_left else self.right).steps[one.candidates.probes] for one in searches]
        sizes = [one.candidates.high - one.candidates.low for one in searches]
        order = np.argsort(np.concatenate(times), kind="stable")
        moments = np.concatenate(times)[order]
        ends = np.cumsum(np.concatenate(sizes)[order])
        on_card = self.device == "gpu"
        target, events = (_TARGET_ON_CARD, _EVENTS_ON_CARD) if on_card else (_TARGET, _EVENTS)
        first, most, seen, found = 0, events, 0, 0
        while first < moments.size:
            before = int(ends[first - 1]) if first else 0
            share = 1.0 if not self.condition.pairs else (found + 1) / (seen + 1) if seen else 1 / _RARE
            last = int(np.searchsorted(ends, before + max(target / share, 1), "right"))
            last = min(max(last, first + 1), first + most, moments.size)
            last = int(np.searchsorted(moments, moments[last - 1], "right"))
            limit = _TOO_MANY * target if moments[first] < moments[last - 1] else 2**62
            block = self._find_block(searches, times, int(moments[first]), int(moments[last - 1]), limit)
            if block is None:
                most = max((last - first) // 4, 1)
                continue
            seen, found, most = seen + int(ends[last - 1]) - before, found + block[0].size, min(2 * most, events)
            first = last
            if block[0].size:
                yield block

    def _find_block(
        self, searches: list[Search], times: list[np.ndarray], begin: int, end: int, limit: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of some times; None where they are too many."""
        lefts, rights = [], []
        for search, moments in zip(searches, times, strict=True):
            first, last = int(np.searchsorted(moments, begin)), int(np.searchsorted(moments, end, "right"))
            if first == last:
                continue
            done, event, member = search.find(first, last, limit)
            if done < last - first:
                return None
            own, other = search.candidates.probes[event], search.candidates.members[member]
            if search.candidates.of_left:
                lefts.append(own)
                rights.append(other)
            else:
                left, right = self._unless_found(other, own)
                lefts.append(left)
                rights.append(right)
        if not lefts:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        order = sort_by(np.maximum(self.left.steps[left], self.right.steps[right]), left, right)
        return left[order], right[order]

    def _unless_found(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that right events have found, without those of one time that left events have found, too."""
        if self._both_move:
            return left, right
        place, looks = self.right.place[right], self.looks_of_left
        twice = self.left.steps[left] == self.right.steps[right]
        twice &= (looks.low[left] <= place) & (place < looks.high[left])
        return left[~twice], right[~twice]


def _as_values(columns: tuple[pa.Array, pa.Array], is_order: bool) -> tuple[_Floats, _Floats] | None:
    """Floats, or, where only the order is asked, numbers in that order."""
    floats = [as_floats(column) for column in columns]
    if floats[0] is not None and floats[1] is not None:
        return floats[0], floats[1]
    if not is_order:
        return None
    one, other = ((part.astype(np.float64), part >= 0) for part in order_codes(*columns))
    return one, other


def sort_by(*columns: np.ndarray) -> np.ndarray:
    """The order of rows by some columns of whole numbers, the first counts most: by one number where that holds all."""
    if not columns[0].size:
        return np.empty(0, np.int64)
    lows = [int(column.min()) for column in columns]
    widths = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if math.prod(widths) >= 2**63:
        return np.lexsort(columns[::-1])
    number = columns[0] - lows[0]
    for column, low, width in zip(columns[1:], lows[1:], widths[1:], strict=True):
        number = number * width + (column - low)
    return np.argsort(number, kind="stable")  # which is quick where long stretches are in order
