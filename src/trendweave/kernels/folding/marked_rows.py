"""Extrema, and marks of what is no number, of rows added to summaries. Here only matters whether there is a way from a
state before to a state after, not how many."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import reads
from trendweave.kernels.compiling import inlined, inner, outer
from trendweave.kernels.folding.summaries import KNOWN


class Marked(NamedTuple):
    """A map by [state after, line]: whether there is a way; and [state after, number, line]: marks and codes."""

    there: np.ndarray
    marks: np.ndarray  # of sums of floats, then of extrema
    codes: np.ndarray


@inner
def add_marks(to, at, source, source_at, odd, line):
    """What either of two sets of ways leads over."""
    for m in range(odd):
        to.marks[at, m, line] |= source.marks[source_at, m, line]
    for x in range(source.codes.shape[1]):
        if source.marks[source_at, odd + x, line] & KNOWN:
            offer_code(to.marks, to.codes, at, odd, x, line, source.codes[source_at, x, line])


@inner
def offer_code(marks, codes, at, odd, x, line, code):
    if not marks[at, odd + x, line] & KNOWN or code > codes[at, x, line]:
        codes[at, x, line] = code
        marks[at, odd + x, line] |= KNOWN


@inlined
def mark_reading(steps, values, total, change, state, row, lines):
    """change[state] |= what the row, read as the state, adds behind the map `total`. Both may be the same."""
    odd = values.mark_states.shape[0]
    for line in range(lines):
        reached = False
        for j in range(steps.source_from[state], steps.source_from[state + 1]):
            source = steps.sources[j]
            if total.there[source, line]:
                reached = True
                add_marks(change, state, total, source, odd, line)
        if reached:
            change.there[state, line] = True
            for m in range(odd):
                if values.mark_states[m, state]:
                    change.marks[state, m, line] |= values.marks[m, row]
            for x in range(values.codes.shape[0]):
                if values.code_states[x, state] and values.known[x, row]:
                    offer_code(change.marks, change.codes, state, odd, x, line, values.codes[x, row])


@outer
def extend_marked(
    steps, rows, values, there, which, earlier_marks, earlier_codes, out_marks, out_codes, only_beginnings
):
    """Marks and codes of each segment. `there` bool[earlier, states, lines]: where the earlier ones have ways."""
    states, odd, extrema = steps.variable.size, values.mark_states.shape[0], values.codes.shape[0]
    lines = 1 if only_beginnings else states + 1
    shape = (states + 1, odd + extrema, lines)
    total = Marked(np.zeros((states + 1, lines), np.bool_), np.zeros(shape, np.uint8),
                   np.zeros((states + 1, extrema, lines), np.int64))  # fmt: skip
    change = Marked(np.zeros((states + 1, lines), np.bool_), np.zeros(shape, np.uint8),
                    np.zeros((states + 1, extrema, lines), np.int64))  # fmt: skip
    for segment in range(which.size):
        number = which[segment]
        total.there[:] = False
        if number < 0:
            total.marks[:] = 0
            total.codes[:] = 0
            for line in range(lines - 1):
                total.there[line, line] = True
        else:
            total.there[:states] = there[number]
            total.marks[:states] = earlier_marks[number]
            total.codes[:states] = earlier_codes[number]
        total.there[states, lines - 1] = True
        row, row_end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        while row < row_end:
            now = rows.tick[row]
            pending = False
            while row < row_end and rows.tick[row] == now:
                if rows.window_first[row] <= rows.window_last[row]:
                    for state in range(states):
                        if reads(rows.letters, row, steps.variable[state]):
                            pending = True
                            mark_reading(steps, values, total, change, state, row, lines)
                row += 1
            if pending:
                for state in range(states):
                    for line in range(lines):
                        if change.there[state, line]:
                            total.there[state, line] = True
                            add_marks(total, state, change, state, odd, line)
                            change.there[state, line] = False
                            for m in range(odd + extrema):
                                change.marks[state, m, line] = 0
        out_marks[segment] = total.marks[:states]
        out_codes[segment] = total.codes[:states]
