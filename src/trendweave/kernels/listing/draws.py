"""Random draws of trends by floats, from the last event back; a draw that floats cannot decide is left UNDECIDED."""

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.graph import last_before, step_back
from trendweave.kernels.listing.marks import BEGIN, FINISH
from trendweave.kernels.listing.walk import write_path
from trendweave.kernels.listing.ways import rescale
from trendweave.kernels.stopping import heed_stop

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


@inlined_late
def decide(point, below, above, margin):
    """1 if the point is surely between two sums, 0 if it is surely not below the upper one, else UNDECIDED."""
    if point >= above + margin:
        return 0
    if point > below + margin and point < above - margin:
        return 1
    return UNDECIDED


@inlined_late
def next_option(graph, steps, v, cursor, bounds, marks):
    """The next vertex that a trend may pass before v (v < 0: at which it may end), as (cursor, vertex); -1: none."""
    if v >= 0:
        return step_back(graph, steps, v, cursor, bounds.low)
    cursor -= 1
    while cursor >= bounds.low and not marks[cursor - bounds.base] & FINISH:
        cursor -= 1
    return cursor, cursor if cursor >= bounds.low else np.int64(-1)


@inlined_late
def draw(graph, steps, bounds, marks, path, vertex, key, unit):
    """One trend, from its last vertex back, into the path. Returns its length, or UNDECIDED.

    vertex  the ways to each vertex
    unit  the relative error of one step of floating point arithmetic; tests make it large
    """
    base, last = bounds.base, vertex.number.size - 1
    v = np.int64(-1)
    depth = 0
    while True:
        at = last if v < 0 else v - base
        whole, exponent = vertex.number[at], vertex.exponent[at]
        point = np.float64(random_bits(key, depth)) * 2.0**-64 * whole
        below, terms = 0.0, _OWN_ROUNDINGS
        if v >= 0 and marks[v - base] & BEGIN:
            above = rescale(1.0, np.int64(0), exponent)
            margin = whole * 2 * (vertex.error[at] + terms) * unit
            # Nothing lies below the first weight.
            answer = decide(point, -1.0 - margin, above, margin)
            if answer < 0:
                return UNDECIDED
            if answer > 0:
                return depth
            below = above
        cursor = bounds.high if v < 0 else last_before(graph, v, bounds.low)
        while True:
            cursor, u = next_option(graph, steps, v, cursor, bounds, marks)
            if u < 0:
                return UNDECIDED
            if vertex.number[u - base] == 0.0:
                continue
            weight = rescale(vertex.number[u - base], vertex.exponent[u - base], exponent)
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
        if drawn == starts.size - 1 or used + (bounds.high - bounds.low) > vertices.size:
            break
        depth = draw(graph, steps, bounds, walk.marks, walk.path, ways.vertex, keys[k], unit)
        if depth == UNDECIDED:
            return drawn, True
        write_path(walk.path, depth, vertices, used)
        used += depth
        drawn += 1
        starts[drawn] = used
    return drawn, False
