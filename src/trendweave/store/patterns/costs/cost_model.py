"""What a query costs with some indexes, estimated from how often symbols occur (thesis, 3.4.3).

The thesis assumes that symbols are spread evenly; with the coarse pattern map only inside each of a few parts of the
stream, whose events, length and selectivities are known by themselves. So all arrays here have an axis of parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trendweave.store.patterns.costs.candidate_lengths import POINTS, factor, inside_window


@dataclass(frozen=True, slots=True)
class Weights:
    """Seconds, as they were measured on one machine.

    Attributes:
        byte: To read a byte of data.
        piece: To begin with a piece of data, that is with a row group.
        event: To compute an event.
        comparison: To compare a value of an event with a constant.
        choosing: To look at an event that is read, whether it lies in a stretch that is asked for.
        entry: To read an entry of an index.
        sorting: To sort an entry, times the logarithm of their number.
        lookup: To ask an index of a file.
    """

    byte: float = 6e-10
    piece: float = 6e-5
    event: float = 4e-8
    comparison: float = 4e-9
    choosing: float = 7e-9
    entry: float = 2.5e-8
    sorting: float = 1e-9
    lookup: float = 1e-4

    def comparing(self, number: int) -> Weights:
        """The same for a query that compares so many values of each event."""
        return replace(self, event=self.event + self.comparison * number)

    def of_data(self, bytes_: np.ndarray, pieces: np.ndarray, events: np.ndarray) -> np.ndarray:
        """Seconds to read and compute (f in Equation 3.1)."""
        return self.byte * bytes_ + self.piece * pieces + self.event * events

    def of_indexes(self, entries: np.ndarray, lookups: np.ndarray) -> np.ndarray:
        """Seconds to ask indexes (g in Equation 3.1)."""
        return self.lookup * lookups + self.entry * entries + self.sorting * entries * np.log2(np.maximum(entries, 2))


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the stream that the coarse pattern map leaves, for estimates.

    Attributes:
        events: How many each has.
        length: How many steps of time each takes.
        pieces: How many pieces of data each has that are read whole.
        piece_length: How many steps of time such a piece takes, on average.
        bytes: How many bytes of data each has.
        read: How many events these pieces have.
        window: How many steps a trend can be long.
        times: How often such parts are there in all.
    """

    events: np.ndarray
    length: np.ndarray
    pieces: np.ndarray
    piece_length: np.ndarray
    bytes: np.ndarray
    read: np.ndarray
    window: float
    times: float = 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of many choices: what of the data is read, and which events of it are computed."""

    bytes: np.ndarray
    pieces: np.ndarray
    read: np.ndarray
    events: np.ndarray


@dataclass(frozen=True, slots=True)
class ChainState:
    """Choices of indexes, all at once.

    Attributes:
        first: The first and the last symbol that is asked for; -1 where none is.
        last: The same of the last symbol.
        first_share: Per part, which share of events begins a first run.
        last_share: The same of a last run.
        products: Per part, the transform of the length of candidates behind the first run.
        sizes: How many runs are asked for.
    """

    first: np.ndarray
    last: np.ndarray
    first_share: np.ndarray
    last_share: np.ndarray
    products: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True, slots=True)
class ChainModel:
    """The cost model of a sequence of symbols, for `select_indexes`.

    Attributes:
        parts: What is known of the stream.
        weights: Seconds.
        symbols: The symbol of each index that can be asked.
        shares: Per index and part, which share of events it names.
        bounded: Per symbol, whether it tells where trends begin, and whether it tells where they end.
    """

    parts: Parts
    weights: Weights
    symbols: np.ndarray
    shares: np.ndarray
    bounded: np.ndarray

    def nothing(self) -> ChainState:
        ones = np.ones((1, self.parts.events.size))
        nowhere = np.full(1, -1)
        return ChainState(nowhere, nowhere, ones, ones, np.ones((*ones.shape, POINTS), complex), np.zeros(1, np.int64))

    def of_run(self, chosen: Sequence[int]) -> ChainState:
        share = self.shares[list(chosen)].prod(axis=0)[None]
        symbols = self.symbols[list(chosen)]
        products = np.ones((*share.shape, POINTS), complex)
        first, last = np.array([symbols.min()]), np.array([symbols.max()])
        return ChainState(first, last, share, share, products, np.ones(1, np.int64))

    def join(self, left: ChainState, right: ChainState) -> ChainState:
        no_left, no_right = left.first < 0, right.first < 0
        between = factor(self._per_window(right.first_share))
        between[no_left | no_right] = 1
        return ChainState(
            np.where(no_left, right.first, left.first),
            np.where(no_right, left.last, right.last),
            np.where(no_left[:, None], right.first_share, left.first_share),
            np.where(no_right[:, None], left.last_share, right.last_share),
            left.products * between * right.products,
            left.sizes + right.sizes,
        )

    def take(self, state: ChainState, rows: np.ndarray) -> ChainState:
        return ChainState(*(getattr(state, name)[rows] for name in ChainState.__slots__))

    def concatenate(self, states: Sequence[ChainState]) -> ChainState:
        return ChainState(
            *(np.concatenate([getattr(state, name) for state in states]) for name in ChainState.__slots__)
        )

    def kinds(self, state: ChainState) -> np.ndarray:
        begins = (state.first >= 0) & self.bounded[state.first, 0]
        ends = (state.last >= 0) & self.bounded[state.last, 1]
        return begins * 2 + ends

    def primary(self, state: ChainState) -> np.ndarray:
        found = self.estimate(state)
        data = self.weights.of_data(found.bytes, found.pieces, found.events)
        return data + self.weights.choosing * found.read

    def estimate(self, state: ChainState) -> Estimate:
        """What is read of the data, and computed, per choice (Equations 3.5 to 3.7)."""
        parts = self.parts
        within, mean = inside_window(state.products)
        candidates = parts.events * state.first_share * within
        extent = self._extent(state, mean) * parts.window
        touched = _cover(extent + parts.piece_length, parts.length, candidates)
        inside = _cover(extent, parts.length, candidates)
        nothing = state.first < 0
        touched[nothing], inside[nothing] = 1, 1
        totals = (touched @ parts.bytes, touched @ parts.pieces, touched @ parts.read, inside @ parts.events)
        return Estimate(*(parts.times * total for total in totals))

    def _extent(self, state: ChainState, mean: np.ndarray) -> np.ndarray:
        """How long a replay interval is, in windows: the base case, or S1 to S3."""
        begins = ((state.first >= 0) & self.bounded[state.first, 0])[:, None]
        ends = ((state.last >= 0) & self.bounded[state.last, 1])[:, None]
        # From the first symbol to the last one that still lies in its window.
        rate = np.maximum(self._per_window(state.last_share), 1e-12)
        waiting = -np.expm1(-rate * (1 - mean)) / rate
        to_last = np.where(state.sizes[:, None] > 1, np.maximum(mean, 1 - waiting), 0.0)
        ahead = np.where(ends, to_last, 1.0)
        return np.where(begins, ahead, ahead + 1 - mean)

    def _per_window(self, share: np.ndarray) -> np.ndarray:
        parts = self.parts
        rates: np.ndarray = share * parts.events * (parts.window / np.maximum(parts.length, 1))
        return rates


def _cover(extent: np.ndarray, length: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Which share of a length is covered by so many intervals of an extent that lie anywhere (Cardenas)."""
    free = np.clip(1 - extent / np.maximum(length, 1), 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.exp(number * np.log(free))
    return 1 - np.where(number <= 0, 1.0, left)
