"""Pairs of a join, in blocks of time, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from trendweave.programs.operators.joins.active import ActiveWindow, Moving, Sliding
from trendweave.programs.operators.joins.bands import Band, as_floats
from trendweave.programs.operators.joins.blocks import Block, Cutting
from trendweave.programs.operators.joins.candidates import (
    Candidates,
    Looks,
    evaluate_on_side,
    find_candidates,
    find_fitting,
    look_into,
)
from trendweave.programs.operators.joins.conjuncts import JoinCondition
from trendweave.programs.operators.joins.in_threads import compute_blocks, count_blocks, count_threads, map_in_threads
from trendweave.programs.operators.joins.on_card import search_on_card
from trendweave.programs.operators.joins.ordered import OrderedSide
from trendweave.programs.operators.joins.pair_tests import FEW, PairTest
from trendweave.programs.operators.joins.ways import BandSearch, Batches, Scan, Search, TakeAll, Way
from trendweave.rows.codes import order_codes
from trendweave.rows.ordering import sort_by
from trendweave.rows.times import check_edges

#: Pairs of a block, about, and events of a block, at most.
_TARGET, _EVENTS = 1 << 20, 1 << 16
#: Both on a graphics card.
_TARGET_ON_CARD, _EVENTS_ON_CARD = 1 << 23, 1 << 21

#: Numbers, and which of them are valid.
_Floats: TypeAlias = tuple[np.ndarray, np.ndarray]
_Made = TypeVar("_Made")


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

    def _find_candidates(self, left_wanted: np.ndarray | None, right_wanted: np.ndarray | None) -> list[Candidates]:
        """What events of each side may find; of some events, or of all."""
        for window in (self.left_window, self.right_window):
            if isinstance(window, Sliding):
                for side in (self.left, self.right):
                    check_edges(side.steps, window.length + window.slide)
        fitting = find_fitting(self.condition, self.left, self.right, self.columns)
        return [
            find_candidates(fitting, self.left, self.right, self.looks_of_left, True, left_wanted),
            find_candidates(fitting, self.right, self.left, self.looks_of_right, False, right_wanted),
        ]

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

    def blocks(
        self,
        make: Callable[[np.ndarray, np.ndarray], _Made],
        left_wanted: np.ndarray | None = None,
        right_wanted: np.ndarray | None = None,
    ) -> Iterator[_Made]:
        """What is made of pairs: blocks one after the other, in order of row time, left and right rank.

        Args:
            make: Makes something of the left and right ranks of some pairs.
            left_wanted: Which left events are asked for, as those that look; None: all.
            right_wanted: The same of right events.
        """
        candidates = self._find_candidates(left_wanted, right_wanted)
        pairs = sum(each.pairs for each in candidates)
        threads = count_threads(pairs) if self.device == "threads" else 1
        searches = map_in_threads(lambda side: self._prepare(side, pairs), candidates, threads)
        times = [(self.left if one.candidates.of_left else self.right).steps[one.candidates.probes] for one in searches]
        sizes = [one.candidates.high - one.candidates.low for one in searches]
        order = np.argsort(np.concatenate(times), kind="stable")
        sizes_of_blocks = (_TARGET_ON_CARD, _EVENTS_ON_CARD) if self.device == "gpu" else (_TARGET, _EVENTS)
        cutting = Cutting(
            np.concatenate(times)[order],
            np.concatenate(sizes)[order],
            *sizes_of_blocks,
            parts=count_blocks(threads, pairs),
            tested=bool(self.condition.pairs),
        )

        def work(block: Block) -> tuple[int, _Made | None] | None:
            found = self._find_block(searches, times, block)
            if found is None:
                return None
            return found[0].size, make(*found) if found[0].size else None

        return (made for made in compute_blocks(work, cutting, threads) if made is not None)

    def _prepare(self, candidates: Candidates, pairs: int) -> Search:
        """A search that has all that its blocks have in common."""
        search = self._choose(candidates, pairs)
        if self.device == "gpu":
            return search_on_card(search)
        if self.device == "threads":
            search.find(0, 0, 0)  # what all cores need is made by one
        return search

    def _find_block(
        self, searches: list[Search], times: list[np.ndarray], block: Block
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of some times; None where they are too many."""
        lefts, rights = [], []
        for search, moments in zip(searches, times, strict=True):
            first, last = int(np.searchsorted(moments, block.begin)), int(np.searchsorted(moments, block.end, "right"))
            if first == last:
                continue
            done, event, member = search.find(first, last, block.limit)
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
