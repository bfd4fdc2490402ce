"""Does a query fit a table? Asked before anything runs, by kinds of columns alone."""

from trendweave.planning.checks.queries import check_query

__all__ = ["check_query"]
