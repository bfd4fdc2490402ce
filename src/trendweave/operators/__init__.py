"""Operators on streams of events: filter, window aggregate, window join and match; alone or in chains.

>>> from trendweave import operators as ops
>>> hot = ops.filter("temperature > 80")
>>> means = ops.window_aggregate("AVG(temperature) AS mean", rows=100, slide_rows=10, keys=["machine"])
>>> print(hot | means)
FILTER temperature > 80 | AGGREGATE AVG(temperature) AS mean OVER 100 ROWS SLIDE 10 ROWS BY machine
"""

from trendweave.operators.making import filter, match, window_aggregate, window_join
from trendweave.operators.operator import Chain, Operator
from trendweave.operators.pipes import pipe

__all__ = ["Chain", "Operator", "filter", "match", "pipe", "window_aggregate", "window_join"]
