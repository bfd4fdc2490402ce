"""Templates without any condition, overlapping windows: sliding totals whose cost does not grow with the overlap.

Rows act on the totals per state as sparse matrices, so a window is a product of matrices, and a queue of two stacks
gives all windows without multiplying any: the newer rows are kept as one matrix `newer` to which a row is appended,
the older ones as row vectors `older[row]` = what the rows from there to the turning point make of an empty past. A
row is appended once and prepended at most once, whatever the overlap; a window costs one dot product. Totals carry
their linear aggregates along as dual numbers (total, total of the aggregate)."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.one_state.sliding import OneState, slide_one_state
from trendweave.kernels.aggregates.sliding_matrices import (
    append_one,
    append_row,
    pad_states,
    prepend_one,
    prepend_row,
    set_identity,
    settle_changes,
)
from trendweave.kernels.aggregates.state_steps import LARGEST_BITS, SEVERAL, note, one_state, reads, too_large
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.stopping import heed_stop


class Matrices(NamedTuple):
    """Scratch memory: what the newer rows do, what older ones do while they are gone through, changes of a tick, and
    the rows of the empty past that are kept of older ones."""

    newer: np.ndarray
    matrix: np.ndarray
    change: np.ndarray
    older: np.ndarray


@inlined
def is_counted(rows, row):
    """Whether a row lies in any window."""
    return rows.window_first[row] <= rows.window_last[row]


@inlined
def append_rows(steps, rows, measures, work, size, begin, end, checked):
    """Append rows [begin, end) to `newer`, tick by tick."""
    counting = measures.states.shape[0] == 0
    seen = np.int64(0)
    row = begin
    while row < end:
        now = rows.tick[row]
        if counting and (row + 1 == end or rows.tick[row + 1] != now) and is_counted(rows, row):
            state = one_state(steps.state_of_letters, rows.letters, row)
            if state != SEVERAL:
                if state >= 0:
                    seen |= append_one(steps, work.newer, state, size, checked)
                row += 1
                continue
        pending = False
        while row < end and rows.tick[row] == now:
            if is_counted(rows, row):
                for state in range(steps.variable.size):
                    if reads(rows.letters, row, steps.variable[state]):
                        pending = True
                        seen |= append_row(steps, measures, work.newer, work.change, state, row, size, checked)
            row += 1
        if pending:
            seen |= settle_changes(work.newer, work.change, checked)
    return seen


@inlined
def prepend_rows(steps, rows, measures, work, size, begin, end, checked):
    """Prepend rows [begin, end) to `matrix` from the last to the first; where a window may begin, keep the empty
    past's row of the matrix in `older`. Returns the last row at which a number was too large, or -1."""
    parts = 1 + measures.states.shape[0]
    bad = np.int64(-1)
    past = steps.variable.size
    row = end - 1
    while row >= begin:
        now = rows.tick[row]
        seen = np.int64(0)
        state = np.int64(SEVERAL)
        if parts == 1 and (row == begin or rows.tick[row - 1] != now) and is_counted(rows, row):
            state = one_state(steps.state_of_letters, rows.letters, row)
        if state != SEVERAL:
            if state >= 0:
                seen = prepend_one(steps, work.matrix, state, size, checked)
            row -= 1
        else:
            pending = False
            while row >= begin and rows.tick[row] == now:
                if is_counted(rows, row):
                    for state in range(past):
                        if reads(rows.letters, row, steps.variable[state]):
                            pending = True
                            seen |= prepend_row(steps, measures, work.matrix, work.change, state, row, size, checked)
                row -= 1
            if pending:
                seen |= settle_changes(work.matrix, work.change, checked)
        if bad < 0 and too_large(seen):
            bad = row + 1
        if row < begin or rows.window_last[row] != rows.window_last[row + 1]:
            at = (row + 1 - begin) * parts * size
            for k in range(parts):
                for i in range(size):
                    work.older[at + k * size + i] = work.matrix[(k * size + past) * size + i]
    return bad


@inlined
def add_new_totals(steps, newer, size, parts, results, out, seen, checked):
    """results[out] += the totals of a window of new rows only; returns the remembered bits."""
    for f in range(steps.final.size):
        column = steps.final[f] * size
        for k in range(parts):
            results[out, k] += newer[k * size * size + column + steps.variable.size]
            seen = note(seen, results[out, k], checked)
    return seen


@inlined
def add_joined_totals(steps, work, size, parts, at, results, out):
    """results[out] += the totals of a window whose old rows begin at older[at]; returns a bound in floats."""
    older, newer = work.older, work.newer
    bound = 0.0
    for f in range(steps.final.size):
        column = steps.final[f] * size
        for i in range(steps.variable.size + 1):
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
    return bound


@inner
def slide_states(steps, rows, blocks, measures, work, results, fits, checked):
    """All windows of all blocks, in order: results[offset + lane]; fits[offset + lane]."""
    size = pad_states(steps.variable.size)
    parts = 1 + measures.states.shape[0]
    middle = np.int64(0)  # rows [begin, middle) are old, [middle, end) are new
    end = np.int64(0)
    older_from = np.int64(0)
    bad_before = np.int64(-1)
    seen = np.int64(0)
    for b in range(blocks.lanes.size):
        begin = blocks.row_start[b]
        if b == 0 or blocks.segment[b] != blocks.segment[b - 1]:
            middle = begin
            end = begin
            set_identity(work.newer, size)
            seen = np.int64(0)
        for lane in range(blocks.lanes[b]):
            heed_stop()
            window = blocks.window[b] + lane
            while begin < blocks.row_end[b] and rows.window_last[begin] < window:
                begin += 1
            reach = max(end, begin)
            while reach < blocks.row_end[b] and rows.window_first[reach] <= window:
                reach += 1
            if begin > middle:
                set_identity(work.matrix, size)
                bad_before = prepend_rows(steps, rows, measures, work, size, begin, reach, checked)
                older_from = begin
                middle = reach
                set_identity(work.newer, size)
                seen = np.int64(0)
            elif end < reach:
                seen |= append_rows(steps, rows, measures, work, size, end, reach, checked)
            end = reach
            out = blocks.offset[b] + lane
            if begin >= middle:
                answer_seen = add_new_totals(steps, work.newer, size, parts, results, out, seen, checked)
                fits[out] = not too_large(answer_seen)
            else:
                at = (begin - older_from) * parts * size
                bound = add_joined_totals(steps, work, size, parts, at, results, out)
                fits[out] = not too_large(seen) and bound < 2.0**LARGEST_BITS and begin > bad_before


@inner
def find_longest_window(row_start, row_end):
    """Rows of the largest block: an upper bound for the rows of a window."""
    most = 0
    for b in range(row_start.size):
        most = max(most, row_end[b] - row_start[b])
    return most


def slide_unconditional(steps, rows, blocks, measures, results, fits, checked) -> None:
    """Fill results and fits for all windows of all blocks."""
    longest = int(find_longest_window(blocks.row_start, blocks.row_end))
    begins, ends = bool((steps.sources == 1).any()), steps.final.size == 1
    if len(steps.variable) == 1 and begins and ends and measures.states.shape[0] == 0:
        state = OneState(int(steps.variable[0]), bool((steps.sources == 0).any()))
        slide_one_state(state, rows, blocks, np.empty(longest, results.dtype), results, fits)
        return
    size = pad_states(len(steps.variable))
    parts = 1 + measures.states.shape[0]
    work = Matrices(
        *(np.zeros(parts * size * size, results.dtype) for _ in range(3)),
        np.empty(longest * parts * size, results.dtype),
    )
    slide_states(steps, rows, blocks, measures, work, results, fits, checked)
