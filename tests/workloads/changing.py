"""Queries that come and go: what each of them should have found, for tests of workloads that change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import trendweave
from tests.reference.comparer import assert_same_rows, difference
from tests.reference.query import Moving, Sliding
from tests.reference.results import rows
from tests.reference.trend_rows import each_rows, trend_rows
from tests.reference.workloads.members import INTERVAL, SHOWN, Member
from tests.runners.reference_tables import rows_of, table_of
from trendweave.planning import IntervalPlan
from trendweave.planning.plan import MovingWindow, SlidingWindow

Row = dict[str, Any]
SECOND = 1_000_000_000

#: Kinds of queries that related workloads have seldom or never; the engine alone is their judge.
FURTHER = (
    "RETURN EACH FIRST(A.s), COUNT(B), COLLECT_LIST(B.s) AS listed, B[2].s AS second PATTERN SEQ(A, B+) WHERE [k] "
    "SEMANTICS skip-till-next-match WITHIN 5 seconds AFTER MATCH SKIP PAST LAST EVENT",
    "RETURN EACH LENGTH AS long PATTERN (A OR B)+ WHERE [g] SEMANTICS contiguous WITHIN 4 seconds SLIDE 2 seconds "
    "AFTER MATCH SKIP PAST LAST EVENT",
    "RETURN k, COUNT(*) PATTERN B+ WHERE [k] GROUP-BY k WITHIN SESSION 3 seconds",
    "RETURN TRENDS(x) PATTERN SEQ(A, NOT N, B) WITHIN SESSION 2 seconds",
    "RETURN COUNT(*) AS many, SUM(B.x) PATTERN SEQ(A, B+) WITHIN 6 seconds SLIDE 2 seconds HAVING COUNT(*) > 1",
    "RETURN g, COUNT(*) PATTERN B+ WHERE B.x >= 0 GROUP-BY g WITHIN 5 seconds",
    "RETURN TRENDS(s) PATTERN SEQ(A, B, NOT N) WHERE [k] WITHIN 4 seconds",
    "RETURN TRENDS(s) PATTERN (SEQ(A, NOT N) OR SEQ(A, B)) WHERE [k] WITHIN 4 seconds",
    "RETURN COMPLETE TRENDS(s) PATTERN SEQ(A, B+) WHERE [k] SEMANTICS skip-till-next-match WITHIN 6 seconds",
    "RETURN COUNT(*) PATTERN B S+ WHERE S DURING X WITHIN 6 seconds SLIDE 3 seconds DEFINE X AS x > 0",
    "DEFINE P AS x > 0, Q AS y > 0 PATTERN P overlaps; before; meets Q WITHIN 6 seconds",
    "PARTITION BY k DEFINE P AS x > 0 RETURN SITUATIONS",
    "PARTITION BY k DEFINE P AS x > 0, Q AS y > 0 PATTERN P before; contains; overlaps Q WITHIN 8 seconds "
    "EVERY 4 seconds RETURN COUNT(*) AS matches",
)


def further_members() -> list[Member]:
    return [Member(f"f{number}", INTERVAL, None, text) for number, text in enumerate(FURTHER)]


@dataclass
class Life:
    """A query from when it came until it was dropped, and what it gave. `came` is None if it was there first."""

    member: Member
    came: int | None
    found: list[Row] = field(default_factory=list)

    def expected(self, events: Sequence[Row]) -> list[Row]:
        """The rows of the query alone that begin at or after it came."""
        seen = [one for one in events if self.came is None or one["time"] is None or one["time"] >= self.came]
        query = trendweave.query(self.member.written)
        window = getattr(getattr(query.plan, "trend", query.plan), "window", None)
        whole = isinstance(window, SlidingWindow) or (isinstance(window, MovingWindow) and window.by == "time")
        if whole and query.plan is not None and not hasattr(query.plan, "trend"):
            seen = list(events)  # what lies in a window of its own needs nothing from before it
        found = self._judged(query, seen)
        if self.came is None:
            return found
        if isinstance(window, SlidingWindow) or (isinstance(query.plan, IntervalPlan) and query.plan.every):
            return [row for row in found if row["window_start"] >= self.came]
        if whole:
            assert isinstance(window, MovingWindow)
            return [row for row in found if row["time"] - window.length // SECOND >= self.came]
        return found

    def _judged(self, query: trendweave.Query, events: list[Row]) -> list[Row]:
        """By the reference twin where it knows the query."""
        member = self.member
        if member.query is not None and not member.query.order_by:
            if member.kind == "aggregates":
                return list(rows(member.query, events))
            if member.kind == "trends" and not isinstance(member.query.window, Moving | Sliding):
                return list(trend_rows(member.query, events, SHOWN))
            if member.kind == "each":
                return list(each_rows(member.query, events, member.outputs))
        return rows_of(query.run(table_of(events)))

    def check_all(self, events: Sequence[Row]) -> None:
        assert_same_rows(self.expected(events), self.found, f"{self.member.written}, since {self.came}")

    def check_some(self, events: Sequence[Row]) -> None:
        """Of a query that was dropped: what it gave until then was right, and not given twice."""
        unexpected = difference(self.expected(events), self.found)[1]
        assert not unexpected, (self.member.written, self.came, unexpected)
