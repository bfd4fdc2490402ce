"""Kernels: arrays in, arrays out. `aggregates/entry.py` is the entry, `loops/propagate.py` has the idea."""

from trendweave.kernels.aggregates.entry import NO_MATCH, aggregate, match_starts, sort_by_query
from trendweave.kernels.aggregates.passes import CountTooLargeError
from trendweave.kernels.inputs import (
    Aggregate,
    Comparison,
    Condition,
    Measure,
    PairTest,
    QueryLanes,
    Results,
    Rows,
    Selection,
    Template,
    Way,
)

__all__ = [
    "NO_MATCH", "Aggregate", "Comparison", "Condition", "CountTooLargeError", "Measure", "PairTest",
    "QueryLanes", "Results", "Rows", "Selection", "Template", "Way", "aggregate", "match_starts",
    "sort_by_query",
]  # fmt: skip
