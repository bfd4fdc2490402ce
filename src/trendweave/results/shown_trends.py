"""Trends as they are written: rows of a table and variables, one trend after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trendweave.kernels.sorting import list_ranges
from trendweave.rows.encoded import EncodedRows


@dataclass(frozen=True, slots=True)
class ShownTrends:
    """Trends one after the other: rows of the task's table, variables by number, and where each trend begins; and of
    each trend the key of its window and the number of its group."""

    rows: np.ndarray
    variables: np.ndarray
    starts: np.ndarray
    window: np.ndarray
    group: np.ndarray

    @property
    def count(self) -> int:
        """How many trends there are."""
        return int(self.group.size)

    @property
    def lengths(self) -> np.ndarray:
        """How many events each trend has."""
        return np.diff(self.starts)

    def take(self, chosen: np.ndarray) -> ShownTrends:
        """Take some of the trends.

        Args:
            chosen: Their numbers, in the order that is wanted.

        Returns:
            These trends.
        """
        events, starts = take_lists(self.starts, chosen)
        return ShownTrends(self.rows[events], self.variables[events], starts, self.window[chosen], self.group[chosen])


def take_lists(starts: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take some of the lists that stand one after the other.

    Args:
        starts: Where each begins, with the end of the last.
        chosen: Their numbers, in the order that is wanted.

    Returns:
        The places of what they hold, and where each begins then.
    """
    lengths = np.diff(starts)[chosen]
    return list_ranges(starts[chosen], lengths), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def join_trends(parts: Sequence[ShownTrends]) -> ShownTrends:
    """Put trends of one task one after the other.

    Args:
        parts: Some trends each; at least one part.

    Returns:
        All of them.
    """
    if len(parts) == 1:
        return parts[0]
    starts = np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))]).astype(np.int64)
    return ShownTrends(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.variables for part in parts]),
        starts,
        np.concatenate([part.window for part in parts]),
        np.concatenate([part.group for part in parts]),
    )


def find_partitions(rows: EncodedRows, trends: ShownTrends) -> np.ndarray:
    """Find the partition of each trend.

    Args:
        rows: The rows that trends are made of.
        trends: The trends.

    Returns:
        The number of the partition of each.
    """
    first = trends.rows[trends.starts[:-1]]
    return np.searchsorted(rows.partitions.starts, first, side="right") - 1


@dataclass(frozen=True, slots=True)
class FoldedOutput:
    """What was folded for one output of RETURN EACH, per trend: a sum, the number of values (of COUNT: of events), and
    the row of the first, last or largest one (-1: none). Only those are there that the output asks for."""

    sums: np.ndarray
    counts: np.ndarray
    rows: np.ndarray

    def take(self, chosen: np.ndarray) -> FoldedOutput:
        """Take some of the trends, by their numbers."""
        columns = (self.sums, self.counts, self.rows)
        return FoldedOutput(*(values[chosen] if values.size else values for values in columns))

    def put(self, places: np.ndarray, other: FoldedOutput) -> None:
        """Set what was folded of some trends."""
        columns = zip((self.sums, self.counts, self.rows), (other.sums, other.counts, other.rows), strict=True)
        for values, others in columns:
            if values.size:
                values[places] = others


@dataclass(frozen=True, slots=True)
class FoldedTrends:
    """Trends of which nothing is kept but what was folded for each output; window and group as of `ShownTrends`."""

    outputs: list[FoldedOutput]
    window: np.ndarray
    group: np.ndarray

    @property
    def count(self) -> int:
        """How many trends there are."""
        return int(self.window.size)


def join_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Make one array of a column, of dictionaries what they hold; taking from one array is quicker than from many.

    Args:
        column: The column.

    Returns:
        The array.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)
