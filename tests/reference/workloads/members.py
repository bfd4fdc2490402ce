"""One query of a workload, with what the reference twin says about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.reference.comparer import assert_same_rows
from tests.reference.query import Aggregate, Attribute, Query
from tests.reference.ranking import assert_first_rows, assert_in_order
from tests.reference.results import ranked_rows, rows
from tests.reference.trend_rows import each_rows, trend_rows

INTERVAL = "interval"
SHOWN = (Attribute("x"), Attribute("s"))

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Member:
    """A named query; its kind is "aggregates", "trends", "each", "rows" or "interval" (of those there is only text)."""

    name: str
    kind: str
    query: Query | None
    written: str
    outputs: tuple[Aggregate, ...] = ()

    def assert_rows(self, events: list[dict[str, Any]], found: Rows, in_order: bool = True) -> None:
        """Raise AssertionError unless these are its rows. ROWS and intervals have their judges elsewhere."""
        if self.query is None or self.kind == "rows":
            return
        if self.kind == "trends":
            assert_same_rows(trend_rows(self.query, events, SHOWN), found, self.written)
        elif self.kind == "each":
            assert_same_rows(each_rows(self.query, events, self.outputs), found, self.written)
        elif not self.query.order_by:
            assert_same_rows(rows(self.query, events), found, self.written)
        else:
            ranked = ranked_rows(self.query, events)
            assert_first_rows(ranked, list(found), self.query.limit, self.written)
            if in_order:
                assert_in_order(ranked, list(found), self.written)
