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

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.lists.graph import (
    BEGIN,
    FINISH,
    Steps,
    TrendGraph,
    find_bounds,
    last_before,
    mark_window,
    step_back,
)
from trendweave.kernels.lists.walk import Walk, write_path
from trendweave.kernels.stopping import heed_stop

#: Exponents are multiples of this; a float times 2**512 is still far from the largest.
SHIFT = 512
LARGE = 2.0**SHIFT
#: A number so many powers of two below another leaves no trace in their sum, nor in the sum's error.
_NO_TRACE = -1500


class Scaled(NamedTuple):
    """Numbers `number * 2**exponent`, with a relative error of at most `error * 2**-53`."""

    number: np.ndarray
    exponent: np.ndarray
    error: np.ndarray


class Ways(NamedTuple):
    """The number of ways from a beginning: to each vertex of a window, the last entry being the total over all ends,
    and to all vertices of each state so far."""

    vertex: Scaled
    state: Scaled


def new_ways(size: int, states: int) -> Ways:
    """Make room for the ways to so many vertices."""
    return Ways(
        Scaled(np.zeros(size + 1), np.zeros(size + 1, np.int64), np.zeros(size + 1, np.int64)),
        Scaled(np.zeros(states), np.zeros(states, np.int64), np.zeros(states, np.int64)),
    )


def is_free(steps: Steps) -> bool:
    """Whether any event may follow any earlier one wherever the template has a transition."""
    free = (steps.first_test == steps.end_test) & (steps.guard < 0) & (steps.pair < 0)
    return bool(steps.selection == 0 and free.all())


@inlined_late
def rescale(number, exponent, to):
    """A number in terms of another exponent; so small that it does not matter becomes zero."""
    difference = exponent - to
    if difference == 0:
        return number
    if difference < _NO_TRACE or number == 0.0:
        return 0.0
    return number * 2.0**difference


@inlined_late
def add_scaled(number, exponent, other, other_exponent):
    """The sum of two scaled numbers."""
    if other_exponent > exponent and other > 0.0:
        number, exponent, other, other_exponent = other, other_exponent, number, exponent
    number += rescale(other, other_exponent, exponent)
    if number >= LARGE:
        number /= LARGE
        exponent += SHIFT
    return number, exponent


@inlined_late
def add_to_state(ways, state, place):
    """Add the ways to a vertex to those of its state."""
    sums, vertex = ways.state, ways.vertex
    sums.number[state], sums.exponent[state] = add_scaled(
        sums.number[state], sums.exponent[state], vertex.number[place], vertex.exponent[place]
    )
    sums.error[state] = max(sums.error[state], vertex.error[place]) + 1


@inlined_late
def sum_states(steps, state, sums, number):
    """Add the sums of the states that lead to one."""
    exponent, error, added = np.int64(0), np.int64(0), np.int64(1)
    if steps is None:
        return number, exponent, error, added
    for i in range(steps.incoming_starts[state], steps.incoming_starts[state + 1]):
        s = steps.source[steps.incoming[i]]
        number, exponent = add_scaled(number, exponent, sums.number[s], sums.exponent[s])
        error = max(error, sums.error[s])
        added += 1
    return number, exponent, error, added


@inner
def count_ways(graph, steps, bounds, free, marks, ways):
    """Ways to each vertex of a window, and the total. `free`: sums per state do, edges are not looked at."""
    low, high = bounds
    vertex, sums = ways.vertex, ways.state
    sums.number[:] = 0.0
    sums.exponent[:] = 0
    sums.error[:] = 0
    done = low
    total, total_exponent, total_error, ends = 0.0, np.int64(0), np.int64(0), np.int64(0)
    for v in range(low, high):
        heed_stop()
        number = 1.0 if marks[v] & BEGIN else 0.0
        exponent, error, added = np.int64(0), np.int64(0), np.int64(1)
        if free:
            while graph.tick[done] < graph.tick[v]:
                add_to_state(ways, graph.state[done], done)
                done += 1
            number, exponent, error, added = sum_states(steps, graph.state[v], sums, number)
        else:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                number, exponent = add_scaled(number, exponent, vertex.number[u], vertex.exponent[u])
                error = max(error, vertex.error[u])
                added += 1
        error += added
        vertex.number[v], vertex.exponent[v], vertex.error[v] = number, exponent, error
        if marks[v] & FINISH and number > 0.0:
            total, total_exponent = add_scaled(total, total_exponent, number, exponent)
            total_error = max(total_error, error)
            ends += 1
    last = vertex.number.size - 1
    vertex.number[last], vertex.exponent[last], vertex.error[last] = total, total_exponent, total_error + ends + 1


UNDECIDED = -1
#: Roundings of a draw that are not of its sums: of the random number, of its product, and two to spare.
_OWN_ROUNDINGS = 4


@inlined_late
def random_bits(key, step):
    """64 random bits, a function of both (the mixing of SplitMix64)."""
    z = key + np.uint64(step + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner
def mark_at_random(starts, moments, variables, seeds, marks):
    """A number per trend that looks random, and is a function of its seed, times and variables alone."""
    for trend in range(starts.size - 1):
        mark = seeds[trend]
        for i in range(starts[trend], starts[trend + 1]):
            mark = random_bits(mark ^ moments[i], np.int64(variables[i]))
        marks[trend] = mark


@inlined_late
def decide(point, below, above, margin):
    """1 if the point is surely between two sums, 0 if it is surely not below the upper one, else UNDECIDED."""
    if point >= above + margin:
        return 0
    if point > below + margin and point < above - margin:
        return 1
    return UNDECIDED


@inlined_late
def next_option(graph, steps, v, cursor, low, marks):
    """The next vertex that a trend may pass before v (v < 0: at which it may end), as (cursor, vertex); -1: none."""
    if v >= 0:
        return step_back(graph, steps, v, cursor, low)
    cursor -= 1
    while cursor >= low and not marks[cursor] & FINISH:
        cursor -= 1
    return cursor, cursor if cursor >= low else np.int64(-1)


@inlined_late
def draw(graph, steps, bounds, marks, path, vertex, key, unit):
    """One trend, from its last vertex back, into the path. Returns its length, or UNDECIDED.

    vertex  the ways to each vertex
    unit  the relative error of one step of floating point arithmetic; tests make it large
    """
    low, high = bounds
    last = vertex.number.size - 1
    v = np.int64(-1)
    depth = 0
    while True:
        at = last if v < 0 else v
        whole, exponent = vertex.number[at], vertex.exponent[at]
        point = np.float64(random_bits(key, depth)) * 2.0**-64 * whole
        below, terms = 0.0, _OWN_ROUNDINGS
        if v >= 0 and marks[v] & BEGIN:
            above = rescale(1.0, np.int64(0), exponent)
            margin = whole * 2 * (vertex.error[at] + terms) * unit
            # Nothing lies below the first weight.
            answer = decide(point, -1.0 - margin, above, margin)
            if answer < 0:
                return UNDECIDED
            if answer > 0:
                return depth
            below = above
        cursor = high if v < 0 else last_before(graph, v, low)
        while True:
            cursor, u = next_option(graph, steps, v, cursor, low, marks)
            if u < 0:
                return UNDECIDED
            if vertex.number[u] == 0.0:
                continue
            weight = rescale(vertex.number[u], vertex.exponent[u], exponent)
            terms += 1
            margin = whole * 2 * (vertex.error[at] + terms) * unit
            answer = decide(point, -1.0 - margin if below == 0.0 else below, below + weight, margin)
            if answer < 0:
                return UNDECIDED
            if answer > 0:
                break
            below += weight
        path[depth] = u
        depth += 1
        v = u


@inner
def draw_many(graph, steps, bounds, walk, ways, keys, first, unit, starts, vertices):
    """Draws from the first key on into buffers, as many as fit. Returns their number, and whether the next is left
    UNDECIDED."""
    used, drawn = 0, 0
    starts[0] = 0
    for k in range(first, keys.size):
        heed_stop()
        if drawn == starts.size - 1 or used + (bounds[1] - bounds[0]) > vertices.size:
            break
        depth = draw(graph, steps, bounds, walk.marks, walk.path, ways.vertex, keys[k], unit)
        if depth == UNDECIDED:
            return drawn, True
        write_path(walk.path, depth, vertices, used)
        used += depth
        drawn += 1
        starts[drawn] = used
    return drawn, False


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
        self,
        graph: TrendGraph,
        steps: Steps | None,
        bounds: tuple[int, int],
        walk: Walk,
        ways: Ways,
        free: bool,
        unit: float,
    ) -> None:
        self.graph, self.steps, self.bounds, self.walk = graph, steps, bounds, walk
        self.ways, self.free, self.unit = ways, free, unit
        self.exact: list[int] | None = None

    def draws(self, keys: np.ndarray, buffer: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Trends of all keys, in pieces of (starts, vertices)."""
        vertices = np.empty(max(buffer, self.bounds[1] - self.bounds[0]), np.int32)
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
        (low, high), marks = self.bounds, self.walk.marks
        path: list[int] = []
        v = -1
        while True:
            if v < 0:
                options = [u for u in range(high - 1, low - 1, -1) if marks[u] & FINISH]
            else:
                options = self._list_before(v)
            weights = [counts[u - low] for u in options]
            if v >= 0 and marks[v] & BEGIN:
                options, weights = [-1, *options], [1, *weights]
            v = options[_choose(weights, key, len(path))]
            if v < 0:
                return np.array(path[::-1], np.int32)
            path.append(v)

    def _list_before(self, v: int) -> list[int]:
        found = np.empty(self.bounds[1] - self.bounds[0], np.int64)
        return found[: list_before(self.graph, self.steps, v, self.bounds[0], found)].tolist()

    def _count_exactly(self) -> list[int]:
        """Ways to each vertex; counted once, as a draw that needs them rarely comes alone."""
        if self.exact is None:
            (low, high), graph = self.bounds, self.graph
            exact: list[int] = []
            steps = self.steps
            sums = [0] * self.ways.state.number.size
            done = low
            for v in range(low, high):
                ways = int(bool(self.walk.marks[v] & BEGIN))
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
    low, high = find_bounds(graph, np.array([segment]), np.array([window]))
    bounds = int(low[0]), int(high[0])
    mark_window(graph, steps, window, *bounds, mode, walk.marks, walk.longest)
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
