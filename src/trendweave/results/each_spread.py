"""What one trend says of the values of a variable beyond sums: how far they lie apart, how many are different, which of
them lies in the middle, which is the second, and what they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trendweave.planning.plan import AggregateColumn
from trendweave.results.partials import Component
from trendweave.results.shown_trends import ShownTrends, join_chunks
from trendweave.rows.codes import NO_VALUE, as_numbers, different_numbers, distinct_codes


@dataclass(frozen=True, slots=True)
class SpreadValues:
    """A value per row of the table, numbers or codes of distinct ones, where it is known, and the variable. `column`
    has the values themselves, where they are shown; `scale`: numbers count the last of so many digits after the point.
    """

    values: np.ndarray
    known: np.ndarray
    variable: int
    dictionary: pa.Array | None = None
    column: pa.Array | None = None
    scale: int = 0

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

    def find_percentile(self, trends: ShownTrends, share: float) -> pa.Array:
        """Find the value below which a share of the values of each trend lies, as `percentile` of Spark SQL does.

        Between two values it lies on the straight line from one to the other. NaN is larger than every other number.

        Args:
            trends: The trends.
            share: From 0 to 1.

        Returns:
            A float per trend; NULL where it has no values.
        """
        owner, values = self._find_values(trends)
        values = values[np.lexsort((values, owner))]
        counts = np.bincount(owner, minlength=trends.count)
        found, first = counts > 0, np.cumsum(counts) - counts
        position = (counts[found] - 1) * share
        low, high = np.floor(position), np.ceil(position)
        below, above = (self._as_floats(values[first[found] + end.astype(np.int64)]) for end in (low, high))
        with np.errstate(invalid="ignore", over="ignore"):
            between = (high - position) * below + (position - low) * above
        percentiles = np.zeros(trends.count)
        # Where both are the same value it is that, also if it is infinite.
        percentiles[found] = np.where((low == high) | (below == above), below, between)
        return pa.array(percentiles, mask=~found)

    def _as_floats(self, numbers: np.ndarray) -> np.ndarray:
        return numbers.astype(np.float64) / 10.0**self.scale

    def take_event(self, trends: ShownTrends, number: int) -> pa.Array:
        """Take the value of one event of each trend.

        Args:
            trends: The trends.
            number: Which of those that are read as the variable, from 1 on; from -1 on, from behind.

        Returns:
            A value per trend; NULL where there is no such event.
        """
        owner, rows = self._find_rows(trends)
        counts = np.bincount(owner, minlength=trends.count)
        first = np.cumsum(counts) - counts
        found = counts >= abs(number)
        place = (first + number - 1 if number > 0 else first + counts + number)[found]
        taken = np.zeros(trends.count, np.int64)
        taken[found] = rows[place]
        return pc.take(self.column, pa.array(taken, mask=~found))

    def list_values(self, trends: ShownTrends, each_once: bool) -> pa.Array:
        """List the values of each trend in their order, without NULLs.

        Args:
            trends: The trends.
            each_once: Of equal values the first alone.

        Returns:
            A list per trend.
        """
        owner, rows = self._find_rows(trends)
        kept = self.known[rows]
        owner, rows = owner[kept], rows[kept]
        if each_once:
            codes = self.values[rows]
            _, place = np.unique(owner * (int(codes.max(initial=0)) + 1) + codes, return_index=True)
            place.sort()
            owner, rows = owner[place], rows[place]
        ends = np.cumsum(np.bincount(owner, minlength=trends.count))
        starts = pa.array(np.concatenate([[0], ends]).astype(np.int32))
        return pa.ListArray.from_arrays(starts, pc.take(self.column, pa.array(rows)))

    def _find_pairs(self, trends: ShownTrends) -> np.ndarray:
        """Numbers of trends and codes of their values, each pair once, in order."""
        owner, codes = self._find_values(trends)
        total = int(codes.max()) + 1 if codes.size else 1
        pairs = different_numbers(owner * total + codes)
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
        owner, rows = self._find_rows(trends)
        used = self.known[rows]
        return owner[used], self.values[rows[used]]

    def _find_rows(self, trends: ShownTrends) -> tuple[np.ndarray, np.ndarray]:
        """The number of the trend of each event that is read as the variable, and its row."""
        owner = np.repeat(np.arange(trends.count), trends.lengths)
        used = trends.variables == self.variable
        return owner[used], trends.rows[used]


def spread_values(column: AggregateColumn, values: pa.ChunkedArray, variable: int) -> SpreadValues:
    """Prepare what is looked at.

    Args:
        column: The aggregate.
        values: Its column.
        variable: The number of its variable.

    Returns:
        What finds it for trends.
    """
    if column.function in ("COLLECT_LIST", "NTH"):
        valid = np.asarray(values.is_valid())
        return SpreadValues(valid, valid, variable, column=join_chunks(values))
    if column.distinct or column.function == "COLLECT_SET":
        whole = join_chunks(values)
        found = distinct_codes(whole)
        return SpreadValues(found.codes, found.codes != NO_VALUE, variable, found.dictionary, whole)
    numbers, known = as_numbers(values, column)
    scale = values.type.scale if pa.types.is_decimal(values.type) else 0
    return SpreadValues(numbers, np.ones(numbers.size, np.bool_) if known is None else known, variable, scale=scale)
