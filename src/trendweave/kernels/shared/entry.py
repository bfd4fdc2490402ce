"""Aggregates of many queries over all their trends: the one entry.

`aggregate_shared` goes over the rows once for counts and exact sums, once for sums of floats beside exact counts,
and once for extrema, whatever the number of queries. How queries share is decided burst by burst (`graphlets.py`).
"""

import numpy as np

from trendweave.kernels.aggregates import exact_numbers
from trendweave.kernels.aggregates.entry import NUMBERS, check_choice, tidy
from trendweave.kernels.aggregates.passes import MEMORY_LIMIT
from trendweave.kernels.shared.inputs import (
    LinearTotals,
    MergedTemplate,
    SharedMeasures,
    SharedResults,
    SharedRows,
    Sharing,
)
from trendweave.kernels.shared.passes import Passes
from trendweave.kernels.sorting import stable_order

HALF_DIGIT = exact_numbers.DIGIT_BITS // 2


def aggregate_shared(
    rows: SharedRows,
    template: MergedTemplate,
    measures: SharedMeasures = SharedMeasures(),  # noqa: B008 - immutable
    sharing: str = Sharing.AUTO,
    numbers: str = "exact",
    memory_limit: int = MEMORY_LIMIT,
) -> SharedResults:
    """Counts, sums and extrema per query, segment and window with at least one trend.

    Args:
        rows: The rows, sorted by segment and tick.
        template: The merged automaton of all queries.
        measures: What is measured beside the number of trends.
        sharing: "auto", "always" or "never": how bursts are computed. The results are the same, sums of floats up to
            rounding.
        numbers: "exact", or "float64": counts and sums as floats, infinite beyond 2**1024.
        memory_limit: Bytes that numbers may take.

    Raises:
        CountTooLargeError: Exact numbers need more memory.
    """
    check_choice("sharing", sharing, tuple(Sharing))
    check_choice("numbers", numbers, NUMBERS)
    passes = Passes(rows, template, measures, Sharing(sharing), memory_limit)
    return _collect(passes, measures, template.queries, numbers)


def _collect(passes: Passes, measures: SharedMeasures, queries: int, numbers: str) -> SharedResults:
    count = passes.rows.tick.size
    is_float = [np.asarray(m.values).dtype.kind == "f" for m in measures.linear]
    marks = passes.lists.marks_linear
    number = np.float64 if numbers == "float64" else np.int64
    first = [k for k, floats in enumerate(is_float) if numbers == "float64" or not floats]
    beside = [k for k in range(len(is_float)) if k not in first]
    entries = passes.linear_pass(stack(measures.linear, first, count, number), marks[first], number)
    places = entries.where()
    order, _ = stable_order(places[0], queries)
    totals = {k: LinearTotals(tidy(entries.column(1 + i)[order])) for i, k in enumerate(first)}
    if beside:
        floats = passes.linear_pass(stack(measures.linear, beside, count, np.float64), marks[beside], np.float64)
        for i, k in enumerate(beside):
            column = floats.column(1 + i)[order]
            totals[k] = LinearTotals(column)
            values = np.asarray(measures.linear[k].values, np.float64)
            if not np.isfinite(column).all() and np.isfinite(values).all():
                totals[k] = sum_exactly(passes, values, marks[k], order)
    extrema: tuple[np.ndarray, ...] = ()
    if measures.extrema:
        codes = np.stack([np.asarray(m.codes, np.int64) for m in measures.extrema])
        found = passes.extremum_pass(codes)
        extrema = tuple(found.column(k)[order] for k in range(len(measures.extrema)))
    return SharedResults(
        *(place[order] for place in places),
        tidy(entries.column(0)[order]),
        tuple(totals[k] for k in range(len(measures.linear))),
        extrema,
        passes.counts,
    )


def stack(linear: tuple, chosen: list[int], count: int, number: type) -> np.ndarray:
    """The values of some measures as one matrix."""
    matrix = np.zeros((len(chosen), count), number)
    for row, k in zip(matrix, chosen, strict=True):
        row[:] = linear[k].values
    return matrix


def sum_exactly(passes: Passes, values: np.ndarray, marks: np.ndarray, order: np.ndarray) -> LinearTotals:
    """A sum of floats that is beyond their range, as whole numbers times a power of two."""
    digits, exponent = exact_numbers.float_digits(values, np.ones(values.size, bool))
    halves = np.empty((2 * digits.shape[0], values.size), np.int64)
    halves[0::2] = digits & (2**HALF_DIGIT - 1)
    halves[1::2] = digits >> HALF_DIGIT
    entries = passes.linear_pass(halves, np.repeat(marks[None], halves.shape[0], axis=0), np.int64)
    total = entries.column(halves.shape[0])[order].astype(object)
    for k in range(halves.shape[0] - 1, 0, -1):
        total = (total << HALF_DIGIT) + entries.column(k)[order].astype(object)
    return LinearTotals(total, exponent)
