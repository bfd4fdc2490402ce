"""Templates without any condition, disjoint windows: one running total per state, a few additions per row (A-Seq,
Section 3.1, prefix counters). The totals are all that a window's past amounts to.

Two things are as they are because they were measured on 1.5 million rows of SEQ(A, B+, C) with a sum: what a row adds
stands inside the loop over rows, as a function of its own it costs 7 % more; totals are allocated by the kernel, where
the compiler sees that they overlap nothing else, which saves 4 %."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.sliding_sums import slide_unconditional
from trendweave.kernels.aggregates.state_steps import (
    NOTHING,
    build_steps,
    note,
    note_product,
    one_state,
    reads,
    too_large,
)
from trendweave.kernels.compiling import inlined, outer


class StateTotals(NamedTuple):
    """Totals per state, the empty past last, and what the rows of a tick add to them."""

    total: np.ndarray
    change: np.ndarray


@inlined
def add_rows(steps, rows, measures, work, row, row_end, checked):
    """Go over the rows of a window, tick by tick; returns remembered bits, and from which state on all hold nothing."""
    total, change, sources = work.total, work.change, steps.sources
    reach = steps.furthest[steps.variable.size]
    parts = 1 + measures.states.shape[0]
    zero = total.dtype.type(0)
    seen = np.int64(0)
    while row < row_end:
        now = rows.tick[row]
        if row + 1 == row_end or rows.tick[row + 1] != now:
            only = one_state(steps.state_of_letters, rows.letters, row)
            if only == NOTHING or rows.window_first[row] > rows.window_last[row]:
                row += 1
                continue
            if only >= 0 and parts == 1:  # the common case: one row, one state, the number of trends
                count = total[only]
                for j in range(steps.source_from[only], steps.source_from[only + 1]):
                    count += total[sources[j]]
                    seen = note(seen, count, checked)
                total[only] = count
                reach = max(reach, steps.furthest[only])
                row += 1
                continue
        pending = False
        next_reach = reach
        while row < row_end and rows.tick[row] == now:
            if rows.window_first[row] <= rows.window_last[row]:
                for state in range(reach):
                    if not reads(rows.letters, row, steps.variable[state]):
                        continue
                    pending = True
                    at = state * parts
                    count = zero
                    for j in range(steps.source_from[state], steps.source_from[state + 1]):
                        count += total[sources[j] * parts]
                        seen = note(seen, count, checked)
                    change[at] += count
                    seen = note(seen, change[at], checked)
                    next_reach = max(next_reach, steps.furthest[state])
                    for k in range(1, parts):
                        amount = change[at + k]
                        for j in range(steps.source_from[state], steps.source_from[state + 1]):
                            amount += total[sources[j] * parts + k]
                            seen = note(seen, amount, checked)
                        if measures.states[k - 1, state]:
                            value = measures.values[k - 1, row]
                            if value != 0 and count != 0:
                                seen = note_product(seen, value, count, checked)
                                amount += value * count
                        seen = note(seen, amount, checked)
                        change[at + k] = amount
            row += 1
        if pending:
            for i in range(reach * parts):
                total[i] += change[i]
                seen = note(seen, total[i], checked)
                change[i] = 0
        reach = next_reach
    return seen, reach


@outer
def sum_states(steps, rows, blocks, measures, results, fits, checked):
    """One window per block: results[b, 0] the number of trends, then the linear aggregates."""
    states = steps.variable.size
    parts = 1 + measures.states.shape[0]
    work = StateTotals(np.zeros((states + 1) * parts, results.dtype), np.zeros((states + 1) * parts, results.dtype))
    work.total[states * parts] = 1
    for b in range(blocks.row_start.size):
        seen, reach = add_rows(steps, rows, measures, work, blocks.row_start[b], blocks.row_end[b], checked)
        for f in range(steps.final.size):
            if steps.final[f] >= reach:
                break
            for k in range(parts):
                results[b, k] += work.total[steps.final[f] * parts + k]
                seen = note(seen, results[b, k], checked)
        fits[b] = not too_large(seen)
        for i in range(reach * parts):
            work.total[i] = 0


def sum_unconditional(rows, template, blocks, overlap, measures, checked):
    """Totals of all windows and whether they fit, for a template without conditions under skip-till-any-match."""
    steps = build_steps(template)
    number = np.float64 if checked is None else np.int64
    parts = 1 + measures.states.shape[0]
    results = np.zeros((int(blocks.offset[-1]), parts), number)
    fits = np.ones(results.shape[0], np.bool_)
    if blocks.lanes.size == 0:
        return results, fits
    if overlap == 1:
        sum_states(steps, rows, blocks, measures, results, fits, checked)
    else:
        slide_unconditional(steps, rows, blocks, measures, results, fits, checked)
    return results, fits
