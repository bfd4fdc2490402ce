"""What one trend says of the values of a variable beyond sums: how far they lie apart, and how many are different."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.planning.plan import AggregateColumn
from trendweave.results.partials import Component
from trendweave.results.shown_trends import ShownTrends
from trendweave.rows.distinct import NO_VALUE, distinct_codes
from trendweave.rows.numbers import as_numbers


def is_spread(column: AggregateColumn) -> bool:
    """Tell what is found here from what is folded.

    Args:
        column: An aggregate.

    Returns:
        Is it?
    """
    return column.distinct or column.is_spread


@dataclass(frozen=True, slots=True)
class SpreadValues:
    """A value per row of the table, numbers or codes of distinct ones, where it is known, and the variable."""

    values: np.ndarray
    known: np.ndarray
    variable: int
    dictionary: pa.Array | None = None

    def count_different(self, trends: ShownTrends) -> np.ndarray:
        """Count the different values of each trend.

        Args:
            trends: The trends.

        Returns:
            A number per trend.
        """
        counts: np.ndarray = np.bincount(self._find_pairs(trends)[:, 0], minlength=trends.count)
        return counts

    def find(self, trends: ShownTrends) -> Component:
        """Find the variance, or the different values, of each trend.

        Args:
            trends: The trends.

        Returns:
            One entry per trend.
        """
        if self.dictionary is None:
            return self._find_variance(trends)
        pairs = self._find_pairs(trends)
        sets = np.empty(trends.count, object)
        cuts = np.searchsorted(pairs[:, 0], np.arange(1, trends.count))
        for trend, codes in enumerate(np.split(pairs[:, 1], cuts) if trends.count else ()):
            sets[trend] = codes
        return Component("distinct", sets, dictionary=self.dictionary)

    def _find_pairs(self, trends: ShownTrends) -> np.ndarray:
        """Numbers of trends and codes of their values, each pair once, in order."""
        owner, codes = self._find_values(trends)
        total = int(codes.max()) + 1 if codes.size else 1
        pairs = np.unique(owner * total + codes)
        return np.stack([pairs // total, pairs % total], axis=1)

    def _find_variance(self, trends: ShownTrends) -> Component:
        owner, values = self._find_values(trends)
        counts = np.bincount(owner, minlength=trends.count)
        # The first value of a trend is taken away, so that what is left is small; equal values leave nothing.
        first = np.zeros(trends.count, np.longdouble)
        first[owner[::-1]] = values[::-1]
        with np.errstate(invalid="ignore"):
            distances = (values.astype(np.longdouble) - first[owner]).astype(np.float64)
            of_one = np.maximum(counts, 1)
            mean = np.bincount(owner, distances, minlength=trends.count) / of_one
            variance = np.bincount(owner, (distances - mean[owner]) ** 2, minlength=trends.count) / of_one
        return Component("variance", variance, counts > 0, counts, (mean + first).astype(np.float64))

    def _find_values(self, trends: ShownTrends) -> tuple[np.ndarray, np.ndarray]:
        """The number of the trend of each known value, and the value."""
        owner = np.repeat(np.arange(trends.count), np.diff(trends.starts))
        used = (trends.variables == self.variable) & self.known[trends.rows]
        return owner[used], self.values[trends.rows[used]]


def spread_values(column: AggregateColumn, values: pa.ChunkedArray, variable: int) -> SpreadValues:
    """Prepare what is looked at.

    Args:
        column: The aggregate.
        values: Its column.
        variable: The number of its variable.

    Returns:
        What finds it for trends.
    """
    if column.distinct:
        chunks = values.combine_chunks()
        whole = chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)
        found = distinct_codes(whole)
        return SpreadValues(found.codes, found.codes != NO_VALUE, variable, found.dictionary)
    numbers, known = as_numbers(values, column)
    return SpreadValues(numbers, np.ones(numbers.size, np.bool_) if known is None else known, variable)
