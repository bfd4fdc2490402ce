"""The ways in which pairs are found among candidates: all of them, by sorted values, by a scan, or by Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeAlias

import numpy as np

from trendweave.programs.operators.joins.bands import Band
from trendweave.programs.operators.joins.candidates import Candidates
from trendweave.programs.operators.joins.loops import scan_pairs
from trendweave.programs.operators.joins.pair_tests import PairTest
from trendweave.programs.operators.kernels.pairs import Chunks, find_in_bands, sort_into_chunks

Way: TypeAlias = Literal["all", "band", "scan", "batches"]
#: Candidates that Arrow tests at a time.
_BATCH = 1 << 20
_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 20
#: Values that are looked at to tell how wide a band is, and the share of members in it that is narrow.
_SAMPLE, NARROW = 1_000, 0.05


class Search(Protocol):
    """One of the ways, for the events of one side."""

    @property
    def candidates(self) -> Candidates:
        """What it searches."""

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Pairs of some events that look, and members.

        Args:
            first: The number of the first event that looks.
            last: Up to but without this one.
            limit: So many pairs are enough, if they are too many.

        Returns:
            How many events were looked at, and numbers of events and members of the pairs that passed all tests.
        """


def list_ranges(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of some ranges, and which range each is of."""
    sizes = high - low
    owner = np.repeat(np.arange(low.size), sizes)
    begins = np.cumsum(sizes) - sizes
    return owner, np.arange(owner.size) - (begins - low)[owner]


@dataclass(frozen=True)
class TakeAll:
    """Every candidate is a pair."""

    candidates: Candidates

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        event, member = list_ranges(self.candidates.low[first:last], self.candidates.high[first:last])
        return last - first, event + first, member


@dataclass(frozen=True)
class TestedPairs:
    """What ways that test pairs have in common."""

    candidates: Candidates
    test: PairTest

    def ranks(self, event: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left and right ranks of pairs."""
        own, other = self.candidates.probes[event], self.candidates.members[member]
        return (own, other) if self.candidates.of_left else (other, own)


@dataclass(frozen=True)
class Batches(TestedPairs):
    """Candidates in batches of columns, tested by Arrow: any condition, and the least to do before the first pair."""

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        low, high = self.candidates.low[first:last], self.candidates.high[first:last]
        ends = np.cumsum(high - low)
        begin, count, events, members = 0, 0, [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        while begin < low.size and count <= limit:
            start = int(ends[begin - 1]) if begin else 0
            end = max(int(np.searchsorted(ends, start + _BATCH, "right")), begin + 1)
            event, member = list_ranges(low[begin:end], high[begin:end])
            for part in range(0, event.size, _BATCH):
                one, other = event[part : part + _BATCH] + first + begin, member[part : part + _BATCH]
                holds = keep_mask(self, one, other, is_compiled=False)
                events.append(one[holds])
                members.append(other[holds])
                count += events[-1].size
            begin = end
        return begin, np.concatenate(events), np.concatenate(members)


def keep_mask(pairs: TestedPairs, event: np.ndarray, member: np.ndarray, is_compiled: bool | None) -> np.ndarray:
    """Which pairs pass all tests."""
    left, right = pairs.ranks(event, member)
    return pairs.test.mask(left, right, is_compiled)


@dataclass(frozen=True)
class Scan(TestedPairs):
    """All candidates, tested by a compiled loop; what has no compiled form is asked of those that pass."""

    @cached_property
    def _arrays(self) -> list[np.ndarray]:
        members = self.candidates.members
        in_order = members.size == 0 or (members[0] == 0 and bool((np.diff(members) == 1).all()))
        return self.test.arrays({} if in_order else {"right" if self.candidates.of_left else "left": members})

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        assert self.test.compiled is not None
        found = self.candidates
        # Events whose members lie together look at them in turn.
        order = first + np.argsort(found.low[first:last], kind="stable")
        given = (found.low[order], found.high[order], found.probes[order], limit)
        done, event, member = scan_pairs(self.test.compiled, found.of_left, self._arrays, *given)
        event = order[event]
        if self.test.others:
            left, right = self.ranks(event, member)
            holds = self.test.mask_by_arrow(self.test.others, left, right)
            event, member = event[holds], member[holds]
        return done, event, member


@dataclass(frozen=True)
class BandSearch(TestedPairs):
    """Members sorted by value in chunks about as long as windows are, and a look into each of the two or three chunks
    that a window touches.

    Attributes:
        band: What the condition says of the values.
        own: The values of those that look, by number; NULL is not among them.
        others: The values of members, in their order, as `sort_into_chunks` takes them.
        alone: Whether the band, of floats, is all that is asked of pairs.
    """

    band: Band
    own: np.ndarray
    others: np.ndarray
    alone: bool = False

    @property
    def is_narrow(self) -> bool:
        """Does the band leave few candidates? A scan tests many pairs in the time in which one candidate is handled."""
        own, others = (values[:: max(values.size // _SAMPLE, 1)] for values in (self.own, self.others))
        if not own.size:
            return True
        least, most = self.band.around(own, self.candidates.of_left)
        others = np.sort(others[np.isfinite(others)])
        inside = np.searchsorted(others, most, "right") - np.searchsorted(others, least)
        return bool(inside.mean() <= NARROW * max(others.size, 1))

    @cached_property
    def bits(self) -> int:
        """A chunk has 2 ** so many members: about as many as half of the windows have."""
        widths = self.candidates.high - self.candidates.low
        typical = int(np.median(widths)) if widths.size else 1
        return min(max((typical - 1).bit_length(), _SMALLEST_CHUNK), _LARGEST_CHUNK)

    @property
    def size(self) -> int:
        """How many members a chunk has."""
        return 1 << self.bits

    @cached_property
    def _chunks(self) -> Chunks:
        return sort_into_chunks(self.others, self.bits)

    def find(self, first: int, last: int, limit: int) -> tuple[int, np.ndarray, np.ndarray]:
        found = self.candidates
        least, most = self.band.around(self.own[first:last], found.of_left)
        given = (found.low[first:last], found.high[first:last], least, most, self._chunks, self.bits)
        done, event, member = find_in_bands(*given, limit)
        event += first
        holds = self._test(event, member)
        return done, event[holds], member[holds]

    def _test(self, event: np.ndarray, member: np.ndarray) -> np.ndarray:
        """Which candidates are pairs. The condition is asked of those alone that lie near an end of the band."""
        if not self.alone:
            return keep_mask(self, event, member, is_compiled=None)
        least, most = self.band.surely_around(self.own[event], self.candidates.of_left)
        values = self.others[member]
        holds = (least <= values) & (values <= most)
        unsure = np.flatnonzero(~holds)
        if unsure.size:
            holds[unsure] = keep_mask(self, event[unsure], member[unsure], is_compiled=None)
        return holds
