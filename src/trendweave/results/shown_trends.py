"""Trends as they are written: rows of a table and variables, one trend after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


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


@dataclass(frozen=True, slots=True)
class FoldedOutput:
    """What was folded for one output of RETURN EACH, per trend: a sum, the number of values (of COUNT: of events), and
    the row of the first, last or largest one (-1: none). Only those are there that the output asks for."""

    sums: np.ndarray
    counts: np.ndarray
    rows: np.ndarray


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
