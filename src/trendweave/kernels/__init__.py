"""Kernels: arrays in, arrays out. See `trend_aggregates.py` for the entry and `propagate.py` for the idea."""

from .inputs import Aggregate, Comparison, Condition, PairTest, Results, Rows, Template
from .match_starts import NO_MATCH, match_starts
from .passes import CountTooLargeError
from .trend_aggregates import aggregate
from .warm_up import warm_up

__all__ = [
    "NO_MATCH", "Aggregate", "Comparison", "Condition", "CountTooLargeError", "PairTest", "Results", "Rows", "Template",
    "aggregate", "match_starts", "warm_up",
]  # fmt: skip
