"""The syntax tree of a trend query whose events lie in situations, and what all trees have in common.

    RETURN COUNT(*) PATTERN Stock S+
    DEFINE Busy AS volume > 1000 AT LEAST 1 minute
    WHERE [company] AND S DURING Busy AND S.price > NEXT(S).price

`S DURING Busy` decides which events can be read as S: those with `start <= time < end` of a situation of the same
partition, which is that of the trend.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from trendweave.language.interval_tree import IntervalColumns, IntervalTree, Situation
from trendweave.language.syntax_tree import Node, QueryTree


@dataclass(frozen=True, slots=True)
class SituatedTree(Node):
    """A trend query, with the situations that its conditions name. `source` is the type of the events that make them,
    None for all events."""

    trend: QueryTree
    situations: tuple[Situation, ...]
    source: str | IntervalColumns | None = None


#: The tree of a query, whatever its kind.
Tree: TypeAlias = QueryTree | IntervalTree | SituatedTree
