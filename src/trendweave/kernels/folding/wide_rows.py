"""Rows added to summaries whose numbers need several words, as many as they have come to need.

How many bits numbers have at most is carried along as two plain numbers, for counts and for sums. Only when these say
that words might not do, the bits are counted; and only when they are really short of room, a word is added.
"""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates.state_steps import reads
from trendweave.kernels.compiling import inlined, outer
from trendweave.kernels.folding.row_values import FLOAT_BITS, NO_EXPONENT
from trendweave.kernels.folding.words import (
    NOTHING,
    add_product,
    add_words,
    bits_of_word,
    copy_words,
    count_bits,
    shift_left,
)

SPARE_BITS = 24  # so much room is made at least, when a word is added or bits are counted


class WideWork(NamedTuple):
    """A map of numbers of at most `room` words, each at its own place, and what the rows of a tick add to it."""

    total: np.ndarray  # uint64, with the empty past as the last state
    change: np.ndarray
    exponents: np.ndarray  # int64[components]


@inlined
def find_largest(total, cells, parts, lines, room, width):
    """Bits of the largest count, and of the largest sum."""
    count_most, sum_most = 1, 1
    for cell in range(cells):
        bits = count_bits(total, cell * room, width)
        if cell // lines % parts == 0:
            count_most = max(count_most, bits)
        else:
            sum_most = max(sum_most, bits)
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


@inlined
def add_wide_reading(steps, linear, work, target, state, row, parts, lines, room, width):
    """target[state] += what the row, read as the state, adds behind the map. Sources are added one by one, the state
    itself first, so that target and total may be the same."""
    total = work.total
    for j in range(steps.source_from[state], steps.source_from[state + 1]):
        source = steps.sources[j]
        for k in range(1, parts):
            if linear.states[k - 1, state] and linear.values[k - 1, row] != 0:
                value = linear.values[k - 1, row]
                factor = np.uint64(value) if value >= 0 else NOTHING - np.uint64(value)
                shift = np.int64(0)
                if linear.floats[k - 1]:
                    shift = linear.exponents[k - 1, row] - work.exponents[k - 1]
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
def may_be_alone(rows, row, row_end):
    return row + 1 == row_end or rows.tick[row + 1] != rows.tick[row]


@outer
def extend_wide(steps, rows, linear, earlier, earlier_at, earlier_width, earlier_exponents, chosen, first, room, lines,
                out, out_width, out_exponents, float_of):  # fmt: skip
    """Go on with the segments chosen[first:]. Returns the number of the first one that did not fit into the room or
    into what is left of `out`, and how many words of `out` are used."""
    states = steps.variable.size
    parts = 1 + linear.values.shape[0]
    cells = states * parts * lines
    work = WideWork(
        np.zeros((cells + parts * lines) * room, np.uint64),
        np.zeros(cells * room, np.uint64),
        np.zeros(parts - 1, np.int64),
    )
    total, change = work.total, work.change
    used = 0
    for number in range(first, chosen.size):
        segment = chosen[number]
        place, width = earlier_at[segment], np.int64(1)
        total[:] = NOTHING
        if place < 0:
            for line in range(lines - 1):
                total[(line * parts * lines + line) * room] = np.uint64(1)
            for k in range(parts - 1):
                work.exponents[k] = NO_EXPONENT
        else:
            width = earlier_width[segment]
            if width > room:
                return number, used
            for cell in range(cells):
                copy_words(total, cell * room, room, earlier, place + cell * width, width)
            for k in range(parts - 1):
                work.exponents[k] = earlier_exponents[segment, float_of[k]] if linear.floats[k] else 0
        total[(cells + lines - 1) * room] = np.uint64(1)  # the empty past, on the line of what begins
        row, row_end = rows.segment_starts[segment], rows.segment_starts[segment + 1]
        grown, value_bits = settle_exponents(linear, work, row, row_end, cells, parts, lines, room, True)
        count_most, sum_most = find_largest(total, cells, parts, lines, room, room)
        if sum_most + grown + 1 >= 64 * room:
            return number, used
        settle_exponents(linear, work, row, row_end, cells, parts, lines, room, False)
        sum_most += grown
        while 64 * width <= max(count_most, sum_most) + 1:
            width += 1
        fitting = True
        while row < row_end and fitting:
            now = rows.tick[row]
            alone = may_be_alone(rows, row, row_end)
            pending = False
            while row < row_end and rows.tick[row] == now:
                if rows.window_first[row] > rows.window_last[row]:
                    row += 1
                    continue
                for state in range(states):
                    if not reads(rows.letters, row, steps.variable[state]):
                        continue
                    sources = steps.source_from[state + 1] - steps.source_from[state]
                    grows = bits_of_word(np.uint64(sources))
                    count_next = count_most + grows
                    sum_next = max(sum_most, count_most + value_bits) + grows + 1
                    if max(count_next, sum_next if parts > 1 else 0) + 1 >= 64 * width:
                        # changes of the tick are numbers, too
                        count_most, sum_most = find_largest(total, cells, parts, lines, room, width)
                        a, b = find_largest(change, cells, parts, lines, room, width)
                        count_most = max(count_most, a) + 1
                        sum_most = max(sum_most, b) + 1
                        count_next = count_most + grows
                        sum_next = max(sum_most, count_most + value_bits) + grows + 1
                        needed = max(count_next, sum_next if parts > 1 else 0) + 1 + SPARE_BITS
                        if needed >= 64 * width:
                            wider = needed // 64 + 1
                            if wider > room:
                                fitting = False
                                break
                            for cell in range(cells):
                                copy_words(total, cell * room, wider, total, cell * room, width)
                                copy_words(change, cell * room, wider, change, cell * room, width)
                            width = wider
                    count_most, sum_most = count_next, sum_next
                    several = not alone
                    if alone and state + 1 < states:
                        for other in range(state + 1, states):
                            several = several or reads(rows.letters, row, steps.variable[other])
                    if pending or several:
                        add_wide_reading(steps, linear, work, change, state, row, parts, lines, room, width)
                        pending = True
                    else:
                        add_wide_reading(steps, linear, work, total, state, row, parts, lines, room, width)
                row += 1
                if not fitting:
                    break
            if pending and fitting:
                for cell in range(cells):
                    add_words(total, cell * room, change, cell * room, width)
                    for i in range(width):
                        change[cell * room + i] = NOTHING
        if not fitting:
            return number, used
        count_most, sum_most = find_largest(total, cells, parts, lines, room, width)
        narrow = max(count_most, sum_most if parts > 1 else 0) // 64 + 1
        if used + narrow * cells > out.size:
            return number, used
        for cell in range(cells):
            copy_words(out, used + cell * narrow, narrow, total, cell * room, width)
        used += narrow * cells
        out_width[number] = narrow
        for k in range(parts - 1):
            if linear.floats[k]:
                out_exponents[segment, float_of[k]] = work.exponents[k]
    return chosen.size, used
