"""Templates without any condition, disjoint windows: one running total per state, a few additions per row (A-Seq,
Section 3.1, prefix counters). The totals are all that a window's past amounts to."""

import numpy as np

from trendweave.kernels.aggregates.sliding_sums import slide_unconditional
from trendweave.kernels.aggregates.state_steps import NOTHING, note, note_product, one_state, reads, steps_of, too_large
from trendweave.kernels.compiling import outer


@outer
def sum_states(
    variable, source_from, sources, final, state_of_letters, letters, tick, window_first, window_last, row_starts,
    row_ends, values, value_states, results, fits, checked,
):  # fmt: skip
    """One window per block: results[b, 0] the number of trends, then the linear aggregates."""
    states = variable.size
    parts = 1 + value_states.shape[0]
    total = np.zeros((states + 1) * parts, results.dtype)
    change = np.zeros((states + 1) * parts, results.dtype)
    zero = results.dtype.type(0)
    for b in range(row_starts.size):
        total[:] = 0
        total[states * parts] = 1
        seen = np.int64(0)
        row = row_starts[b]
        row_end = row_ends[b]
        while row < row_end:
            now = tick[row]
            if row + 1 == row_end or tick[row + 1] != now:
                only = one_state(state_of_letters, letters, row)
                if only == NOTHING or window_first[row] > window_last[row]:
                    row += 1
                    continue
                if only >= 0 and parts == 1:  # the common case: one row, one state, the number of trends
                    count = total[only]
                    for j in range(source_from[only], source_from[only + 1]):
                        count += total[sources[j]]
                        seen = note(seen, count, checked)
                    total[only] = count
                    row += 1
                    continue
            pending = False
            while row < row_end and tick[row] == now:
                if window_first[row] <= window_last[row]:
                    for state in range(states):
                        if not reads(letters, row, variable[state]):
                            continue
                        pending = True
                        at = state * parts
                        count = zero
                        for j in range(source_from[state], source_from[state + 1]):
                            count += total[sources[j] * parts]
                            seen = note(seen, count, checked)
                        change[at] += count
                        seen = note(seen, change[at], checked)
                        for k in range(1, parts):
                            amount = change[at + k]
                            for j in range(source_from[state], source_from[state + 1]):
                                amount += total[sources[j] * parts + k]
                                seen = note(seen, amount, checked)
                            if value_states[k - 1, state]:
                                value = values[k - 1, row]
                                if value != 0 and count != 0:
                                    seen = note_product(seen, value, count, checked)
                                    amount += value * count
                            seen = note(seen, amount, checked)
                            change[at + k] = amount
                row += 1
            if pending:
                for i in range(states * parts):
                    total[i] += change[i]
                    seen = note(seen, total[i], checked)
                    change[i] = 0
        for f in range(final.size):
            for k in range(parts):
                results[b, k] += total[final[f] * parts + k]
                seen = note(seen, results[b, k], checked)
        fits[b] = not too_large(seen)


def sum_unconditional(rows, template, blocks, overlap, values, states, checked):
    """Totals of all windows and whether they fit, for a template without conditions under skip-till-any-match."""
    steps = steps_of(template)
    number = np.float64 if checked is None else np.int64
    results = np.zeros((int(blocks.offset[-1]), 1 + states.shape[0]), number)
    fits = np.ones(results.shape[0], np.bool_)
    if blocks.lanes.size == 0:
        return results, fits
    data = (rows.letters, rows.tick, rows.window_first, rows.window_last)
    if overlap == 1:
        sum_states(*steps, *data, blocks.row_start, blocks.row_end, values, states, results, fits, checked)
        return results, fits
    slide_unconditional(steps, data, blocks, values, states, results, fits, checked)
    return results, fits
