"""Pairs of a join, in blocks of time, in order, on one core or on all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from trendweave.devices.cores import count_cores
from trendweave.devices.pool import Pool, is_in_pool
from trendweave.programs.operators.joins.conditions import JoinCondition
from trendweave.programs.operators.joins.on_card import SearchOnCard
from trendweave.programs.operators.joins.searches import (
    FEW,
    ActiveWindow,
    Candidates,
    JoinSide,
    PairTest,
    Search,
    SortedBand,
    find_candidates,
    look_into,
    sort_band,
)
from trendweave.programs.operators.windows.edges import Moving, StepSpan
from trendweave.rows.ordering import sort_by
from trendweave.rows.times import check_edges

#: Pairs of a block, about, and events of a block, at most.
_TARGET, _EVENTS = 1 << 20, 1 << 16
#: Both on a graphics card.
_TARGET_ON_CARD, _EVENTS_ON_CARD = 1 << 23, 1 << 21
#: A block is done again in smaller ones where so many times more pairs are listed than should be.
_TOO_MANY = 8


class Block(NamedTuple):
    """Events that look, whole moments of them: numbers by time, and the times of the first and the last."""

    first: int
    last: int
    begin: int
    end: int


@dataclass
class Cutting:
    """Cuts blocks, and learns from those that are done how many events list about as many pairs as a block should have.

    Attributes:
        moments: The times of all events that look, in order.
        target: Pairs of a block, about.
        most: Events of a block, at most.
        events: Events of the next block.
    """

    moments: np.ndarray
    target: int
    most: int
    events: int

    def blocks(self, first: int, until: int) -> Iterator[Block]:
        """Blocks of some events, each cut when it is asked for."""
        while first < until:
            begin, end = int(self.moments[first]), int(self.moments[min(first + self.events, until) - 1])
            last = int(np.searchsorted(self.moments, end, "right"))
            yield Block(first, last, begin, end)
            first = last

    def limit(self, block: Block) -> int:
        """So many pairs are too many; of one moment there cannot be."""
        return _TOO_MANY * self.target if block.begin < block.end else 2**62

    def split(self, block: Block) -> Iterator[Block]:
        """Smaller blocks of the events of one that has too many pairs."""
        self.events = max((block.last - block.first) // 4, 1)
        return self.blocks(block.first, block.last)

    def learn(self, block: Block, listed: int) -> None:
        """A block lists so many pairs."""
        fitting = self.target * (block.last - block.first) // max(listed, 1)
        self.events = max(1, min(fitting, _TOO_MANY * self.events, self.most))


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
        work: Makes something of a block and tells how many pairs it listed; None where they are too many.
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

    blocks = cutting.blocks(0, cutting.moments.size)
    if threads == 1:
        for block in blocks:
            yield from finish(block, work(block))
        return
    pool, waiting = Pool(threads), deque[tuple[Block, Future[tuple[int, _Made] | None]]]()
    try:
        for block in blocks:
            waiting.append((block, pool.submit(work, block)))
            if len(waiting) > threads:
                block, future = waiting.popleft()
                yield from finish(block, future.result())
        for block, future in waiting:
            yield from finish(block, future.result())
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


#: So few candidates are tested before members are sorted.
_FEW_PAIRS = 20_000


@dataclass(frozen=True)
class PairSearch:
    """All that is to be joined.

    Attributes:
        sides: The left and the right events.
        windows: The windows over them.
        condition: The condition, in parts.
        device: What computes.
    """

    sides: tuple[JoinSide, JoinSide]
    windows: tuple[ActiveWindow, ActiveWindow]
    condition: JoinCondition
    device: str = "cpu"

    @cached_property
    def _looks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What left and what right events look at."""
        left, right = (side.events for side in self.sides)
        ties = not self._both_move
        return [look_into(left, right, self.windows[1], True), look_into(right, left, self.windows[0], ties)]

    @property
    def _both_move(self) -> bool:
        """Both windows move with every moment: left events find all of the same time, so that right ones need not."""
        return all(isinstance(window, Moving) for window in self.windows)

    @cached_property
    def _test(self) -> PairTest:
        return PairTest(self.condition.pairs, *self.sides)

    def _find_candidates(self, wanted: Sequence[np.ndarray | None]) -> list[Candidates]:
        """What events of each side may find."""
        for window in self.windows:
            if isinstance(window, StepSpan):
                for side in self.sides:
                    check_edges(side.events.steps, window.length + window.slide)
        return [
            find_candidates(self.sides[side], self.sides[1 - side], self._looks[side], side == 0, wanted[side])
            for side in (0, 1)
        ]

    def _choose(self, candidates: Candidates, pairs: int) -> Search:
        band, compiled = self.sort_band(candidates) if pairs > _FEW_PAIRS else None, self._test.compiled is not None
        if band is not None and (band.is_narrow or not compiled):
            return Search(band.candidates, self._test, band, compiled and int(pairs * band.share) > FEW)
        if self.device == "gpu" and self.condition.pairs:
            return SearchOnCard(candidates, self._test, None, in_loop=True)
        return Search(candidates, self._test, None, compiled and pairs > FEW)

    def sort_band(self, candidates: Candidates) -> SortedBand | None:
        """The sorted values of a band; None where there is none, or none of values that can be sorted."""
        return sort_band(self._test, self.condition.bands, candidates)

    def blocks(
        self, make: Callable[[np.ndarray, np.ndarray], _Made], wanted: Sequence[np.ndarray | None] = (None, None)
    ) -> Iterator[_Made]:
        """What is made of pairs: blocks one after the other, in order of row time, then by left and right event.

        Args:
            make: Makes something of the left and right places of some pairs.
            wanted: Which left and which right events are asked for, as those that look; None: all.
        """
        candidates = self._find_candidates(wanted)
        pairs = sum(each.pairs for each in candidates)
        threads = count_threads(pairs) if self.device == "threads" else 1
        searches = [self._choose(each, pairs) for each in candidates]
        if threads > 1:
            for search in searches:
                search.find(0, 0, 0)  # what all cores need is made by one
        times = [side.events.steps[one.candidates.probes] for side, one in zip(self.sides, searches, strict=True)]
        moments = np.sort(np.concatenate(times))
        target, most = (_TARGET_ON_CARD, _EVENTS_ON_CARD) if self.device == "gpu" else (_TARGET, _EVENTS)
        most = max(1, min(most, -(-moments.size // count_blocks(threads, pairs))))
        expected = sum(one.expect() for one in searches)
        cutting = Cutting(moments, target, most, max(1, min(most, target * moments.size // max(expected, 1))))

        def work(block: Block) -> tuple[int, _Made | None] | None:
            found = self._find_block(searches, times, block, cutting.limit(block))
            if found is None:
                return None
            listed, left, right = found
            return listed, make(left, right) if left.size else None

        return (made for made in compute_blocks(work, cutting, threads) if made is not None)

    def _find_block(
        self, searches: list[Search], times: list[np.ndarray], block: Block, limit: int
    ) -> tuple[int, np.ndarray, np.ndarray] | None:
        """How many pairs of some times were listed, and those that are some; None where they are too many."""
        lefts, rights, listed = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
        for search, moments in zip(searches, times, strict=True):
            first, last = np.searchsorted(moments, block.begin), np.searchsorted(moments, block.end, "right")
            if first == last:
                continue
            found = search.find(int(first), int(last), limit)
            if found is None:
                return None
            number, left, right = found
            if not search.candidates.of_left and not self._both_move:
                left, right = self._unless_found(left, right)
            listed += number
            lefts.append(left)
            rights.append(right)
        left, right = np.concatenate(lefts), np.concatenate(rights)
        one, other = (side.events for side in self.sides)
        order = sort_by(np.maximum(one.steps[left], other.steps[right]), one.rank(left), other.rank(right))
        return listed, left[order], right[order]

    def _unless_found(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs that right events have found, without those of one time that left events have found, too."""
        low, high = self._looks[0]
        twice = self.sides[0].events.steps[left] == self.sides[1].events.steps[right]
        twice &= (low[left] <= right) & (right < high[left])
        return left[~twice], right[~twice]
