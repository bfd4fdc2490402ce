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
    after_match,
    avg,
    complete,
    complete_trends,
    count,
    count_distinct,
    each,
    first,
    last,
    limit,
    longest,
    maximum,
    minimum,
    rows,
    sample,
    stddev,
    total,
    trends,
    variance,
)
from trendweave.build.patterns import both, either, event, negate, optional, plus, seq, star, times
from trendweave.build.queries import query
from trendweave.build.scalars import (
    Scalar,
    all_of,
    any_of,
    attr,
    call,
    case,
    cast,
    descending,
    first_of,
    last_of,
    lit,
    named,
    next_of,
    prev_of,
    same,
    value_of,
)

__all__ = [
    "Scalar",
    "after_match",
    "all_of",
    "any_of",
    "attr",
    "avg",
    "both",
    "call",
    "case",
    "cast",
    "complete",
    "complete_trends",
    "count",
    "count_distinct",
    "descending",
    "each",
    "either",
    "event",
    "first",
    "first_of",
    "last",
    "last_of",
    "limit",
    "lit",
    "longest",
    "maximum",
    "minimum",
    "named",
    "negate",
    "next_of",
    "optional",
    "plus",
    "prev_of",
    "query",
    "rows",
    "same",
    "sample",
    "seq",
    "star",
    "stddev",
    "times",
    "total",
    "trends",
    "value_of",
    "variance",
]
