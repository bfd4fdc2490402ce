"""Queries from Python, without text. The same tree comes out as from the text, with the same checks.

>>> from trendweave.build import attr, count, event, next_of, plus, query, same
>>> down = query(
...     plus(event("Stock", "S")),
...     returns=["sector", count()],
...     where=[same("company", "sector"), attr("S.price") > next_of("S.price")],
...     group_by=["sector"], within="10 minutes", slide="10 seconds",
... )
>>> print(down)
RETURN sector, COUNT(*)
PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector
WITHIN 10 minutes SLIDE 10 seconds
"""

from trendweave.build.outputs import (
    avg,
    complete_trends,
    count,
    each,
    first,
    last,
    limit,
    longest,
    maximum,
    minimum,
    sample,
    total,
    trends,
)
from trendweave.build.patterns import both, either, event, negate, optional, plus, seq, star, times
from trendweave.build.queries import query
from trendweave.build.scalars import Scalar, all_of, any_of, attr, call, cast, lit, next_of, same

__all__ = [
    "Scalar",
    "all_of",
    "any_of",
    "attr",
    "avg",
    "both",
    "call",
    "cast",
    "complete_trends",
    "count",
    "each",
    "either",
    "event",
    "first",
    "last",
    "limit",
    "lit",
    "longest",
    "maximum",
    "minimum",
    "negate",
    "next_of",
    "optional",
    "plus",
    "query",
    "same",
    "sample",
    "seq",
    "star",
    "times",
    "total",
    "trends",
]
