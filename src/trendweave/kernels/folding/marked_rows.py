"""Extrema, and marks of what is no number, of rows added to summaries. Here only matters whether there is a way from a
state before to a state after, not how many."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import NOTHING, one_state, reads
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.folding.blockers import note_resets, take_reset
from trendweave.kernels.folding.summaries import KNOWN
from trendweave.kernels.stopping import heed_stop


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


def make_marked(states: int, marks: int, extrema: int, lines: int) -> Marked:
    return Marked(
        np.zeros((states, lines), np.bool_),
        np.zeros((states, marks, lines), np.uint8),
        np.zeros((states, extrema, lines), np.int64),
    )


@inlined
def load_marks(total, there, marks, codes, number):
    """The map with the given number among the earlier ones (-1: that of no rows)."""
    lines = total.there.shape[1]
    for state in range(total.there.shape[0] - 1):
        for line in range(lines):
            total.there[state, line] = there[number, state, line] if number >= 0 else lines > 1 and state == line
            for m in range(total.marks.shape[1]):
                total.marks[state, m, line] = marks[number, state, m, line] if number >= 0 else 0
            for x in range(total.codes.shape[1]):
                total.codes[state, x, line] = codes[number, state, x, line] if number >= 0 else 0


@inner
def extend_marked(steps, resets, rows, values, total, change, there, which, earlier_marks, earlier_codes, marks, codes):
    """Marks and codes of each segment. `there` bool[earlier, states, lines]: where the earlier ones have ways. `total`
    and `change` are empty maps with one state more, the empty past."""
    states, lines, odd = steps.variable.size, total.there.shape[1], values.mark_states.shape[0]
    total.there[states, lines - 1] = True
    for segment in range(which.size):
        load_marks(total, there, earlier_marks, earlier_codes, which[segment])
        row, row_end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        while row < row_end:
            heed_stop()
            now = rows.tick[row]
            if row + 1 == row_end or rows.tick[row + 1] != now:
                only = one_state(steps.state_of_letters, rows.letters, row)
                if only == NOTHING or rows.window_first[row] > rows.window_last[row]:
                    row += 1
                    continue
                if only >= 0:  # the common case: one row, one state
                    mark_reading(steps, values, total, total, only, row, lines)
                    row += 1
                    continue
            pending = False
            while row < row_end and rows.tick[row] == now:
                if rows.window_first[row] <= rows.window_last[row]:
                    for state in range(states):
                        if reads(rows.letters, row, steps.variable[state]):
                            pending = True
                            mark_reading(steps, values, total, change, state, row, lines)
                    note_resets(resets, rows.letters, row)
                row += 1
            for r in range(resets.state.size):
                if take_reset(resets, r):
                    for line in range(lines):
                        total.there[resets.state[r], line] = False
                        for m in range(total.marks.shape[1]):
                            total.marks[resets.state[r], m, line] = 0
            if pending:
                for state in range(states):
                    for line in range(lines):
                        if change.there[state, line]:
                            total.there[state, line] = True
                            add_marks(total, state, change, state, odd, line)
                            change.there[state, line] = False
                            for m in range(change.marks.shape[1]):
                                change.marks[state, m, line] = 0
        for state in range(states):
            for line in range(lines):
                for m in range(marks.shape[2]):
                    marks[segment, state, m, line] = total.marks[state, m, line]
                for x in range(codes.shape[2]):
                    codes[segment, state, x, line] = total.codes[state, x, line]
