"""Pairs of a join, in blocks of time, in order, on one core or on all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.programs.operators.joins.candidates import (
    ActiveWindow,
    Candidates,
    Fitting,
    evaluate_on_side,
    find_candidates,
    find_fitting,
    look_into,
)
from trendweave.programs.operators.joins.conditions import Band, JoinCondition, as_floats
from trendweave.programs.operators.joins.on_card import BandOnCard, ScanOnCard
from trendweave.programs.operators.joins.searches import FEW, BandSearch, PairTest, Scan, Search
from trendweave.programs.operators.ordering import OrderedSide
from trendweave.programs.operators.windows.edges import Moving, StepSpan
from trendweave.rows.codes import order_codes
from trendweave.rows.ordering import sort_by
from trendweave.rows.times import check_edges

#: A block is done again in smaller ones where it has so many times more pairs than it should.
_TOO_MANY = 8
#: Where nothing is known yet, one of so many candidates is taken to be a pair.
_RARE = 64


@dataclass(frozen=True, slots=True)
class Block:
    """Events that look, whole moments of them.

    Attributes:
        first: The number of the first event, by time.
        last: Up to but without this one.
        begin: The time of the first.
        end: The time of the last.
        limit: So many pairs are too many.
    """

    first: int
    last: int
    begin: int
    end: int
    limit: int


class Cutting:
    """Cuts blocks, and learns from those that are done how many candidates are pairs.

    Args:
        moments: The times of all events that look, in order.
        candidates: How many partners each of them may have.
        target: Pairs of a block, about.
        events: Events of a block, at most.
        parts: At least so many blocks are asked for.
        tested: Whether candidates are tested; otherwise all of them are pairs.
    """

    def __init__(
        self, moments: np.ndarray, candidates: np.ndarray, target: int, events: int, parts: int, tested: bool
    ) -> None:
        self._moments, self._ends = moments, np.cumsum(candidates)
        self._target, self._tested = target, tested
        self._events = self._most = min(events, -(-moments.size // parts))
        self._candidates = -(-self._before(moments.size) // parts)
        self._seen = self._found = 0

    def blocks(self, first: int = 0, until: int | None = None) -> Iterator[Block]:
        """Blocks of events from a first one on, each cut when it is asked for."""
        until = self._moments.size if until is None else until
        while first < until:
            wanted = min(max(self._target / self._share, 1), self._candidates)
            last = int(np.searchsorted(self._ends, self._before(first) + wanted, "right"))
            last = min(max(last, first + 1), first + self._most, until)
            begin, end = int(self._moments[first]), int(self._moments[last - 1])
            last = int(np.searchsorted(self._moments, end, "right"))
            yield Block(first, last, begin, end, _TOO_MANY * self._target if begin < end else 2**62)
            first = last

    def split(self, block: Block) -> Iterator[Block]:
        """Smaller blocks of the events of one that has too many pairs."""
        self._most = max((block.last - block.first) // 4, 1)
        return self.blocks(block.first, block.last)

    @property
    def _share(self) -> float:
        if not self._tested:
            return 1.0
        return (self._found + 1) / (self._seen + 1) if self._seen else 1 / _RARE

    def _before(self, number: int) -> int:
        return int(self._ends[number - 1]) if number else 0

    def learn(self, block: Block, pairs: int) -> None:
        """A block has so many pairs."""
        self._seen += self._before(block.last) - self._before(block.first)
        self._found += pairs
        self._most = min(2 * self._most, self._events)


_Made = TypeVar("_Made")

#: Blocks per core: what one core has left over another one takes.
_BLOCKS_PER_CORE = 2
#: So many candidates are worth a block.
_BLOCK_CANDIDATES = 2_000_000
#: So many candidates are not worth to be dealt out.
_FEW = 1_000_000


def count_threads(candidates: int) -> int:
    """How many threads look at candidates: one where more are not worth it, or this one is one of several."""
    return 1 if candidates < _FEW or is_in_pool() else count_cores()


def count_blocks(threads: int, candidates: int) -> int:
    """How many blocks there are at least: Python does something for each, one after the other."""
    return max(1, min(threads * _BLOCKS_PER_CORE, candidates // _BLOCK_CANDIDATES)) if threads > 1 else 1


_Work: TypeAlias = Callable[[Block], tuple[int, _Made] | None]


def compute_blocks(work: _Work[_Made], cutting: Cutting, threads: int) -> Iterator[_Made]:
    """What is made of blocks, in their order.

    Args:
        work: Makes something of a block and tells the number of its pairs; None where they are too many.
        cutting: Cuts blocks.
        threads: How many are worked on at the same time.
    """

    def finish(block: Block, done: tuple[int, _Made] | None) -> Iterator[_Made]:
        if done is None:
            for part in cutting.split(block):
                yield from finish(part, work(part))
        else:
            cutting.learn(block, done[0])
            yield done[1]

    if threads == 1:
        for block in cutting.blocks():
            yield from finish(block, work(block))
        return
    pool, waiting = Pool(threads), deque[tuple[Block, Future[tuple[int, _Made] | None]]]()
    try:
        for block in cutting.blocks():
            waiting.append((block, pool.submit(work, block)))
            if len(waiting) > threads:
                block, future = waiting.popleft()
                yield from finish(block, future.result())
        for block, future in waiting:
            yield from finish(block, future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


#: Pairs of a block, about, and events of a block, at most.
_TARGET, _EVENTS = 1 << 20, 1 << 16
#: Both on a graphics card.
_TARGET_ON_CARD, _EVENTS_ON_CARD = 1 << 23, 1 << 21

#: So few candidates are tested before members are sorted.
_FEW_PAIRS = 20_000

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
        device: What computes.
    """

    left: OrderedSide
    right: OrderedSide
    left_window: ActiveWindow
    right_window: ActiveWindow
    condition: JoinCondition
    columns: Mapping[str, Mapping[str, str]]
    device: str = "cpu"

    @cached_property
    def looks_of_left(self) -> tuple[np.ndarray, np.ndarray]:
        """What left events look at."""
        return look_into(self.left, self.right, self.right_window, ties=True)

    @cached_property
    def looks_of_right(self) -> tuple[np.ndarray, np.ndarray]:
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

    @cached_property
    def fitting(self) -> Fitting:
        """What is known of both sides before pairs are looked at."""
        return find_fitting(self.condition, self.left, self.right, self.columns)

    def _find_candidates(self, left_wanted: np.ndarray | None, right_wanted: np.ndarray | None) -> list[Candidates]:
        """What events of each side may find; of some events, or of all."""
        for window in (self.left_window, self.right_window):
            if isinstance(window, StepSpan):
                for side in (self.left, self.right):
                    check_edges(side.steps, window.length + window.slide)
        return [
            find_candidates(self.fitting, self.left, self.right, self.looks_of_left, True, left_wanted),
            find_candidates(self.fitting, self.right, self.left, self.looks_of_right, False, right_wanted),
        ]

    def _choose(self, candidates: Candidates, pairs: int) -> Search:
        on_card, parts = self.device == "gpu", self.condition.pairs
        band = self.search_band(candidates) if parts and (pairs > _FEW_PAIRS or on_card) else None
        if band is not None and (band.is_narrow or self.test.compiled is None):
            return band
        if parts and on_card:
            return ScanOnCard(candidates, self.test)
        scans = pairs > FEW and self.test.compiled is not None
        return (Scan if parts and scans else Search)(candidates, self.test)

    def search_band(self, candidates: Candidates) -> BandSearch | None:
        """A search by the sorted values of a band; None where there is none, or none of values that can be sorted."""
        for band in self.condition.bands:
            values = self._values_of(band)
            if values is None:
                continue
            (own, has_own), (others, has_others) = values if candidates.of_left else values[::-1]
            # NULL has no partner: events without a value do not look, members without one stand where none is found.
            looking = has_own[candidates.probes]
            probes, low, high = (ends[looking] for ends in (candidates.probes, candidates.low, candidates.high))
            kept = replace(candidates, probes=probes, low=low, high=high)
            others = np.where(np.isfinite(others), others, np.inf)
            others = np.where(has_others, others, np.nan)[candidates.members]
            kind = BandOnCard if self.device == "gpu" else BandSearch
            return kind(kept, self.test, band, own[probes], others)
        return None

    def _values_of(self, band: Band) -> tuple[_Floats, _Floats] | None:
        """The values that a band compares: floats, or, where only the order is asked, numbers in that order."""
        left = evaluate_on_side(band.left, self.left, self.columns["left"])
        right = evaluate_on_side(band.right, self.right, self.columns["right"])
        floats = (as_floats(left), as_floats(right))
        if floats[0] is not None and floats[1] is not None:
            return floats[0], floats[1]
        if not band.is_order:
            return None
        one, other = ((part.astype(np.float64), part >= 0) for part in order_codes(left, right))
        return one, other

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
        searches = [self._prepare(each, pairs) for each in candidates]
        times = [(self.left if one.candidates.of_left else self.right).steps[one.candidates.probes] for one in searches]
        sizes = [one.candidates.high - one.candidates.low for one in searches]
        order = np.argsort(np.concatenate(times), kind="stable")
        sizes_of_blocks = (_TARGET_ON_CARD, _EVENTS_ON_CARD) if self.device == "gpu" else (_TARGET, _EVENTS)
        cutting = Cutting(
            np.concatenate(times)[order],
            np.concatenate(sizes)[order],
            *sizes_of_blocks,
            parts=count_blocks(threads, pairs),
            tested=all(search.lists_pairs for search in searches),
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
        if self.device == "threads":
            search.find(0, 0, 0)  # what all cores need is made by one
        return search

    def _find_block(
        self, searches: list[Search], times: list[np.ndarray], block: Block
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """The pairs of some times; None where they are too many."""
        lefts, rights = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for search, moments in zip(searches, times, strict=True):
            first, last = int(np.searchsorted(moments, block.begin)), int(np.searchsorted(moments, block.end, "right"))
            if first == last:
                continue
            found = search.find(first, last, block.limit)
            if found is None:
                return None
            left, right = found if search.candidates.of_left else self._unless_found(*found)
            lefts.append(left)
            rights.append(right)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        order = sort_by(np.maximum(self.left.steps[left], self.right.steps[right]), left, right)
        return left[order], right[order]

    def _unless_found(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that right events have found, without those of one time that left events have found, too."""
        if self._both_move:
            return left, right
        place, (low, high) = self.right.place[right], self.looks_of_left
        twice = self.left.steps[left] == self.right.steps[right]
        twice &= (low[left] <= place) & (place < high[left])
        return left[~twice], right[~twice]
