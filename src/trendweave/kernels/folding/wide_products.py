"""Trends of runs of summaries whose numbers have several words."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inlined, inner
from trendweave.kernels.folding.row_values import NO_EXPONENT
from trendweave.kernels.folding.words import (
    NOTHING,
    add_product,
    add_words,
    bits_of_word,
    copy_words,
    is_negative,
    is_zero,
    most_bits,
    negate,
    shift_left,
)
from trendweave.kernels.stopping import heed_stop


class WideMaps(NamedTuple):
    """Maps as `Summaries` keep them, and which components are sums of floats: their column of exponents, or -1."""

    numbers: np.ndarray  # uint64
    starts: np.ndarray
    width: np.ndarray
    exponents: np.ndarray
    float_of: np.ndarray


class Products(NamedTuple):
    """Room for vectors of numbers, each of so many words at most."""

    vector: np.ndarray
    following: np.ndarray
    magnitude: np.ndarray
    total: np.ndarray
    exponents: np.ndarray


def make_room_for_products(states: int, parts: int, room: int) -> Products:
    sizes = (states * parts * room, states * parts * room, room, parts * room)
    return Products(*(np.zeros(size, np.uint64) for size in sizes), np.zeros(parts - 1, np.int64))


@inner
def add_wide_product(target, at, width, one, one_at, one_width, other, other_at, other_width, shift, magnitude):
    """target += one * other * 2**shift; `one` is not negative. `magnitude` is room for the other one."""
    negative = is_negative(other, other_at, other_width)
    for i in range(other_width):
        magnitude[i] = other[other_at + i]
    if negative:
        negate(magnitude, 0, other_width)
    for i in range(other_width):
        if magnitude[i] != NOTHING:
            add_product(target, at, width, one, one_at, one_width, magnitude[i], negative, shift + 64 * i)


@inlined
def follow_wide_map(maps, number, vector, following, exponents, width, room, states, parts, magnitude):
    """following = what begins in the map, and what the vector had before, followed by the map. Returns its width."""
    lines = states + 1
    at, words = maps.starts[number], maps.width[number]
    shifted = np.int64(0)
    for k in range(parts - 1):
        if maps.float_of[k] >= 0:
            of_map = maps.exponents[number, maps.float_of[k]]
            if of_map != NO_EXPONENT and exponents[k] != NO_EXPONENT:
                shifted = max(shifted, abs(of_map - exponents[k]))
    bits = most_bits(vector, 0, states * parts, room, width) + shifted + bits_of_word(np.uint64(states)) + 3
    bits += most_bits(maps.numbers, at, states * parts * lines, words, words)
    new_width = bits // 64 + 1
    for k in range(parts):
        map_shift, vector_shift = np.int64(0), np.int64(0)
        if k > 0 and maps.float_of[k - 1] >= 0:
            of_map = maps.exponents[number, maps.float_of[k - 1]]
            lowest = min(of_map, exponents[k - 1])
            if of_map != NO_EXPONENT:
                map_shift = of_map - lowest
            if exponents[k - 1] != NO_EXPONENT:
                vector_shift = exponents[k - 1] - lowest
            exponents[k - 1] = lowest
        for state in range(states):
            to = (state * parts + k) * room
            cell = at + (state * parts + k) * lines * words
            copy_words(following, to, new_width, maps.numbers, cell + states * words, words)
            if map_shift > 0:
                shift_left(following, to, new_width, map_shift)
            for before in range(states):
                count_at = before * parts * room
                ways = at + (state * parts * lines + before) * words
                if is_zero(vector, count_at, width) or is_zero(maps.numbers, ways, words):
                    continue
                add_wide_product(
                    following, to, new_width, vector, count_at, width, maps.numbers, cell + before * words, words,
                    map_shift, magnitude,
                )  # fmt: skip
                if k > 0:
                    add_wide_product(
                        following, to, new_width, maps.numbers, ways, words, vector, (before * parts + k) * room,
                        width, vector_shift, magnitude,
                    )  # fmt: skip
    return new_width


@inner
def finish_wide(maps, work, low, high, final, states, lines, chosen, first, room, out, out_width, out_exponents):
    """The entries chosen[first:], as long as there is place in `out`. Returns the number of the first one for which
    there is none, and how many words are used. Chosen are entries by low, then by high; those with the same low go on
    from each other. `room`: words per number that are always enough."""
    parts = 1 + maps.float_of.size
    vector, following, magnitude, total, exponents = work
    used, width, reached = 0, np.int64(1), np.int64(0)
    for place in range(first, chosen.size):
        heed_stop()
        entry = chosen[place]
        if place == first or low[entry] != low[chosen[place - 1]]:
            width, reached = np.int64(1), low[entry]
            for i in range(states * parts):
                vector[i * room] = NOTHING
            for k in range(parts - 1):
                exponents[k] = NO_EXPONENT if maps.float_of[k] >= 0 else 0
        for number in range(reached, high[entry]):
            if number == low[entry]:
                at, width = maps.starts[number], maps.width[number]
                for i in range(states * parts):
                    copy_words(vector, i * room, width, maps.numbers, at + (i * lines + lines - 1) * width, width)
                for k in range(parts - 1):
                    if maps.float_of[k] >= 0:
                        exponents[k] = maps.exponents[number, maps.float_of[k]]
            else:
                wider = follow_wide_map(
                    maps, number, vector, following, exponents, width, room, states, parts, magnitude
                )
                width = most_bits(following, 0, states * parts, room, wider) // 64 + 1
                for i in range(states * parts):
                    copy_words(vector, i * room, width, following, i * room, wider)
        reached = max(reached, high[entry])
        wider = width + 1
        for i in range(total.size):
            total[i] = NOTHING
        for f in range(final.size):
            for k in range(parts):
                copy_words(magnitude, 0, wider, vector, (final[f] * parts + k) * room, width)
                add_words(total, k * room, magnitude, 0, wider)
        narrow = most_bits(total, 0, parts, room, wider) // 64 + 1
        if used + narrow * parts > out.size:
            return place, used
        for k in range(parts):
            copy_words(out, used + k * narrow, narrow, total, k * room, wider)
            if k > 0:
                out_exponents[place, k - 1] = exponents[k - 1]
        out_width[place] = narrow
        used += narrow * parts
    return chosen.size, used
