"""What is measured of the rows of one call, ready for the kernels: whole numbers with exponents, marks, codes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.compiling import inner
from trendweave.kernels.folding.algebra import Algebra
from trendweave.kernels.folding.summaries import NEGATIVE_INFINITY, NOT_A_NUMBER, POSITIVE_INFINITY
from trendweave.kernels.inputs import Aggregate

NO_EXPONENT = 1024  # above the exponent of every float: nothing but zeros so far
FLOAT_BITS = 53


class LinearValues(NamedTuple):
    """Per linear component: the values of rows, 0 where they are not valid, and the states that count.

    values     int64 or float64[components, n]; of exact sums of floats the odd part of the value
    exponents  int64[components, n] or [components, 0] where there are none: value = odd part times 2**exponent
    states     bool[components, states]
    floats     bool[components]: whether the component is an exact sum of floats
    """

    values: np.ndarray
    exponents: np.ndarray
    states: np.ndarray
    floats: np.ndarray


class MarkedValues(NamedTuple):
    """Per exact sum of floats: marks of rows that are no number. Per extremum: codes, and which rows have one."""

    marks: np.ndarray  # uint8[float sums, n]
    mark_states: np.ndarray  # bool[float sums, states]
    codes: np.ndarray  # int64[extrema, n]
    known: np.ndarray  # bool[extrema, n]
    code_states: np.ndarray  # bool[extrema, states]


@inner
def split_floats(floats, values, exponents, marks):
    """Floats as odd whole numbers times powers of two. What is no number is a zero with a mark."""
    for i in range(floats.size):
        number = floats[i]
        values[i] = 0
        exponents[i] = NO_EXPONENT
        if np.isnan(number):
            marks[i] = NOT_A_NUMBER
        elif np.isinf(number):
            marks[i] = POSITIVE_INFINITY if number > 0 else NEGATIVE_INFINITY
        elif number != 0:
            mantissa, exponent = math.frexp(number)
            whole = np.int64(mantissa * 2.0**FLOAT_BITS)
            exponent -= FLOAT_BITS
            for step in (32, 16, 8, 4, 2, 1):
                if whole & ((1 << step) - 1) == 0:
                    whole >>= step
                    exponent += step
            values[i] = whole
            exponents[i] = exponent


def states_that_count(algebra: Algebra, masks: Sequence[int]) -> np.ndarray:
    flags = [[bool(mask >> variable & 1) for variable in algebra.state_variable] for mask in masks]
    return np.array(flags, np.bool_).reshape(len(masks), algebra.states)


def zero_where_null(values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    return values if valid is None else np.where(valid, values, values.dtype.type(0))


def prepare_values(algebra: Algebra, aggregates: Sequence[Aggregate], count: int) -> tuple[LinearValues, MarkedValues]:
    """The arrays of the aggregates as the algebra's components."""
    linear, odd = algebra.linear, algebra.float_sums
    values = np.empty((len(linear), count), np.int64 if algebra.exact else np.float64)
    exponents = np.zeros((len(linear), count if odd else 0), np.int64)
    marks = np.zeros((len(odd), count), np.uint8)
    for k, part in enumerate(linear):
        if part.aggregate is None:
            values[k] = 1
            continue
        given = aggregates[part.aggregate]
        valid = None if given.valid is None else np.asarray(given.valid, bool)
        if not part.values:
            values[k] = 1 if valid is None else valid
        elif k in odd:
            floats = np.ascontiguousarray(zero_where_null(np.asarray(given.values, np.float64), valid))
            split_floats(np.require(floats, requirements="W"), values[k], exponents[k], marks[odd.index(k)])
        else:
            values[k] = zero_where_null(np.asarray(given.values), valid)
    floats = np.array([k in odd for k in range(len(linear))], np.bool_)
    states = states_that_count(algebra, [part.variables for part in linear])
    codes = np.zeros((len(algebra.extrema), count), np.int64)
    known = np.ones((len(algebra.extrema), count), np.bool_)
    for k, extremum in enumerate(algebra.extrema):
        given = aggregates[extremum.aggregate]
        of_rows = exact.order_codes(np.asarray(given.values))
        codes[k] = of_rows if extremum.largest else ~of_rows
        if given.valid is not None:
            known[k] = given.valid
    return LinearValues(values, exponents, states, floats), MarkedValues(
        marks,
        states[list(odd)],
        codes,
        known,
        states_that_count(algebra, [extremum.variables for extremum in algebra.extrema]),
    )
