"""Rows as sparse matrices that act on the totals per state: one more row behind a product of them, or in front of it.

A matrix has a line per state and one for the empty past, padded to whole vector registers, and as many such parts as
there are numbers: the count of trends, then linear aggregates as dual numbers."""

import numpy as np

from trendweave.kernels.aggregates.state_steps import note, note_all, note_product
from trendweave.kernels.compiling import inlined, inner


@inner
def pad_states(states):
    """Numbers in a row of a matrix: one per state and one for the empty past."""
    return (states + 4) // 4 * 4


@inner
def add_row_to_row(matrix, to, source, size, checked):
    """matrix[to] += matrix[source], rows padded to multiples of four: whole vector registers."""
    seen = np.int64(0)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(0, size, 4):
        t = np.uint64(to + i)
        s = np.uint64(source + i)
        a = matrix[t] + matrix[s]
        b = matrix[t + one] + matrix[s + one]
        c = matrix[t + two] + matrix[s + two]
        d = matrix[t + three] + matrix[s + three]
        matrix[t] = a
        matrix[t + one] = b
        matrix[t + two] = c
        matrix[t + three] = d
        seen = note_all(seen, a, b, c, d, checked)
    return seen


@inlined
def append_one(steps, matrix, state, size, checked):
    """matrix[state] += the sum of the sources' rows; the state itself comes first, if it is one of them."""
    seen = np.int64(0)
    for j in range(steps.source_from[state], steps.source_from[state + 1]):
        seen |= add_row_to_row(matrix, state * size, steps.sources[j] * size, size, checked)
    return seen


@inlined
def prepend_one(steps, matrix, state, size, checked):
    """matrix[s] += matrix[state] for each source s; the state itself comes last, if it is one of them."""
    seen = np.int64(0)
    for j in range(steps.source_from[state + 1] - 1, steps.source_from[state] - 1, -1):
        seen |= add_row_to_row(matrix, steps.sources[j] * size, state * size, size, checked)
    return seen


@inlined
def append_row(steps, measures, matrix, change, state, row, size, checked):
    """change[state] += what `row`, read as `state`, adds behind the matrix (stored column by column)."""
    sources = steps.sources
    begin, end = steps.source_from[state], steps.source_from[state + 1]
    seen = np.int64(0)
    for i in range(size):
        count = matrix.dtype.type(0)
        for j in range(begin, end):
            count += matrix[sources[j] * size + i]
            seen = note(seen, count, checked)
        change[state * size + i] += count
        seen = note(seen, change[state * size + i], checked)
        for k in range(1, 1 + measures.states.shape[0]):
            at = (k * size + state) * size + i
            amount = change[at]
            for j in range(begin, end):
                amount += matrix[(k * size + sources[j]) * size + i]
                seen = note(seen, amount, checked)
            if measures.states[k - 1, state] and count != 0:
                value = measures.values[k - 1, row]
                if value != 0:
                    seen = note_product(seen, value, count, checked)
                    amount += value * count
            seen = note(seen, amount, checked)
            change[at] = amount
    return seen


@inlined
def prepend_row(steps, measures, matrix, change, state, row, size, checked):
    """change[s] += what `row`, read as `state`, adds in front of the matrix (stored row by row), for each source s."""
    seen = np.int64(0)
    for j in range(steps.source_from[state], steps.source_from[state + 1]):
        source = steps.sources[j]
        for i in range(size):
            count = matrix[state * size + i]
            change[source * size + i] += count
            seen = note(seen, change[source * size + i], checked)
            for k in range(1, 1 + measures.states.shape[0]):
                amount = matrix[(k * size + state) * size + i]
                if measures.states[k - 1, state] and count != 0:
                    value = measures.values[k - 1, row]
                    if value != 0:
                        seen = note_product(seen, value, count, checked)
                        amount += value * count
                seen = note(seen, amount, checked)
                change[(k * size + source) * size + i] += amount
                seen = note(seen, change[(k * size + source) * size + i], checked)
    return seen


@inner
def settle_changes(matrix, change, checked):
    """matrix += change; change = 0."""
    seen = np.int64(0)
    for i in range(matrix.size):
        matrix[i] += change[i]
        seen = note(seen, matrix[i], checked)
        change[i] = 0
    return seen


@inner
def set_identity(matrix, size):
    """The matrix of no rows."""
    matrix[:] = 0
    for i in range(size):
        matrix[i * size + i] = 1
