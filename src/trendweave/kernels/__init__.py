"""Kernels: arrays in, arrays out. See `trend_aggregates.py` for the entry and `propagate.py` for the idea."""

from trendweave.kernels.aggregates.entry import aggregate
from trendweave.kernels.aggregates.match_starts import NO_MATCH, match_starts
from trendweave.kernels.aggregates.passes import CountTooLargeError
from trendweave.kernels.inputs import Aggregate, Comparison, Condition, PairTest, Results, Rows, Template
from trendweave.kernels.warm_up import warm_up

__all__ = [
    "NO_MATCH", "Aggregate", "Comparison", "Condition", "CountTooLargeError", "PairTest", "Results", "Rows", "Template",
    "aggregate", "match_starts", "warm_up",
]  # fmt: skip
