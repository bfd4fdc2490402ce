"""Trends drawn at random, each with the same probability, from exponentially many that are never built.

The number of ways to each vertex is a sum over the vertices before it. A trend is drawn from its last event back: each
step chooses a vertex with probability proportional to its ways. Ways are floats with an exponent of their own and a
bound of their error, and a step compares a random number with their sums. Where the two are closer than the error, the
floats cannot decide, and the whole draw is repeated with exact numbers and the same random bits. So rounding never
changes which trend is drawn, and the draw is exactly uniform.
"""

from collections.abc import Iterator

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.listing.draws import draw_many, random_bits
from trendweave.kernels.listing.graph import Bounds, TrendGraph, find_bounds, last_before, step_back
from trendweave.kernels.listing.marks import BEGIN, FINISH, mark_window
from trendweave.kernels.listing.steps import Steps
from trendweave.kernels.listing.walk import Walk
from trendweave.kernels.listing.ways import Ways, count_ways, is_free, new_ways

#: The relative error of one step of floating point arithmetic.
EPSILON = 2.0**-53
#: Trends that are drawn before they are handed on.
_DRAWS_AT_ONCE = 65_536


@inner
def list_before(graph, steps, v, low, found):
    """All vertices with an edge to v, latest first; returns how many."""
    count = 0
    cursor = last_before(graph, v, low)
    while True:
        cursor, u = step_back(graph, steps, v, cursor, low)
        if u < 0:
            return count
        found[count] = u
        count += 1


class WindowSampler:
    """Draws trends of one window of one segment. `unit` is the error of a step; tests make it large."""

    def __init__(
        self, graph: TrendGraph, steps: Steps | None, bounds: Bounds, walk: Walk, ways: Ways, free: bool, unit: float
    ) -> None:
        self.graph, self.steps, self.bounds, self.walk = graph, steps, bounds, walk
        self.ways, self.free, self.unit = ways, free, unit
        self.exact: list[int] | None = None

    def draws(self, keys: np.ndarray, buffer: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Trends of all keys, in pieces of (starts, vertices)."""
        vertices = np.empty(max(buffer, self.bounds.high - self.bounds.low), np.int32)
        starts = np.empty(min(keys.size, _DRAWS_AT_ONCE) + 1, np.int64)
        first = 0
        while first < keys.size:
            drawn, undecided = draw_many(
                self.graph, self.steps, self.bounds, self.walk, self.ways, keys, first, self.unit, starts, vertices
            )
            if drawn:
                yield starts[: drawn + 1], vertices[: starts[drawn]]
            first += drawn
            if undecided:
                exactly = self.draw_exactly(int(keys[first]))
                yield np.array([0, exactly.size]), exactly
                first += 1

    def draw_exactly(self, key: int) -> np.ndarray:
        """The same draw with whole numbers of any size; random bits are added until they decide."""
        counts = self._count_exactly()
        low, base, marks = self.bounds.low, self.bounds.base, self.walk.marks
        path: list[int] = []
        v = -1
        while True:
            if v < 0:
                options = [u for u in range(self.bounds.high - 1, low - 1, -1) if marks[u - base] & FINISH]
            else:
                options = self._list_before(v)
            weights = [counts[u - low] for u in options]
            if v >= 0 and marks[v - base] & BEGIN:
                options, weights = [-1, *options], [1, *weights]
            v = options[_choose(weights, key, len(path))]
            if v < 0:
                return np.array(path[::-1], np.int32)
            path.append(v)

    def _list_before(self, v: int) -> list[int]:
        found = np.empty(self.bounds.high - self.bounds.low, np.int64)
        return found[: list_before(self.graph, self.steps, v, self.bounds.low, found)].tolist()

    def _count_exactly(self) -> list[int]:
        """Ways to each vertex; counted once, as a draw that needs them rarely comes alone."""
        if self.exact is None:
            low, graph = self.bounds.low, self.graph
            exact: list[int] = []
            steps = self.steps
            sums = [0] * self.ways.state.number.size
            done = low
            for v in range(low, self.bounds.high):
                ways = int(bool(self.walk.marks[v - self.bounds.base] & BEGIN))
                if self.free and steps is not None:
                    while graph.tick[done] < graph.tick[v]:
                        sums[graph.state[done]] += exact[done - low]
                        done += 1
                    first, end = steps.incoming_starts[graph.state[v] :][:2]
                    ways += sum(sums[s] for s in steps.source[steps.incoming[first:end]])
                else:
                    ways += sum(exact[u - low] for u in self._list_before(v))
                exact.append(ways)
            self.exact = exact
        return self.exact


def make_sampler(
    graph: TrendGraph, steps: Steps | None, segment: int, window: int, mode: int, walk: Walk, unit: float = EPSILON
) -> WindowSampler:
    """Mark a window of a segment, and count the ways to its vertices."""
    bounds = Bounds(*(int(number) for number in find_bounds(graph, segment, window)))
    mark_window(graph, steps, bounds, mode, walk.marks, walk.longest)
    ways = new_ways(walk.marks.size, 0 if steps is None else steps.variable.size)
    free = steps is not None and is_free(steps)
    count_ways(graph, steps, bounds, free, walk.marks, ways)
    return WindowSampler(graph, steps, bounds, walk, ways, free, unit)


def _choose(weights: list[int], key: int, step: int) -> int:
    """The place that a random fraction points at; the fraction's first 64 bits are those of the float draw."""
    whole = sum(weights)
    bits, length = int(random_bits(np.uint64(key), step)), 64
    while True:
        # All fractions with these bits are in [bits, bits + 1) / 2**length.
        least, most = bits * whole, (bits + 1) * whole
        below = 0
        for place, weight in enumerate(weights):
            above = below + weight
            if below << length <= least and most <= above << length:
                return place
            if least < above << length:
                break
            below = above
        more = int(random_bits(np.uint64((key + length) & (2**64 - 1)), step + (1 << 40)))
        bits, length = bits << 64 | more, length + 64
