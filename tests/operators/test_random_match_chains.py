"""Chains with a query in them against the slow twin: windows, then matches over their rows, then windows over those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.running import assert_rows_in_any_order, cuts, in_pieces, pushed
from tests.profiles import examples
from tests.reference.operators.aggregation import window_aggregate
from tests.reference.operators.events import Event
from tests.reference.operators.matching import Bound, Symbol, contiguous, match, skip_till_any, skip_till_next
from tests.reference.operators.windows import Rows, Span
from trendweave import operators as ops

STRATEGIES = {
    "skip-till-any-match": skip_till_any,
    "skip-till-next-match": skip_till_next,
    "contiguous": contiguous,
}
SCHEMA = pa.schema({"time": pa.int64(), "v": pa.int64()})


@dataclass(frozen=True)
class Case:
    """Sums of windows of time, matches of rising sums, and the number of matches in windows of rows.

    Attributes:
        events: In order of arrival.
        length: The length of the windows of time.
        within: How far the events of a match may be apart; the window of the query is one second longer.
        strategy: How matches are selected.
    """

    events: list[Event]
    length: int
    within: int
    strategy: str

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_pylist(self.events, SCHEMA)

    @property
    def operator(self) -> ops.Chain:
        matches = ops.match(
            "RETURN EACH FIRST(A.n) AS low, COUNT(B) AS b PATTERN SEQ(Row A, Row B*, Row C) "
            "WHERE A.n < B.n AND C.n = 1 "
            f"SEMANTICS {self.strategy} WITHIN {self.within + 1} seconds"
        )
        sums = ops.window_aggregate("COUNT(*) AS n, SUM(v) AS s", within=f"{self.length} seconds")
        return sums | matches | ops.window_aggregate("SUM(b) AS b, MIN(low) AS low", rows=2, slide_rows=1)

    @property
    def expected(self) -> list[Event]:
        sums = [("n", "COUNT", None), ("s", "SUM", "v")]
        rows = window_aggregate(self.events, sums, Span(self.length, self.length), schema=["time", "v"])
        symbols = [
            Symbol("A", lambda event, bound: True),
            Symbol("B", _is_more_than_the_first, star=True),
            Symbol("C", lambda event, bound: event["n"] == 1),
        ]
        # An event may be read as B and as C; what they are read as is known by their places.
        found = match(rows, symbols, self.within, STRATEGIES[self.strategy], greedy=False)
        matches = [{"time": one[-1]["time"], "low": one[0]["n"], "b": len(one) - 2} for one in found]
        wanted = [("b", "SUM", "b"), ("low", "MIN", "low")]
        return window_aggregate(matches, wanted, Rows(2, 1), schema=["time", "low", "b"])


def _is_more_than_the_first(event: Event, bound: Bound) -> bool:
    return bool(event["n"] > bound[0][1]["n"])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    moments = draw(st.lists(st.integers(-3, 14), max_size=12))
    events: list[Event] = [{"time": moment, "v": draw(st.integers(-2, 2) | st.none())} for moment in moments]
    return Case(events, draw(st.integers(1, 3)), draw(st.integers(1, 12)), draw(st.sampled_from(sorted(STRATEGIES))))


class OfOneType:
    """The chain, with events that have no column of types."""

    def __init__(self, chain: ops.Chain) -> None:
        self._chain = chain

    def incremental(self, schema: pa.Schema, time: str) -> Any:
        return self._chain.incremental(schema, time=time, type=None)

    def push(self, schema: pa.Schema, time: str) -> Any:
        return self._chain.push(schema, time=time, type=None)


@examples(40)
@given(cases())
def test_whole_tables(case: Case) -> None:
    found = case.operator.run(case.table, type=None)
    assert_rows_in_any_order(found.to_pylist(), case.expected)


@examples(25)
@given(cases(), cuts)
def test_pieces(case: Case, shares: list[float]) -> None:
    found = in_pieces(OfOneType(case.operator), case.table, shares)
    assert_rows_in_any_order(found.to_pylist(), case.expected)


@examples(15)
@given(cases())
def test_event_by_event(case: Case) -> None:
    found = pushed(OfOneType(case.operator), case.table)
    assert_rows_in_any_order(found.to_pylist(), case.expected)
