"""Rows added to summaries whose numbers have one word: int64, watched for overflow, or float64."""

import numpy as np

from trendweave.kernels.aggregates.state_steps import NOTHING, note, note_product, one_state, reads, too_large
from trendweave.kernels.compiling import inlined, outer
from trendweave.kernels.folding.blockers import note_resets, take_reset
from trendweave.kernels.stopping import is_to_stop


@inlined
def add_reading(steps, linear, total, change, state, row, lines, checked):
    """change[state] += what the row, read as the state, adds behind the map `total`. Both may be the same array."""
    parts = 1 + linear.values.shape[0]
    begin, end = steps.source_from[state], steps.source_from[state + 1]
    seen = np.int64(0)
    for line in range(lines):
        count = total.dtype.type(0)
        for j in range(begin, end):
            count += total[steps.sources[j] * parts * lines + line]
            seen = note(seen, count, checked)
        at = state * parts * lines + line
        for k in range(1, parts):
            amount = total.dtype.type(0)
            for j in range(begin, end):
                amount += total[(steps.sources[j] * parts + k) * lines + line]
                seen = note(seen, amount, checked)
            if linear.states[k - 1, state] and count != 0:
                value = linear.values[k - 1, row]
                if value != 0:
                    seen = note_product(seen, value, count, checked)
                    amount += value * count
                    seen = note(seen, amount, checked)
            change[at + k * lines] += amount
            seen = note(seen, change[at + k * lines], checked)
        change[at] += count
        seen = note(seen, change[at], checked)
    return seen


@inlined
def add_rows(steps, resets, rows, linear, total, change, row, row_end, lines, checked):
    """The map `total` followed by the rows, tick by tick; returns remembered bits, too many where it gave up."""
    size, states = change.size, steps.variable.size
    seen = np.int64(0)
    while row < row_end:
        now = rows.tick[row]
        if row + 1 == row_end or rows.tick[row + 1] != now:
            only = one_state(steps.state_of_letters, rows.letters, row)
            if only == NOTHING or rows.window_first[row] > rows.window_last[row]:
                row += 1
                continue
            if only >= 0:  # the common case: one row, one state
                seen |= add_reading(steps, linear, total, total, only, row, lines, checked)
                if checked is not None and too_large(seen):
                    return seen
                row += 1
                continue
        pending = False
        while row < row_end and rows.tick[row] == now:
            if rows.window_first[row] <= rows.window_last[row]:
                for state in range(states):
                    if reads(rows.letters, row, steps.variable[state]):
                        pending = True
                        seen |= add_reading(steps, linear, total, change, state, row, lines, checked)
                note_resets(resets, rows.letters, row)
            row += 1
        for r in range(resets.state.size):
            if take_reset(resets, r):
                for i in range(size // states):
                    total[resets.state[r] * (size // states) + i] = 0
        if pending:
            for i in range(size):
                total[i] += change[i]
                seen = note(seen, total[i], checked)
                change[i] = 0
        if checked is not None and too_large(seen):
            return seen
    return seen


@outer
def extend_plain(steps, resets, rows, linear, earlier, earlier_at, out, fits, lines, checked):
    """out[segment] = the numbers at earlier_at[segment] (-1: of no rows) followed by the segment's rows; fits[segment]
    is set where all numbers fit. Segments whose place is below -1 are left alone."""
    states = steps.variable.size
    parts = 1 + linear.values.shape[0]
    size = states * parts * lines
    total = np.zeros(size + parts * lines, out.dtype)
    change = np.zeros(size, out.dtype)
    for segment in range(earlier_at.size):
        if is_to_stop():
            break
        place = earlier_at[segment]
        if place < -1:
            continue
        seen = np.int64(0)
        if place < 0:
            total[:size] = 0
            for line in range(lines - 1):
                total[line * parts * lines + line] = 1
        else:
            for i in range(size):
                total[i] = earlier[place + i]
                seen = note(seen, total[i], checked)
        total[size + lines - 1] = 1  # the empty past, on the line of what begins
        begin, end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        seen |= add_rows(steps, resets, rows, linear, total, change, begin, end, lines, checked)
        if checked is not None and too_large(seen):
            change[:] = 0
            continue
        fits[segment] = True
        for i in range(size):
            out[segment, i] = total[i]
