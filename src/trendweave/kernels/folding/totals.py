"""Totals of entries: numbers of one word, or of several where they need them, and how they are read."""

from typing import NamedTuple

import numpy as np

from trendweave.kernels.compiling import inner
from trendweave.kernels.folding.words import NOTHING, is_negative, most_bits


class Totals(NamedTuple):
    """Per entry the number of trends and the linear components.

    small  int64 or float64[entries, parts]: whatever needs one word
    wide   int64[.]: numbers of the first entry with several words, one part after another, then those of the second
    starts, width  int64[entries]: where an entry's numbers are in `wide`, and how many words each has; 0: in `small`
    exponents      int64[entries, parts - 1] or empty: of exact sums of floats
    """

    small: np.ndarray
    wide: np.ndarray = np.zeros(0, np.int64)
    starts: np.ndarray = np.zeros(0, np.int64)
    width: np.ndarray = np.zeros(0, np.int64)
    exponents: np.ndarray = np.zeros((0, 0), np.int64)

    def take(self, index: np.ndarray) -> "Totals":
        if not self.width.size:
            return Totals(self.small[index])
        return self._replace(
            small=self.small[index],
            starts=self.starts[index],
            width=self.width[index],
            exponents=self.exponents[index],
        )

    def is_there(self) -> np.ndarray:
        """Where there is a trend."""
        there = self.small[:, 0] != 0
        large = np.flatnonzero(self.width)
        places = np.stack([self.starts[large], self.starts[large] + self.width[large]], axis=1).reshape(-1)
        if large.size:
            ended = np.append(self.wide, 0) != 0
            there[large] = np.add.reduceat(ended, places)[::2]
        return there

    def column(self, part: int) -> np.ndarray:
        """One number of each entry: int64, or Python integers where one needs more."""
        values = self.small[:, part]
        large = np.flatnonzero(self.width)
        if not large.size:
            return values
        width = self.width[large]
        at = self.starts[large] + part * width
        lowest, short = np.empty(large.size, np.int64), np.empty(large.size, np.bool_)
        read_short(self.wide, at, width, lowest, short)
        values = values.copy()
        values[large] = lowest
        if short.all():
            return values
        out = values.astype(object)
        words = self.wide.tobytes()
        for entry, begin, length in zip(large[~short], 8 * at[~short], 8 * width[~short], strict=True):
            out[entry] = int.from_bytes(words[begin : begin + length], "little", signed=True)
        return out


def merge_totals(
    small: np.ndarray, chosen: np.ndarray, widths: np.ndarray, words: np.ndarray, exponents: np.ndarray
) -> Totals:
    """Totals of which the chosen entries have several words."""
    entries, parts = small.shape
    starts, width = np.zeros(entries, np.int64), np.zeros(entries, np.int64)
    starts[chosen], width[chosen] = (np.cumsum(widths) - widths) * parts, widths
    of_entries = np.zeros((entries, parts - 1), np.int64)
    of_entries[chosen] = exponents
    small[chosen] = 0
    return Totals(small, words.view(np.int64), starts, width, of_entries)


@inner
def read_short(words, at, width, lowest, short):
    """The lowest word of each number, and whether the others only continue its sign."""
    for i in range(at.size):
        lowest[i] = words[at[i]]
        short[i] = True
        for j in range(1, width[i]):
            short[i] = short[i] and words[at[i] + j] == lowest[i] >> 63


@inner
def round_words(words, at, width, mantissa, exponent):
    """Numbers as floats of 53 bits, rounded to the nearest, times a power of two."""
    for i in range(at.size):
        begin, size = at[i], width[i]
        negative = is_negative(words, begin, size)
        # the magnitude, from the lowest word on: the upper 64 bits, and whether a bit below them is set
        cut = max(most_bits(words, begin, 1, size, size) + (1 if negative else 0) - 64, 0)
        carry, below = negative, False
        first, shift = cut >> 6, np.uint64(cut & 63)
        top = NOTHING
        for j in range(size):
            word = words[begin + j]
            if negative:
                word = ~word + np.uint64(carry)
                carry = carry and word == NOTHING
            if j < first:
                below = below or word != NOTHING
            elif j == first:
                top = word >> shift
                below = below or (top << shift) != word
            elif j == first + 1 and shift != NOTHING:
                top |= word << (np.uint64(64) - shift)
        if below:
            top |= np.uint64(1)  # 11 bits are rounded away: this one only breaks ties
        mantissa[i] = -np.float64(top) if negative else np.float64(top)
        exponent[i] += cut


def scaled_floats(totals: Totals, part: int) -> tuple[np.ndarray, np.ndarray]:
    """(float, exponent) per entry: the number is the float times 2**exponent."""
    mantissa = totals.small[:, part].astype(np.float64)
    exponent = np.zeros(mantissa.size, np.int64)
    large = np.flatnonzero(totals.width)
    if large.size:
        width = totals.width[large]
        floats, powers = np.zeros(large.size), np.zeros(large.size, np.int64)
        if part > 0:
            powers = totals.exponents[large, part - 1]
        round_words(totals.wide.view(np.uint64), totals.starts[large] + part * width, width, floats, powers)
        mantissa[large], exponent[large] = floats, powers
    return mantissa, exponent


def finite_floats(mantissa: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """The floats themselves; infinite where they are too large."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(mantissa, exponent.astype(np.int32))
