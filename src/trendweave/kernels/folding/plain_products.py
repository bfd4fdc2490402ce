"""Trends of runs of summaries whose numbers have one word: a vector of beginnings, multiplied by one map after
another."""

import numpy as np

from trendweave.kernels.aggregates.state_steps import note, note_product, too_large
from trendweave.kernels.compiling import inlined, outer
from trendweave.kernels.stopping import is_to_stop


@inlined
def follow_map(numbers, at, vector, following, states, parts, checked):
    """following = what begins in the map, and what the vector had before, followed by the map."""
    lines = states + 1
    seen = np.int64(0)
    for state in range(states):
        for k in range(parts):
            cell = at + (state * parts + k) * lines
            total = numbers[cell + states]
            seen = note(seen, total, checked)
            for before in range(states):
                count = vector[before * parts]
                ways = numbers[at + state * parts * lines + before]
                if count == 0 or ways == 0:
                    continue
                factor = numbers[cell + before]
                if factor != 0:
                    seen = note_product(seen, factor, count, checked)
                    total += count * factor
                    seen = note(seen, total, checked)
                amount = vector[before * parts + k]
                if k > 0 and amount != 0:
                    seen = note_product(seen, amount, ways, checked)
                    total += amount * ways
                    seen = note(seen, total, checked)
            following[state * parts + k] = total
    return seen


@outer
def finish_plain(numbers, starts, width, low, high, order, final, states, parts, lines, out, fits, checked):
    """out[entry] = the number of trends and linear aggregates of summaries low[entry]:high[entry]; fits[entry] is set
    where all numbers fit. `order`: entries by low, then by high; those with the same low go on from each other."""
    vector = np.zeros(states * parts, out.dtype)
    following = np.zeros(states * parts, out.dtype)
    seen, plain, reached = np.int64(0), True, np.int64(0)
    for place in range(order.size):
        if is_to_stop():
            break
        entry = order[place]
        if place == 0 or low[entry] != low[order[place - 1]]:
            seen, plain, reached = np.int64(0), True, low[entry]
            for i in range(states * parts):
                vector[i] = 0
        for number in range(reached, high[entry]):
            plain = plain and width[number] == 1
            if not plain:
                break
            at = starts[number]
            if number == low[entry]:
                for i in range(states * parts):
                    vector[i] = numbers[at + i * lines + lines - 1]
                    seen = note(seen, vector[i], checked)
            else:
                seen |= follow_map(numbers, at, vector, following, states, parts, checked)
                for i in range(states * parts):
                    vector[i] = following[i]
        reached = max(reached, high[entry])
        for f in range(final.size):
            for k in range(parts):
                out[entry, k] += vector[final[f] * parts + k]
                seen = note(seen, out[entry, k], checked)
        fits[entry] = plain and (checked is None or not too_large(seen))
