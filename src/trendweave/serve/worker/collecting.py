"""Which rows of a result a page gets: the first ones, of a workload the first ones of each query."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

#: How long rows that are not shown are counted, in seconds: most results that are cut are not much longer.
_COUNTING = 1.0
#: The name of a query that is alone.
ALONE = ""


@dataclass(frozen=True, slots=True)
class Collected:
    """Rows that a page gets.

    Attributes:
        rows: The rows, of all queries.
        totals: How many there are of each query; of those that were counted where `is_whole` is false.
        is_whole: Whether all rows were counted.
    """

    rows: pa.Table
    totals: Counter[str]
    is_whole: bool

    def total_of(self, name: str) -> int | None:
        """How many rows a query has; None where that is not known."""
        return self.totals[name] if self.is_whole else None


def collect(batches: Iterable[pa.RecordBatch], schema: pa.Schema, most: int, names: Sequence[str]) -> Collected:
    """Take rows, about `most` of them.

    Args:
        batches: All rows.
        schema: Their columns.
        most: How many rows a page gets.
        names: The queries, which share them evenly; `ALONE` for one alone.
    """
    each = max(1, most // len(names))
    taken: list[pa.RecordBatch] = []
    totals: Counter[str] = Counter()
    end = None
    for batch in batches:
        for name, own in _split(batch, names):
            taken.append(own.slice(0, max(0, each - totals[name])))
            totals[name] += own.num_rows
        if all(totals[name] > each for name in names):
            end = end or time.monotonic() + _COUNTING
            if time.monotonic() > end:
                return Collected(pa.Table.from_batches(taken, schema), totals, False)
    return Collected(pa.Table.from_batches(taken, schema), totals, True)


def _split(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each query that a batch has."""
    if tuple(names) == (ALONE,):
        yield ALONE, batch
        return
    column = batch.column("query")
    for name in pc.unique(column).to_pylist():
        yield name, batch.filter(pc.equal(column, pa.scalar(name, column.type)))
