"""Lists under WITHIN alone against the reference twin: each trend once, absence with a time-out, complete trends."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as hs

from tests.profiles import examples
from tests.reference.query import Attribute, Query
from tests.reference.streams import queries_and_streams
from tests.reference.trend_rows import shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_trends_against_reference import counted, planned

PLAIN = (Attribute("x"), Attribute("s"))
#: Refused with a reason: alternatives of which only some begin or end with NOT (TW231).
ALSO_REFUSED = frozenset({"TW231"})

plain = queries_and_streams(empty=False, conjunction=False, lists=True, moving=True)
negated = queries_and_streams(negation=True, empty=False, conjunction=False, lists=True, moving=True)


@given(plain | negated, hs.booleans())
@examples(300)
def test_a_table(case: tuple[Query, list[dict]], complete: bool) -> None:
    query, events = case
    asked = planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"), ALSO_REFUSED)
    found = rows_of(asked.run(table_of(events)))
    assert counted(found) == counted(trend_rows(query, events, PLAIN, complete)), str(asked)


@given(plain | negated, hs.booleans(), hs.integers(0, 10**6))
@examples(150)
def test_pieces(case: tuple[Query, list[dict]], complete: bool, seed: int) -> None:
    """In order of time, in pieces, with a watermark just behind each: nothing is late, and nothing comes twice."""
    query, events = case
    asked = planned(shown_text(query, f"{'COMPLETE ' if complete else ''}TRENDS(x, s)"), ALSO_REFUSED)
    table = table_of(events)
    table = table.sort_by("time")
    times, draw = table.column("time").to_pylist(), random.Random(seed)
    engine = asked.incremental(table.schema)
    state, found, low = engine.start(), [], 0
    while low < table.num_rows:
        high = min(table.num_rows, low + draw.randint(1, 3))
        watermark = times[high] if high < table.num_rows and times[high] is not None else None
        state, rows = engine.push(engine.read(state.to_bytes()), table.slice(low, high - low), watermark)
        found += rows_of(rows)
        low = high
    found += rows_of(engine.finish(state))
    assert state.late == 0
    assert counted(found) == counted(trend_rows(query, events, PLAIN, complete)), str(asked)
