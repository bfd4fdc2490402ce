"""Kernels: arrays in, arrays out. `aggregates/entry.py` is the entry, `aggregates/propagate.py` has the idea."""

from trendweave.kernels.aggregates.entry import aggregate, split_queries
from trendweave.kernels.aggregates.match_starts import NO_MATCH, match_starts
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
    "split_queries",
]  # fmt: skip
