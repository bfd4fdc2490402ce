"""Patterns over intervals: situations that last, derived from events and related by Allen's relations (TPStream)."""

from trendweave.intervals.queries import IntervalQuery, interval_query

__all__ = ["IntervalQuery", "interval_query"]
