"""Event-trend analytics for Apache Spark: aggregates over all trends of a pattern, without building them.

>>> import trendweave
>>> print(trendweave.query("return count(*) pattern Stock S+ within 1 min slide 10s"))
RETURN COUNT(*)
PATTERN Stock S+
WITHIN 1 minute SLIDE 10 seconds
"""

from importlib.metadata import version

from trendweave import errors
from trendweave.errors import TrendweaveError
from trendweave.queries import Query, query

__all__ = ["Query", "TrendweaveError", "errors", "query"]
__version__ = version("trendweave")
