"""Trends drawn at random, each with the same probability, from exponentially many that are never built.

The number of ways to each vertex is a sum over the vertices before it. A trend is drawn from its last event back: each
step chooses a vertex with probability proportional to its ways. Ways are floats with an exponent of their own, so
probabilities are equal but for the rounding of sums.
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
from trendweave.kernels.lists.walk import new_walk, write_path
from trendweave.kernels.stopping import heed_stop

#: Exponents are multiples of this; a float times 2**512 is still far from the largest.
SHIFT = 512
LARGE = 2.0**SHIFT
#: A number so many powers of two below another leaves no trace in their sum.
_NO_TRACE = -1500


class Ways(NamedTuple):
    """The number of ways from a beginning, `number * 2**exponent`: to each vertex of a window, then the total over all
    ends, and then to all vertices of each state so far."""

    number: np.ndarray
    exponent: np.ndarray


def new_ways(size: int, states: int) -> Ways:
    """Make room for the ways to so many vertices."""
    return Ways(np.zeros(size + 1 + states), np.zeros(size + 1 + states, np.int64))


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
def add_ways(ways, number, exponent, place):
    """Add the ways of a place to a number."""
    return add_scaled(number, exponent, ways.number[place], ways.exponent[place])


@inlined_late
def sum_states(steps, state, ways, total, number):
    """Add the ways of the states that lead to one."""
    exponent = np.int64(0)
    if steps is None:
        return number, exponent
    for source in range(steps.transition.shape[0]):
        if steps.transition[source, state] >= 0:
            number, exponent = add_ways(ways, number, exponent, total + 1 + source)
    return number, exponent


@inner
def count_ways(graph, steps, bounds, free, marks, ways):
    """Ways to each vertex of a window, and the total. `free`: sums per state do, edges are not looked at."""
    low, high = bounds
    last = graph.row.size
    done = low
    total, total_exponent = 0.0, np.int64(0)
    for v in range(low, high):
        heed_stop()
        number, exponent = 1.0 if marks[v] & BEGIN else 0.0, np.int64(0)
        if free:
            while graph.tick[done] < graph.tick[v]:
                at = last + 1 + graph.state[done]
                ways.number[at], ways.exponent[at] = add_ways(ways, ways.number[at], ways.exponent[at], done)
                done += 1
            number, exponent = sum_states(steps, graph.state[v], ways, last, number)
        else:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                number, exponent = add_ways(ways, number, exponent, u)
        ways.number[v], ways.exponent[v] = number, exponent
        if marks[v] & FINISH and number > 0.0:
            total, total_exponent = add_scaled(total, total_exponent, number, exponent)
    ways.number[last], ways.exponent[last] = total, total_exponent


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
def next_option(graph, steps, v, cursor, low, marks):
    """The next vertex that a trend may pass before v (v < 0: at which it may end), as (cursor, vertex); -1: none."""
    if v >= 0:
        return step_back(graph, steps, v, cursor, low)
    cursor -= 1
    while cursor >= low and not marks[cursor] & FINISH:
        cursor -= 1
    return cursor, cursor if cursor >= low else np.int64(-1)


@inlined_late
def draw(graph, steps, bounds, marks, path, ways, key):
    """One trend, from its last vertex back, into the path. Returns its length."""
    low, high = bounds
    at, depth = np.int64(graph.row.size), 0
    v = np.int64(-1)
    while True:
        exponent = ways.exponent[at]
        left = np.float64(random_bits(key, depth)) * 2.0**-64 * ways.number[at]
        if v >= 0 and marks[v] & BEGIN:
            left -= rescale(1.0, np.int64(0), exponent)
            if left < 0.0:
                return depth
        cursor = high if v < 0 else last_before(graph, v, low)
        before = np.int64(-1)
        while left >= 0.0:
            cursor, u = next_option(graph, steps, v, cursor, low, marks)
            if u < 0:
                break
            if ways.number[u] > 0.0:
                before = u
                left -= rescale(ways.number[u], ways.exponent[u], exponent)
        if before < 0:  # sums that were rounded up leave a little more than there is
            return depth
        path[depth] = before
        depth += 1
        at = v = before


@inner
def draw_many(graph, steps, bounds, walk, ways, keys, starts, vertices):
    """Draws from the first key on into buffers, as many as fit. Returns their number."""
    used, drawn = 0, 0
    starts[0] = 0
    while drawn < keys.size and drawn < starts.size - 1 and used + (bounds[1] - bounds[0]) <= vertices.size:
        heed_stop()
        depth = draw(graph, steps, bounds, walk.marks, walk.path, ways, keys[drawn])
        write_path(walk.path, depth, vertices, used)
        used += depth
        drawn += 1
        starts[drawn] = used
    return drawn


#: Trends that are drawn before they are handed on.
_DRAWS_AT_ONCE = 65_536


class WindowSampler:
    """Draws trends of one window of one segment."""

    def __init__(self, graph: TrendGraph, steps: Steps | None, segment: int, window: int, mode: int) -> None:
        """Mark the window, and count the ways to its vertices."""
        low, high = find_bounds(graph, np.array([segment]), np.array([window]))
        self.graph, self.steps, self.bounds, self.walk = graph, steps, (int(low[0]), int(high[0])), new_walk(graph)
        mark_window(graph, steps, window, *self.bounds, mode, self.walk.marks, self.walk.longest)
        self.ways = new_ways(graph.row.size, 0 if steps is None else len(steps.transition))
        free = steps is not None and is_free(steps)
        count_ways(graph, steps, self.bounds, free, self.walk.marks, self.ways)

    def draws(self, keys: np.ndarray, buffer: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Trends of all keys, in pieces of (starts, vertices)."""
        vertices = np.empty(max(buffer, self.bounds[1] - self.bounds[0]), np.int32)
        starts = np.empty(min(keys.size, _DRAWS_AT_ONCE) + 1, np.int64)
        while keys.size:
            drawn = draw_many(self.graph, self.steps, self.bounds, self.walk, self.ways, keys, starts, vertices)
            yield starts[: drawn + 1], vertices[: starts[drawn]]
            keys = keys[drawn:]
