"""How many ways lead to each vertex of a window: floats with an exponent of their own and a bound of their error."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined_late, inner
from trendweave.kernels.listing.graph import last_before, step_back
from trendweave.kernels.listing.marks import BEGIN, FINISH
from trendweave.kernels.listing.steps import Steps
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
    low, base, vertex, sums = bounds.low, bounds.base, ways.vertex, ways.state
    sums.number[:] = 0.0
    sums.exponent[:] = 0
    sums.error[:] = 0
    done = low
    total, total_exponent, total_error, ends = 0.0, np.int64(0), np.int64(0), np.int64(0)
    for v in range(low, bounds.high):
        heed_stop()
        number = 1.0 if marks[v - base] & BEGIN else 0.0
        exponent, error, added = np.int64(0), np.int64(0), np.int64(1)
        if free:
            while graph.tick[done] < graph.tick[v]:
                add_to_state(ways, graph.state[done], done - base)
                done += 1
            number, exponent, error, added = sum_states(steps, graph.state[v], sums, number)
        else:
            cursor = last_before(graph, v, low)
            while True:
                cursor, u = step_back(graph, steps, v, cursor, low)
                if u < 0:
                    break
                number, exponent = add_scaled(number, exponent, vertex.number[u - base], vertex.exponent[u - base])
                error = max(error, vertex.error[u - base])
                added += 1
        error += added
        vertex.number[v - base], vertex.exponent[v - base], vertex.error[v - base] = number, exponent, error
        if marks[v - base] & FINISH and number > 0.0:
            total, total_exponent = add_scaled(total, total_exponent, number, exponent)
            total_error = max(total_error, error)
            ends += 1
    last = vertex.number.size - 1
    vertex.number[last], vertex.exponent[last], vertex.error[last] = total, total_exponent, total_error + ends + 1
