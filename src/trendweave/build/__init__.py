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

from trendweave.build.queries import (
    Scalar,
    all_of,
    any_of,
    attr,
    avg,
    both,
    call,
    cast,
    complete_trends,
    count,
    each,
    either,
    event,
    first,
    last,
    limit,
    lit,
    longest,
    maximum,
    minimum,
    negate,
    next_of,
    optional,
    plus,
    query,
    same,
    sample,
    seq,
    star,
    times,
    total,
    trends,
)

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
