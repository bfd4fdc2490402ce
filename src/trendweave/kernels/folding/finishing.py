"""`finish`: the trends of runs of summaries, as results like those of all rows at once."""

import numpy as np

from trendweave.kernels.aggregates import exact_numbers as exact
from trendweave.kernels.aggregates.entry import read_linear, tidy
from trendweave.kernels.columns import make_writable
from trendweave.kernels.folding.algebra import Algebra, Measured, Place
from trendweave.kernels.folding.extending import ways_there
from trendweave.kernels.folding.marked_products import finish_marked
from trendweave.kernels.folding.marked_rows import make_marked
from trendweave.kernels.folding.plain_products import finish_plain
from trendweave.kernels.folding.summaries import (
    KNOWN,
    NEGATIVE_INFINITY,
    NOT_A_NUMBER,
    POSITIVE_INFINITY,
    Summaries,
)
from trendweave.kernels.folding.totals import Totals, finite_floats, merge_totals, scaled_floats
from trendweave.kernels.folding.wide_products import WideMaps, finish_wide, make_room_for_products
from trendweave.kernels.inputs import Measure, Results

WORDS_AT_ONCE = 1 << 16


def finish(algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray) -> Results:
    """Aggregates of all trends in the rows of summaries low[entry]:high[entry], which are of one key, in order of time.
    Entries without a trend are left out; `segment` is the number of the entry.

    Whole numbers are exact. A sum of floats is exact and then rounded once, an average of them is the rounded sum
    divided by the rounded count.
    """
    low, high = (make_writable(np.ascontiguousarray(bound, np.int64)) for bound in (low, high))
    if algebra.only_beginnings and (high - low > 1).any():
        raise ValueError("summaries of beginnings only cannot be put together")
    order = np.lexsort((high, low))
    totals = finish_numbers(algebra, summaries, low, high, order)
    codes, marks = finish_marks(algebra, summaries, low, high, order)
    found = np.flatnonzero(totals.is_there())
    totals = totals.take(found)
    columns, valid = [], []
    for measure, place in zip(algebra.measures, algebra.places, strict=True):
        if place.extremum is not None:
            at = len(algebra.float_sums) + place.extremum
            column, known = read_extremum(measure, codes[found, place.extremum], marks[found, at])
        elif place.summed in algebra.float_sums:
            of_rows = marks[found, algebra.float_sums.index(place.summed)]
            column, known = read_float_sum(totals, place, of_rows)
        else:
            parts = (None if part is None else totals.column(1 + part) for part in (place.counted, place.summed))
            column, known = read_linear(*parts, None)
        columns.append(column)
        valid.append(known)
    window = np.zeros(found.size, np.int64)
    return Results(found, window, tidy(totals.column(0)), tuple(columns), tuple(valid))


def finish_numbers(
    algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray, order: np.ndarray
) -> Totals:
    """Numbers of trends and linear aggregates: one word where that does, else several."""
    final = np.flatnonzero(algebra.is_final).astype(np.int64)
    numbers, starts, width = make_writable(summaries.numbers), summaries.starts(), make_writable(summaries.width)
    small = np.zeros((low.size, algebra.parts), numbers.dtype)
    fits = np.zeros(low.size, np.bool_)
    if not algebra.float_sums:
        checked = True if algebra.exact else None
        sizes = (algebra.states, algebra.parts, algebra.lines)
        finish_plain(numbers, starts, width, low, high, order, final, *sizes, small, fits, checked)
    chosen = order[~fits[order]]
    if chosen.size == 0:
        return Totals(small)
    odd = algebra.float_sums
    float_of = np.array([odd.index(k) if k in odd else -1 for k in range(len(algebra.linear))], np.int64)
    maps = WideMaps(numbers.view(np.uint64), starts, width, make_writable(summaries.exponents), float_of)
    room = enough_room(algebra, summaries, low[chosen], high[chosen])
    widths = np.zeros(chosen.size, np.int64)
    exponents = np.zeros((chosen.size, len(algebra.linear)), np.int64)
    parts: list[np.ndarray] = []
    done = 0
    while done < chosen.size:
        out = np.empty(max(WORDS_AT_ONCE, room * algebra.parts), np.uint64)
        done, used = finish_wide(
            maps,
            make_room_for_products(algebra.states, algebra.parts, room),
            low,
            high,
            final,
            algebra.states,
            algebra.lines,
            chosen,
            done,
            room,
            out,
            widths,
            exponents,
        )
        parts.append(out[:used].copy())
    return merge_totals(small, chosen, widths, np.concatenate(parts), exponents)


def enough_room(algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray) -> int:
    """Words per number that a run of summaries needs at most."""
    ends = np.concatenate([[0], np.cumsum(summaries.width)])
    words = int((ends[high.clip(0)] - ends[low]).max())
    bits = int((high - low).max()) * (algebra.states.bit_length() + 8)
    if summaries.exponents.size:
        bits += 2 * int(summaries.exponents.max() - summaries.exponents.min())
    return words + bits // 64 + 4


def finish_marks(
    algebra: Algebra, summaries: Summaries, low: np.ndarray, high: np.ndarray, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(codes, marks) per entry."""
    extrema = len(algebra.extrema)
    marks = np.zeros((low.size, len(algebra.float_sums) + extrema), np.uint8)
    codes = np.zeros((low.size, extrema), np.int64)
    if marks.shape[1] and (extrema or summaries.marks.any()):
        states, lines = algebra.states, algebra.lines
        room = [make_marked(states, marks.shape[1], extrema, 1) for _ in range(2)]
        finish_marked(
            *room,
            ways_there(algebra, summaries),
            make_writable(summaries.marks).reshape(summaries.size, states, marks.shape[1], lines),
            make_writable(summaries.codes).reshape(summaries.size, states, extrema, lines),
            low, high, order, np.flatnonzero(algebra.is_final).astype(np.int64), marks, codes,
        )  # fmt: skip
    return codes, marks


def read_extremum(measure: Measured, codes: np.ndarray, marks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(values, valid) from the largest codes."""
    known = (marks & KNOWN) != 0
    codes = np.where(known, codes if measure.kind == Measure.MAX else ~codes, 0)
    return exact.values_of_codes(codes, measure.floats), known


def read_float_sum(totals: Totals, place: Place, marks: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """(values, valid) of a sum or an average of floats."""
    assert place.summed is not None
    mantissa, exponent = scaled_floats(totals, 1 + place.summed)
    known = None
    if place.counted is not None:
        counts, of_counts = scaled_floats(totals, 1 + place.counted)
        known = counts != 0
        mantissa, exponent = mantissa / np.where(known, counts, 1), exponent - of_counts
    column = finite_floats(mantissa, exponent)
    column[(marks & POSITIVE_INFINITY) != 0] = np.inf
    column[(marks & NEGATIVE_INFINITY) != 0] = -np.inf
    both = POSITIVE_INFINITY | NEGATIVE_INFINITY
    column[((marks & NOT_A_NUMBER) != 0) | ((marks & both) == both)] = np.nan
    return column, known
