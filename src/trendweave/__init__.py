"""Event-trend analytics for Apache Spark: aggregates over all trends of a pattern, without building them.

>>> import trendweave
>>> print(trendweave.query("return count(*) pattern Stock S+ within 1 min slide 10s"))
RETURN COUNT(*)
PATTERN Stock S+
WITHIN 1 minute SLIDE 10 seconds
"""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from trendweave import errors
from trendweave.errors import TrendweaveError
from trendweave.planning import IntervalPlan, Plan, SituatedPlan
from trendweave.queries import Query, query

__all__ = [
    "IntervalPlan",
    "Metrics",
    "Plan",
    "Query",
    "SituatedPlan",
    "TrendweaveError",
    "errors",
    "query",
    "warm_up",
]
try:
    __version__ = version("trendweave")
except PackageNotFoundError:  # a zip of the package, as executors of Spark may get it, is not installed
    __version__ = "unknown"


def __getattr__(name: str) -> Any:
    """`Metrics` needs PySpark and `warm_up` needs Numba, which are imported by those who use them."""
    if name == "Metrics":
        from trendweave.runners.spark.metrics import Metrics

        return Metrics
    if name == "warm_up":
        from trendweave.runners.warm_up import warm_up

        return warm_up
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
