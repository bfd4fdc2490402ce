"""Trends drawn at random, each with the same probability, from exponentially many that are never built.

The number of ways to each vertex is a sum over the vertices before it. A trend is drawn from its last event back: each
step chooses a vertex with probability proportional to its ways. Ways are floats with an exponent of their own and a
bound of their error, and a step compares a random number with their sums. Where the two are closer than the error, the
floats cannot decide, and the whole draw is repeated with exact numbers and the same random bits. So rounding never
changes which trend is drawn, and the draw is exactly uniform.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.listing.graph import TrendGraph
from trendweave.kernels.listing.steps import PART_GUARD, PART_PAIR, PART_TESTS, PART_TESTS_END, Steps
from trendweave.kernels.listing.walk import (
    BEGIN,
    FINISH,
    Walk,
    last_before,
    mark_window,
    step_back,
    vertex_range,
)

#: Exponents are multiples of this; a float times 2**512 is still far from the largest.
SHIFT = 512
LARGE = 2.0**SHIFT
EPSILON = 2.0**-53
UNDECIDED = -1


class Ways(NamedTuple):
    """Per vertex of a window the number of ways from a beginning: `number * 2**exponent`, with a relative error of at
    most `error * 2**-53`. The last entry is the total over all ends."""

    number: np.ndarray
    exponent: np.ndarray
    error: np.ndarray
    state_number: np.ndarray
    state_exponent: np.ndarray
    state_error: np.ndarray


def new_ways(size: int, states: int) -> Ways:
    return Ways(
        np.zeros(size + 1), np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64),
        np.zeros(states), np.zeros(states, np.int64), np.zeros(states, np.int64),
    )  # fmt: skip


def all_free(steps: Steps) -> bool:
    """Whether any event may follow any earlier one wherever the template has a transition."""
    free = (steps.parts[:, PART_TESTS] == steps.parts[:, PART_TESTS_END]) & (steps.parts[:, PART_GUARD] < 0)
    return bool(steps.selection == 0 and (free & (steps.parts[:, PART_PAIR] < 0)).all())


@inlined
def scaled(number, exponent, to):
    """A number in terms of another exponent; so small that it does not matter becomes zero."""
    difference = exponent - to
    if difference == 0:
        return number
    if difference < -1500 or number == 0.0:
        return 0.0
    return number * 2.0**difference


@inlined
def add(number, exponent, other, other_exponent):
    """The sum of two scaled numbers."""
    if other_exponent > exponent and other > 0.0:
        number, exponent, other, other_exponent = other, other_exponent, number, exponent
    number += scaled(other, other_exponent, exponent)
    if number >= LARGE:
        number /= LARGE
        exponent += SHIFT
    return number, exponent


@inner
def count_ways(graph, steps, window, low, high, base, free, walk, ways):
    """Ways to each vertex of a window, and the total. `free`: sums per state do, edges are not looked at."""
    ways.state_number[:] = 0.0
    ways.state_exponent[:] = 0
    ways.state_error[:] = 0
    done = low
    total, total_exponent, total_error, ends = 0.0, np.int64(0), np.int64(0), np.int64(0)
    for v in range(low, high):
        number = 1.0 if walk.marks[v - base] & BEGIN else 0.0
        exponent, error, added = np.int64(0), np.int64(0), np.int64(1)
        if free:
            while graph.tick[done] < graph.tick[v]:
                s = graph.state[done]
                ways.state_number[s], ways.state_exponent[s] = add(
                    ways.state_number[s], ways.state_exponent[s], ways.number[done - base], ways.exponent[done - base]
                )
                ways.state_error[s] = max(ways.state_error[s], ways.error[done - base]) + 1
                done += 1
            for s in range(steps.variable.size):
                if steps.between[s, graph.state[v]] >= 0:
                    number, exponent = add(number, exponent, ways.state_number[s], ways.state_exponent[s])
                    error = max(error, ways.state_error[s])
                    added += 1
        else:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                number, exponent = add(number, exponent, ways.number[u - base], ways.exponent[u - base])
                error = max(error, ways.error[u - base])
                added += 1
        ways.number[v - base], ways.exponent[v - base], ways.error[v - base] = number, exponent, error + added
        if walk.marks[v - base] & FINISH and number > 0.0:
            total, total_exponent = add(total, total_exponent, number, exponent)
            total_error = max(total_error, error + added)
            ends += 1
    last = ways.number.size - 1
    ways.number[last], ways.exponent[last], ways.error[last] = total, total_exponent, total_error + ends + 1


@inlined
def random_bits(key, step):
    """64 random bits, a function of both (the mixing of SplitMix64)."""
    z = key + np.uint64(step + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def decided(point, below, above, margin):
    """1 if the point is surely between two sums, 0 if it is surely not below the upper one, else UNDECIDED."""
    if point >= above + margin:
        return 0
    if point > below + margin and point < above - margin:
        return 1
    return UNDECIDED


@inlined
def draw(graph, steps, low, high, base, walk, ways, key, unit):
    """One trend, from its last vertex back, into the walk's path. Returns its length, or UNDECIDED.

    `unit` is the relative error of one step of floating point arithmetic; tests make it large.
    """
    last = ways.number.size - 1
    v = np.int64(-1)
    depth = 0
    while True:
        at = last if v < 0 else v - base
        whole, exponent = ways.number[at], ways.exponent[at]
        point = np.float64(random_bits(key, depth)) * 2.0**-64 * whole
        sum_, terms = 0.0, 4
        if v >= 0 and walk.marks[v - base] & BEGIN:
            above = scaled(1.0, np.int64(0), exponent)
            margin = whole * 2 * (ways.error[at] + terms) * unit
            # Nothing lies below the first weight.
            answer = decided(point, -1.0 - margin, above, margin)
            if answer < 0:
                return UNDECIDED
            if answer > 0:
                return depth
            sum_ = above
        cursor = high if v < 0 else last_before(graph, v, low)
        chosen = np.int64(-1)
        while True:
            if v < 0:
                cursor -= 1
                while cursor >= low and not walk.marks[cursor - base] & FINISH:
                    cursor -= 1
                u = cursor if cursor >= low else np.int64(-1)
            else:
                cursor, u = step_back(graph, steps, v, cursor, low)
            if u < 0:
                return UNDECIDED
            weight = scaled(ways.number[u - base], ways.exponent[u - base], exponent)
            if ways.number[u - base] == 0.0:
                continue
            terms += 1
            margin = whole * 2 * (ways.error[at] + terms) * unit
            below = -1.0 - margin if sum_ == 0.0 else sum_
            answer = decided(point, below, sum_ + weight, margin)
            if answer < 0:
                return UNDECIDED
            if answer > 0:
                chosen = u
                break
            sum_ += weight
        walk.path[depth] = chosen
        depth += 1
        v = chosen


@inner
def draw_many(graph, steps, low, high, base, walk, ways, keys, first, unit, starts, vertices):
    """Draws from the first key on into buffers, as many as fit. Returns their number, and whether the next is left
    UNDECIDED."""
    used, drawn = 0, 0
    starts[0] = 0
    for k in range(first, keys.size):
        if drawn == starts.size - 1 or used + (high - low) > vertices.size:
            break
        depth = draw(graph, steps, low, high, base, walk, ways, keys[k], unit)
        if depth == UNDECIDED:
            return drawn, True
        for i in range(depth):
            vertices[used + i] = walk.path[depth - 1 - i]
        used += depth
        drawn += 1
        starts[drawn] = used
    return drawn, False


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
    """Draws trends of one window of one segment."""

    def __init__(
        self, graph: TrendGraph, steps: Steps, segment: int, window: int, kind: int, walk: Walk, unit: float = EPSILON
    ) -> None:
        self.graph, self.steps, self.walk, self.unit = graph, steps, walk, unit
        self.low, self.high = (int(x) for x in vertex_range(graph, segment, window))
        self.base = int(graph.segment_starts[segment])
        mark_window(graph, steps, window, self.low, self.high, self.base, kind, walk.marks, walk.longest)
        self.ways = new_ways(walk.marks.size, steps.variable.size)
        self.free = not graph.is_listed and all_free(steps)
        count_ways(graph, steps, window, self.low, self.high, self.base, self.free, walk, self.ways)
        self.exact: list[int] | None = None

    def draws(self, keys: np.ndarray, buffer: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Trends of all keys, in pieces of (starts, vertices)."""
        vertices = np.empty(max(buffer, self.high - self.low), np.int32)
        starts = np.empty(min(keys.size, 65_536) + 1, np.int64)
        first = 0
        while first < keys.size:
            drawn, undecided = draw_many(
                self.graph, self.steps, self.low, self.high, self.base, self.walk, self.ways, keys, first, self.unit,
                starts, vertices,
            )  # fmt: skip
            if drawn:
                yield starts[: drawn + 1], vertices[: starts[drawn]]
            first += drawn
            if undecided:
                exactly = self.draw_exactly(int(keys[first]))
                yield np.array([0, exactly.size]), exactly
                first += 1

    def draw_exactly(self, key: int) -> np.ndarray:
        """The same draw with whole numbers of any size; random bits are added until they decide."""
        counts = self._exact_counts()
        found = np.empty(self.high - self.low, np.int64)
        path: list[int] = []
        v = -1
        while True:
            if v < 0:
                marks = self.walk.marks
                options = [u for u in range(self.high - 1, self.low - 1, -1) if marks[u - self.base] & FINISH]
            else:
                options = found[: list_before(self.graph, self.steps, v, self.low, found)].tolist()
            weights = [counts[u - self.low] for u in options]
            if v >= 0 and self.walk.marks[v - self.base] & BEGIN:
                options, weights = [-1, *options], [1, *weights]
            v = options[_choose(weights, key, len(path))]
            if v < 0:
                return np.array(path[::-1], np.int32)
            path.append(v)

    def _exact_counts(self) -> list[int]:
        if self.exact is None:
            self.exact = []
            found = np.empty(self.high - self.low, np.int64)
            sums = [0] * self.steps.variable.size
            done = self.low
            for v in range(self.low, self.high):
                ways = int(bool(self.walk.marks[v - self.base] & BEGIN))
                if self.free:
                    while self.graph.tick[done] < self.graph.tick[v]:
                        sums[self.graph.state[done]] += self.exact[done - self.low]
                        done += 1
                    ways += sum(sums[s] for s in np.flatnonzero(self.steps.between[:, self.graph.state[v]] >= 0))
                else:
                    before = found[: list_before(self.graph, self.steps, v, self.low, found)]
                    ways += sum(self.exact[u - self.low] for u in before.tolist())
                self.exact.append(ways)
        return self.exact


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
