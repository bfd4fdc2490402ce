"""Events that look for partners, in blocks of time: each has about as many pairs as fit into memory at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

    @property
    def size(self) -> int:
        """How many events look."""
        return self._moments.size

    def cut(self, first: int) -> Block:
        """The block that begins with an event."""
        wanted = min(max(self._target / self._share, 1), self._candidates)
        last = int(np.searchsorted(self._ends, self._before(first) + wanted, "right"))
        last = min(max(last, first + 1), first + self._most, self.size)
        end = int(self._moments[last - 1])
        last = int(np.searchsorted(self._moments, end, "right"))
        begin = int(self._moments[first])
        return Block(first, last, begin, end, _TOO_MANY * self._target if begin < end else 2**62)

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

    def shrink(self, block: Block) -> None:
        """A block has too many of them: the next ones have fewer events."""
        self._most = max((block.last - block.first) // 4, 1)
