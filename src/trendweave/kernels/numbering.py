"""Numbers for values and times: in the order in which rows have them, or in that of floats."""

from __future__ import annotations

import numpy as np

#: So many rows per value are numbered before it is looked whether that was enough.
_FIRST_ROWS = 8


def list_ranges(first: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers of all ranges, one range after the other: so many from each first one on."""
    ends = np.cumsum(counts)
    return np.repeat(first - (ends - counts), counts) + np.arange(int(ends[-1]) if ends.size else 0)


def find_starts(*columns: np.ndarray) -> np.ndarray:
    """Where rows begin that have a number which the row before does not have."""
    begins = np.zeros(columns[0].size, np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(begins)


def number_near(numbers: np.ndarray, known: np.ndarray | None, least: int, most: int) -> np.ndarray:
    """Number int64 numbers of `least` .. `most` by their first rows, from 0 without gaps; NULL is a value of its own.
    Takes four bytes for each number between the two."""
    places, different = numbers - least, most - least + 2
    if known is not None:
        places = np.where(known, places, most - least + 1)
    # Few values mostly occur among the first rows; all others are only looked up then.
    for looked_at in (places[: _FIRST_ROWS * different], places):
        first = np.full(different, -1, np.int32)
        first[looked_at[::-1]] = np.arange(looked_at.size - 1, -1, -1, dtype=np.int32)  # what is written last stays
        present = np.flatnonzero(first >= 0)
        codes = np.full(different, -1)
        codes[present[np.argsort(first[present])]] = np.arange(present.size)
        found = codes.take(places)
        if looked_at.size == places.size or found.min() >= 0:
            break
    return found


def number_present(numbers: np.ndarray, highest: int) -> tuple[np.ndarray, np.ndarray]:
    """Number int64 numbers of 0 .. highest - 1 by their order: the place of each among those that occur, and those.
    Takes some bytes for each number below the highest."""
    present = np.zeros(highest, np.bool_)
    present[numbers] = True
    return (np.cumsum(present) - 1).take(numbers), np.flatnonzero(present)


def number_ticks(times: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the different times of each segment, all segments one after the other; and the time of each number."""
    new = np.ones(times.size, np.bool_)
    np.not_equal(times[1:], times[:-1], out=new[1:])
    new[starts[:-1][starts[:-1] < times.size]] = True
    return np.cumsum(new) - 1, times[new]


def ordered_bits(numbers: np.ndarray) -> np.ndarray:
    """Write floats as integers in the same order; -0.0 is 0.0, and NaN is the largest.

    Args:
        numbers: The floats.

    Returns:
        The integers.
    """
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def from_ordered_bits(codes: np.ndarray) -> np.ndarray:
    """Read the floats that `ordered_bits` wrote.

    Args:
        codes: The integers.

    Returns:
        The floats.
    """
    return np.where(codes < 0, codes ^ np.int64(2**63 - 1), codes).view(np.float64)
