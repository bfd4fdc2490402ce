"""Summaries of rows as flat arrays: many of them, each of one key in one pane."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.folding.algebra import Algebra

# Marks of an exact sum of floats and of an extremum, per state after and line before.
POSITIVE_INFINITY = 1  # infinity is among what is added up
NEGATIVE_INFINITY = 2
NOT_A_NUMBER = 4
KNOWN = 8  # there is a value to compare with


class Summaries(NamedTuple):
    """n summaries; what their numbers mean says the `Algebra`.

    width      int64[n]  words per number. Exact numbers are whole, in two's complement, the lowest word first; a
               summary has one width for all of its numbers. Floats have one word
    numbers    int64[.] or float64[.]: algebra.cells numbers of the first summary, then those of the second, ...
    exponents  int64[n, float sums]: an exact sum of floats is its number times two to the power of this
    codes      int64[n, algebra.codes]: the largest order-preserving code, turned around for minima, where it is known
    marks      uint8[n, algebra.marks]
    """

    width: np.ndarray
    numbers: np.ndarray
    exponents: np.ndarray
    codes: np.ndarray
    marks: np.ndarray

    @property
    def size(self) -> int:
        return int(self.width.size)

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self)

    def starts(self) -> np.ndarray:
        """int64[n+1]: where each summary's numbers begin."""
        ends = np.cumsum(self.width)
        cells = self.numbers.size // int(ends[-1]) if ends.size and ends[-1] else 0
        return np.concatenate([[0], ends]).astype(np.int64) * cells

    def take(self, index: np.ndarray) -> "Summaries":
        """Those with the given numbers, in this order."""
        index = np.asarray(index, np.int64)
        return Summaries(
            self.width[index],
            take_runs(self.numbers, self.starts(), index),
            self.exponents[index],
            self.codes[index],
            self.marks[index],
        )


def take_runs(values: np.ndarray, starts: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Runs values[starts[i]:starts[i+1]] of the given numbers i, one behind another."""
    lengths = (starts[1:] - starts[:-1])[index]
    if lengths.size and (lengths == lengths[0]).all() and values.size == lengths[0] * (starts.size - 1):
        return values.reshape(-1, int(lengths[0]))[index].reshape(-1)
    ends = np.cumsum(lengths)
    shift = np.repeat(starts[:-1][index] - (ends - lengths), lengths)
    return values[np.arange(shift.size) + shift]


def put_runs(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray, runs: np.ndarray) -> None:
    """Write runs of the given lengths, which stand one behind another, to their places."""
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    values[np.arange(shift.size) + shift] = runs


def no_summaries(algebra: Algebra) -> Summaries:
    """None at all."""
    return empty_summaries(algebra, np.zeros(0, np.int64))


def empty_summaries(algebra: Algebra, width: np.ndarray) -> Summaries:
    """So many summaries of the given widths, all numbers zero: to be written."""
    count = width.size
    numbers = np.zeros(int(width.sum()) * algebra.cells, np.int64 if algebra.exact else np.float64)
    exponents = np.zeros((count, len(algebra.float_sums)), np.int64)
    codes, marks = np.zeros((count, algebra.codes), np.int64), np.zeros((count, algebra.marks), np.uint8)
    return Summaries(width, numbers, exponents, codes, marks)


def concat_summaries(algebra: Algebra, parts: Sequence[Summaries]) -> Summaries:
    """All of them, one after another."""
    if len(parts) == 1:
        return parts[0]
    several = [no_summaries(algebra), *parts]
    return Summaries(*(np.concatenate([part[field] for part in several]) for field in range(len(Summaries._fields))))
