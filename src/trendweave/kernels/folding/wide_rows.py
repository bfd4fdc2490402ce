"""Rows added to summaries whose numbers need several words, as many as they have come to need.

How many bits numbers have at most is carried along as two plain numbers, for counts and for sums. Only when these say
that words might not do, the bits are counted; and only when they are really short of room, a word is added.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import NOTHING as NO_STATE
from trendweave.kernels.aggregates.state_steps import StateSteps, one_state, reads
from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.folding.blockers import note_resets, take_reset
from trendweave.kernels.folding.row_values import FLOAT_BITS, NO_EXPONENT
from trendweave.kernels.folding.words import (
    NOTHING,
    add_one,
    add_product,
    add_words,
    bits_of_word,
    copy_words,
    most_bits,
    shift_left,
)
from trendweave.kernels.stopping import heed_stop

ONE_WORD = np.ones(1, np.uint64)
SPARE_BITS = 24  # so much room is made at least, when a word is added or bits are counted


class WideWork(NamedTuple):
    """A map of numbers of at most `room` words, each at its own place, and what the rows of a tick add to it."""

    total: np.ndarray  # uint64
    change: np.ndarray
    exponents: np.ndarray  # int64[components]
    grows: np.ndarray  # int64[states]: bits by which the sum of a state and its sources is longer than the longest


def make_wide_work(steps: StateSteps, cells: int, parts: int, room: int) -> WideWork:
    grows = np.array([int(sources).bit_length() for sources in np.diff(steps.source_from)], np.int64)
    total, change = np.zeros((2, cells * room), np.uint64)
    return WideWork(total, change, np.zeros(parts - 1, np.int64), grows)


@inlined
def find_largest(total, parts, lines, room, width):
    """Bits of the largest count, and of the largest sum."""
    states = total.size // (parts * lines * room)
    count_most, sum_most = 1, 1
    for state in range(states):
        at = state * parts * lines * room
        count_most = max(count_most, most_bits(total, at, lines, room, width))
        if parts > 1:
            sum_most = max(sum_most, most_bits(total, at + lines * room, (parts - 1) * lines, room, width))
    return count_most, sum_most


@inlined
def settle_exponents(linear, work, begin, end, cells, parts, lines, room, dry):
    """Lower the exponents of sums of floats to what the rows need. Returns bits that sums grow by at most, and bits of
    the largest value. `dry`: change nothing."""
    grown, value_bits = 0, 1
    for k in range(parts - 1):
        seen = np.int64(0)
        if not linear.floats[k]:
            for row in range(begin, end):
                value = linear.values[k, row]
                seen |= value ^ (value >> 63)
            value_bits = max(value_bits, bits_of_word(np.uint64(seen)) + 1)
            continue
        lowest, highest = work.exponents[k], np.int64(-NO_EXPONENT * 2)
        for row in range(begin, end):
            exponent = linear.exponents[k, row]
            if exponent != NO_EXPONENT:
                lowest = min(lowest, exponent)
                highest = max(highest, exponent)
        if highest >= lowest:
            value_bits = max(value_bits, FLOAT_BITS + highest - lowest)
        shift = work.exponents[k] - lowest
        if work.exponents[k] == NO_EXPONENT:
            shift = 0
        grown = max(grown, shift)
        if not dry:
            work.exponents[k] = lowest
            if shift > 0:
                for cell in range(cells):
                    if cell // lines % parts == k + 1:
                        shift_left(work.total, cell * room, room, shift)
    return grown, value_bits


@inner
def split_value(linear, work, k, row):
    """The magnitude of a row's value, and its power of two in the units of the sums so far."""
    value = linear.values[k, row]
    shift = np.int64(0)
    if linear.floats[k]:
        shift = linear.exponents[k, row] - work.exponents[k]
    return (np.uint64(value) if value >= 0 else NOTHING - np.uint64(value)), shift


@inlined
def begin_wide(linear, work, target, state, row, parts, lines, room, width):
    """target[state] += the trend that begins with the row."""
    line = lines - 1
    for k in range(1, parts):
        value = linear.values[k - 1, row]
        if linear.states[k - 1, state] and value != 0:
            factor, shift = split_value(linear, work, k - 1, row)
            to = ((state * parts + k) * lines + line) * room
            add_product(target, to, width, ONE_WORD, 0, 1, factor, value < 0, shift)
    add_one(target, (state * parts * lines + line) * room, width)


@inlined
def add_wide_reading(steps, linear, work, target, state, row, parts, lines, room, width):
    """target[state] += what the row, read as the state, adds behind the map. Sources are added one by one, the state
    itself first, so that target and total may be the same."""
    total, empty_past = work.total, steps.variable.size
    for j in range(steps.source_from[state], steps.source_from[state + 1]):
        source = steps.sources[j]
        if source == empty_past:
            begin_wide(linear, work, target, state, row, parts, lines, room, width)
            continue
        for k in range(1, parts):
            if linear.states[k - 1, state] and linear.values[k - 1, row] != 0:
                value = linear.values[k - 1, row]
                factor, shift = split_value(linear, work, k - 1, row)
                for line in range(lines):
                    to = ((state * parts + k) * lines + line) * room
                    count_at = (source * parts * lines + line) * room
                    add_words(target, to, total, ((source * parts + k) * lines + line) * room, width)
                    add_product(target, to, width, total, count_at, width, factor, value < 0, shift)
            else:
                for line in range(lines):
                    cell = (source * parts + k) * lines + line
                    add_words(target, ((state * parts + k) * lines + line) * room, total, cell * room, width)
        for line in range(lines):
            to = (state * parts * lines + line) * room
            add_words(target, to, total, (source * parts * lines + line) * room, width)


@inlined
def load_map(linear, work, earlier, place, width, exponents, segment, parts, lines, room, float_of):
    """The map at a place of the earlier ones (-1: that of no rows), all numbers continued to the whole room."""
    cells = work.total.size // room
    for i in range(work.total.size if place < 0 else 0):
        work.total[i] = NOTHING
    if place < 0:
        for line in range(lines - 1):
            work.total[(line * parts * lines + line) * room] = np.uint64(1)
    for cell in range(cells if place >= 0 else 0):
        copy_words(work.total, cell * room, room, earlier, place + cell * width, width)
    for k in range(parts - 1):
        work.exponents[k] = 0
        if linear.floats[k]:
            work.exponents[k] = exponents[segment, float_of[k]] if place >= 0 else NO_EXPONENT


@inlined
def make_room(work, width, count_most, sum_most, grows, value_bits, parts, lines, room):
    """Words per number that do for one more row, whose state has sources of so many bits; 0 where the room is too
    small. With it the bits of the largest count and sum, then."""
    cells = work.total.size // room
    count_next = count_most + grows
    sum_next = max(sum_most, count_most + value_bits) + grows + 1 if parts > 1 else 1
    if max(count_next, sum_next) + 1 >= 64 * width:
        count_most, sum_most = find_largest(work.total, parts, lines, room, width)
        changed_count, changed_sum = find_largest(work.change, parts, lines, room, width)
        count_most, sum_most = max(count_most, changed_count) + 1, max(sum_most, changed_sum) + 1
        count_next = count_most + grows
        sum_next = max(sum_most, count_most + value_bits) + grows + 1 if parts > 1 else 1
        needed = max(count_next, sum_next) + 1 + SPARE_BITS
        if needed >= 64 * width:
            wider = needed // 64 + 1
            for cell in range(cells if wider <= room else 0):
                copy_words(work.total, cell * room, wider, work.total, cell * room, width)
                copy_words(work.change, cell * room, wider, work.change, cell * room, width)
            width = wider if wider <= room else 0
    return width, count_next, sum_next


@inlined
def add_wide_rows(steps, resets, rows, linear, work, row, row_end, width, bits, value_bits, parts, lines, room):
    """The map followed by the rows, tick by tick; returns the words per number, 0 where the room is too small."""
    states = steps.variable.size
    count_most, sum_most = bits
    while row < row_end:
        now = rows.tick[row]
        only = NO_STATE
        if row + 1 == row_end or rows.tick[row + 1] != now:
            only = one_state(steps.state_of_letters, rows.letters, row)
            if only == NO_STATE:
                row += 1
                continue
        pending = False
        while row < row_end and rows.tick[row] == now:
            first, end = max(only, 0), states if only < 0 else only + 1
            for state in range(first, end if rows.window_first[row] <= rows.window_last[row] else first):
                if not reads(rows.letters, row, steps.variable[state]):
                    continue
                width, count_most, sum_most = make_room(
                    work, width, count_most, sum_most, work.grows[state], value_bits, parts, lines, room
                )
                if width == 0:
                    return width
                pending = only < 0
                target = work.change if pending else work.total
                add_wide_reading(steps, linear, work, target, state, row, parts, lines, room, width)
            if rows.window_first[row] <= rows.window_last[row]:
                note_resets(resets, rows.letters, row)
            row += 1
        for r in range(resets.state.size):
            if take_reset(resets, r):
                for i in range(parts * lines * room):
                    work.total[resets.state[r] * parts * lines * room + i] = NOTHING
        if pending:
            for cell in range(work.total.size // room):
                add_words(work.total, cell * room, work.change, cell * room, width)
                for i in range(width):
                    work.change[cell * room + i] = NOTHING
    return width


@inner
def extend_wide(steps, resets, rows, linear, work, earlier, earlier_at, earlier_width, earlier_exponents, chosen,
                first, room, lines, out, out_width, out_exponents, float_of):  # fmt: skip
    """Go on with the segments chosen[first:]. Returns the number of the first one that did not fit into the room or
    into what is left of `out`, and how many words of `out` are used."""
    parts = 1 + linear.values.shape[0]
    cells = steps.variable.size * parts * lines
    for i in range(work.change.size):  # a call that ended half-way left something behind
        work.change[i] = NOTHING
    for r in range(resets.state.size):
        take_reset(resets, r)
    used = 0
    for number in range(first, chosen.size):
        heed_stop()
        segment = chosen[number]
        width = earlier_width[segment]
        if width > room:
            return number, used
        load_map(
            linear, work, earlier, earlier_at[segment], width, earlier_exponents, segment, parts, lines, room, float_of
        )
        row, row_end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        grown, value_bits = settle_exponents(linear, work, row, row_end, cells, parts, lines, room, True)
        count_most, sum_most = find_largest(work.total, parts, lines, room, room)
        if max(count_most, sum_most + grown) + 1 >= 64 * room:
            return number, used
        settle_exponents(linear, work, row, row_end, cells, parts, lines, room, False)
        width = max(width, (max(count_most, sum_most + grown) + 1) // 64 + 1)
        bits = (count_most, sum_most + grown)
        width = add_wide_rows(
            steps, resets, rows, linear, work, row, row_end, width, bits, value_bits, parts, lines, room
        )
        if width == 0:
            return number, used
        count_most, sum_most = find_largest(work.total, parts, lines, room, width)
        narrow = max(count_most, sum_most) // 64 + 1
        if used + narrow * cells > out.size:
            return number, used
        for cell in range(cells):
            copy_words(out, used + cell * narrow, narrow, work.total, cell * room, width)
        used += narrow * cells
        out_width[number] = narrow
        for k in range(parts - 1):
            if linear.floats[k]:
                out_exponents[segment, float_of[k]] = work.exponents[k]
    return chosen.size, used
