"""Templates without any condition, disjoint windows: one running total per state, a few additions per row (A-Seq,
Section 3.1, prefix counters). The totals are all that a window's past amounts to."""

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
from trendweave.kernels.compiling import inlined, inner


class StateTotals(NamedTuple):
    """Totals per state, the empty past last, and what the rows of a tick add to them."""

    total: np.ndarray
    change: np.ndarray


@inlined
def add_row(steps, rows, measures, work, row, checked):
    """change += what a row adds to the totals of every state that may read it: whether there is one, remembered
    bits."""
    total, change, sources = work.total, work.change, steps.sources
    parts = 1 + measures.states.shape[0]
    seen = np.int64(0)
    read = False
    for state in range(steps.variable.size):
        if not reads(rows.letters, row, steps.variable[state]):
            continue
        read = True
        begin, end = steps.source_from[state], steps.source_from[state + 1]
        at = state * parts
        count = total.dtype.type(0)
        for j in range(begin, end):
            count += total[sources[j] * parts]
            seen = note(seen, count, checked)
        change[at] += count
        seen = note(seen, change[at], checked)
        for k in range(1, parts):
            amount = change[at + k]
            for j in range(begin, end):
                amount += total[sources[j] * parts + k]
                seen = note(seen, amount, checked)
            if measures.states[k - 1, state]:
                value = measures.values[k - 1, row]
                if value != 0 and count != 0:
                    seen = note_product(seen, value, count, checked)
                    amount += value * count
            seen = note(seen, amount, checked)
            change[at + k] = amount
    return read, seen


@inlined
def add_rows(steps, rows, measures, work, row, row_end, checked):
    """Go over the rows of a window, tick by tick; returns remembered bits."""
    total, change = work.total, work.change
    parts = 1 + measures.states.shape[0]
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
                    count += total[steps.sources[j]]
                    seen = note(seen, count, checked)
                total[only] = count
                row += 1
                continue
        pending = False
        while row < row_end and rows.tick[row] == now:
            if rows.window_first[row] <= rows.window_last[row]:
                read, more = add_row(steps, rows, measures, work, row, checked)
                pending |= read
                seen |= more
            row += 1
        if pending:
            for i in range(steps.variable.size * parts):
                total[i] += change[i]
                seen = note(seen, total[i], checked)
                change[i] = 0
    return seen


@inner
def sum_states(steps, rows, blocks, measures, work, results, fits, checked):
    """One window per block: results[b, 0] the number of trends, then the linear aggregates."""
    states = steps.variable.size
    parts = 1 + measures.states.shape[0]
    for b in range(blocks.row_start.size):
        work.total[:] = 0
        work.total[states * parts] = 1
        seen = add_rows(steps, rows, measures, work, blocks.row_start[b], blocks.row_end[b], checked)
        for f in range(steps.final.size):
            for k in range(parts):
                results[b, k] += work.total[steps.final[f] * parts + k]
                seen = note(seen, results[b, k], checked)
        fits[b] = not too_large(seen)


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
        size = (len(steps.variable) + 1) * parts
        work = StateTotals(np.zeros(size, number), np.zeros(size, number))
        sum_states(steps, rows, blocks, measures, work, results, fits, checked)
    else:
        slide_unconditional(steps, rows, blocks, measures, results, fits, checked)
    return results, fits
