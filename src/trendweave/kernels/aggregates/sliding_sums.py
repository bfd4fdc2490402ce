"""Templates without any condition, overlapping windows: sliding totals whose cost does not grow with the overlap.

Rows act on the totals per state as sparse matrices, so a window is a product of matrices, and a queue of two stacks
gives all windows without multiplying any: the newer rows are kept as one matrix `newer` to which a row is appended,
the older ones as row vectors `older[row]` = what the rows from there to the turning point make of an empty past. A
row is appended once and prepended at most once, whatever the overlap; a window costs one dot product. Totals carry
their linear aggregates along as dual numbers (total, total of the aggregate)."""

import numpy as np

from trendweave.kernels.aggregates.sliding_one_state import slide_one_state
from trendweave.kernels.aggregates.state_steps import (
    LARGEST_BITS,
    SEVERAL,
    note,
    note_all,
    note_product,
    one_state,
    reads,
    too_large,
)
from trendweave.kernels.compiling import inner, outer


@inner
def row_size(states):
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


@inner
def append_one(matrix, state, sources, begin, end, size, checked):
    """matrix[state] += the sum of the sources' rows; the state itself comes first, if it is one of them."""
    seen = np.int64(0)
    for j in range(begin, end):
        seen |= add_row_to_row(matrix, state * size, sources[j] * size, size, checked)
    return seen


@inner
def prepend_one(matrix, state, sources, begin, end, size, checked):
    """matrix[s] += matrix[state] for each source s; the state itself comes last, if it is one of them."""
    seen = np.int64(0)
    for j in range(end - 1, begin - 1, -1):
        seen |= add_row_to_row(matrix, sources[j] * size, state * size, size, checked)
    return seen


@inner
def append_row(matrix, change, state, row, source_from, sources, size, parts, values, value_states, checked):
    """change[state] += what `row`, read as `state`, adds behind the matrix (stored column by column)."""
    seen = np.int64(0)
    for i in range(size):
        count = matrix.dtype.type(0)
        for j in range(source_from[state], source_from[state + 1]):
            count += matrix[sources[j] * size + i]
            seen = note(seen, count, checked)
        change[state * size + i] += count
        seen = note(seen, change[state * size + i], checked)
        for k in range(1, parts):
            at = (k * size + state) * size + i
            amount = change[at]
            for j in range(source_from[state], source_from[state + 1]):
                amount += matrix[(k * size + sources[j]) * size + i]
                seen = note(seen, amount, checked)
            if value_states[k - 1, state] and count != 0:
                value = values[k - 1, row]
                if value != 0:
                    seen = note_product(seen, value, count, checked)
                    amount += value * count
            seen = note(seen, amount, checked)
            change[at] = amount
    return seen


@inner
def prepend_row(matrix, change, state, row, source_from, sources, size, parts, values, value_states, checked):
    """change[s] += what `row`, read as `state`, adds in front of the matrix (stored row by row), for each source s."""
    seen = np.int64(0)
    for j in range(source_from[state], source_from[state + 1]):
        source = sources[j]
        for i in range(size):
            count = matrix[state * size + i]
            change[source * size + i] += count
            seen = note(seen, change[source * size + i], checked)
            for k in range(1, parts):
                amount = matrix[(k * size + state) * size + i]
                if value_states[k - 1, state] and count != 0:
                    value = values[k - 1, row]
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


@inner
def append_rows(begin, end, matrix, change, size, variable, source_from, sources, state_of_letters, letters, tick,
                window_first, window_last, parts, values, value_states, checked):  # fmt: skip
    """Append rows [begin, end), tick by tick."""
    seen = np.int64(0)
    row = begin
    while row < end:
        now = tick[row]
        if parts == 1 and (row + 1 == end or tick[row + 1] != now) and window_first[row] <= window_last[row]:
            state = one_state(state_of_letters, letters, row)
            if state != SEVERAL:
                if state >= 0:
                    seen |= append_one(
                        matrix, state, sources, source_from[state], source_from[state + 1], size, checked
                    )
                row += 1
                continue
        pending = False
        while row < end and tick[row] == now:
            if window_first[row] <= window_last[row]:
                for state in range(variable.size):
                    if reads(letters, row, variable[state]):
                        pending = True
                        seen |= append_row(
                            matrix, change, state, row, source_from, sources, size, parts, values, value_states, checked
                        )
            row += 1
        if pending:
            seen |= settle_changes(matrix, change, checked)
    return seen


@inner
def prepend_rows(begin, end, matrix, change, size, variable, source_from, sources, state_of_letters, letters, tick,
                 window_first, window_last, parts, values, value_states, older, checked):  # fmt: skip
    """Prepend rows [begin, end) from the last to the first; where a window may begin, keep the empty past's row of the
    matrix in `older`. Returns the last row at which a number was too large, or -1."""
    bad = np.int64(-1)
    past = variable.size
    row = end - 1
    while row >= begin:
        now = tick[row]
        seen = np.int64(0)
        state = np.int64(SEVERAL)
        if parts == 1 and (row == begin or tick[row - 1] != now) and window_first[row] <= window_last[row]:
            state = one_state(state_of_letters, letters, row)
        if state != SEVERAL:
            if state >= 0:
                seen = prepend_one(matrix, state, sources, source_from[state], source_from[state + 1], size, checked)
            row -= 1
        else:
            pending = False
            while row >= begin and tick[row] == now:
                if window_first[row] <= window_last[row]:
                    for state in range(past):
                        if reads(letters, row, variable[state]):
                            pending = True
                            seen |= prepend_row(
                                matrix, change, state, row, source_from, sources, size, parts, values, value_states,
                                checked,
                            )  # fmt: skip
                row -= 1
            if pending:
                seen |= settle_changes(matrix, change, checked)
        if bad < 0 and too_large(seen):
            bad = row + 1
        if row < begin or window_last[row] != window_last[row + 1]:
            at = (row + 1 - begin) * parts * size
            for k in range(parts):
                for i in range(size):
                    older[at + k * size + i] = matrix[(k * size + past) * size + i]
    return bad


@outer
def slide_states(
    variable, source_from, sources, final, state_of_letters, letters, tick, window_first, window_last, segments,
    row_starts, row_ends, windows, lanes, offsets, values, value_states, older, results, fits, checked,
):  # fmt: skip
    """All windows of all blocks, in order: results[offset + lane]; fits[offset + lane]."""
    states = variable.size
    size = row_size(states)
    parts = 1 + value_states.shape[0]
    newer = np.zeros(parts * size * size, results.dtype)
    matrix = np.zeros(parts * size * size, results.dtype)
    change = np.zeros(parts * size * size, results.dtype)
    middle = np.int64(0)  # rows [begin, middle) are old, [middle, end) are new
    end = np.int64(0)
    older_from = np.int64(0)
    bad_before = np.int64(-1)
    seen = np.int64(0)
    for b in range(lanes.size):
        begin = row_starts[b]
        if b == 0 or segments[b] != segments[b - 1]:
            middle = begin
            end = begin
            set_identity(newer, size)
            seen = np.int64(0)
        for lane in range(lanes[b]):
            window = windows[b] + lane
            while begin < row_ends[b] and window_last[begin] < window:
                begin += 1
            reach = max(end, begin)
            while reach < row_ends[b] and window_first[reach] <= window:
                reach += 1
            if begin > middle:
                set_identity(matrix, size)
                bad_before = prepend_rows(
                    begin, reach, matrix, change, size, variable, source_from, sources, state_of_letters, letters, tick,
                    window_first, window_last, parts, values, value_states, older, checked,
                )  # fmt: skip
                older_from = begin
                middle = reach
                set_identity(newer, size)
                seen = np.int64(0)
            elif end < reach:
                seen |= append_rows(
                    end, reach, newer, change, size, variable, source_from, sources, state_of_letters, letters, tick,
                    window_first, window_last, parts, values, value_states, checked,
                )  # fmt: skip
            end = reach
            out = offsets[b] + lane
            answer_seen = seen
            bound = 0.0
            for f in range(final.size):
                column = final[f] * size
                if begin >= middle:
                    for k in range(parts):
                        results[out, k] += newer[k * size * size + column + states]
                        answer_seen = note(answer_seen, results[out, k], checked)
                    continue
                at = (begin - older_from) * parts * size
                for i in range(states + 1):
                    left = older[at + i]
                    right = newer[column + i]
                    if left != 0 and right != 0:
                        results[out, 0] += left * right
                        bound += np.float64(left) * np.float64(right)
                    for k in range(1, parts):
                        more = newer[k * size * size + column + i]
                        if left != 0 and more != 0:
                            results[out, k] += left * more
                            bound += abs(np.float64(left) * np.float64(more))
                        more = older[at + k * size + i]
                        if right != 0 and more != 0:
                            results[out, k] += more * right
                            bound += abs(np.float64(more) * np.float64(right))
            fits[out] = not too_large(answer_seen) and bound < 2.0**LARGEST_BITS
            if begin < middle and begin <= bad_before:
                fits[out] = False


@inner
def longest_window(row_start, row_end):
    """Rows of the largest block: an upper bound for the rows of a window."""
    most = 0
    for b in range(row_start.size):
        most = max(most, row_end[b] - row_start[b])
    return most


def slide_unconditional(steps, data, blocks, values, states, results, fits, checked) -> None:
    """Fill results and fits for all windows of all blocks."""
    longest = int(longest_window(blocks.row_start, blocks.row_end))
    begins, ends = bool((steps.sources == 1).any()), steps.final.size == 1
    if len(steps.variable) == 1 and begins and ends and states.shape[0] == 0:
        repeats = bool((steps.sources == 0).any())
        slide_one_state(
            int(steps.variable[0]), repeats, *data, blocks.segment, blocks.row_start, blocks.row_end, blocks.window,
            blocks.lanes, blocks.offset, np.empty(longest, results.dtype), results, fits,
        )  # fmt: skip
        return
    older = np.empty(longest * (1 + states.shape[0]) * row_size(len(steps.variable)), results.dtype)
    slide_states(
        *steps, *data, blocks.segment, blocks.row_start, blocks.row_end, blocks.window, blocks.lanes, blocks.offset,
        values, states, older, results, fits, checked,
    )  # fmt: skip
