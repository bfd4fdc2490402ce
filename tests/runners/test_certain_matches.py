"""Lists under WITHIN alone piece by piece: a match comes out once it is certain, and rows are those of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from tests.reference.certainty import certain
from tests.reference.pattern import can_end_with_not
from tests.reference.query import Attribute, Moving, Query
from tests.reference.streams import crossed_cases, queries_and_streams
from tests.reference.trend_rows import rows_of_trends, shown_text, trend_rows
from tests.runners.reference_tables import rows_of, table_of
from tests.runners.test_each_trend_once import ALSO_REFUSED
from tests.runners.test_trends_against_reference import counted, planned
from trendweave.errors import DataError

PLAIN = (Attribute("x"), Attribute("s"))
LOG_INS = pa.schema({"time": pa.int64(), "type": pa.string(), "user": pa.string(), "result": pa.string()})
Row = dict[str, Any]

lists = {"empty": False, "conjunction": False, "lists": True, "moving": True}
selected = queries_and_streams(choice=True, **lists) | queries_and_streams(choice=True, whole=True, **lists)
#: Complete trends of strategies under which beginnings end soon.
complete = queries_and_streams(choice=True, **lists).map(
    lambda case: (replace(case[0], complete=True, after_match=None, per_start=None), case[1])
)
unselected = complete | queries_and_streams(complete=True, **lists) | queries_and_streams(negation=True, **lists)
crossed = crossed_cases(lists=True, empty=False, moving=True)


def is_told(query: Query) -> bool:
    """Does the reference tell when its matches are certain?"""
    chooses = query.after_match is not None or query.per_start is not None
    told = not chooses or not (query.complete or can_end_with_not(query.pattern))
    return told and isinstance(query.window, Moving)


def pieces_of(events: list[Row], data: hs.DataObject) -> list[tuple[list[Row], int | None]]:
    """The events in any order, in pieces, and after each a watermark at which none of the others is late."""
    arriving = data.draw(hs.permutations([event for event in events if event["time"] is not None]))
    if data.draw(hs.booleans()):
        arriving = sorted(arriving, key=lambda event: event["time"])
    cuts = sorted(data.draw(hs.sets(hs.integers(0, len(arriving)), max_size=6)))
    pieces = []
    for low, high in zip([0, *cuts], [*cuts, len(arriving)], strict=True):
        left = [event["time"] for event in arriving[high:]]
        beyond = max((event["time"] for event in arriving), default=0) + data.draw(hs.integers(1, 14))
        pieces.append((arriving[low:high], min(left) if left else beyond))
    return pieces


def check_piece_by_piece(query: Query, events: list[Row], data: hs.DataObject) -> None:
    """All that is certain has come out at each watermark, and in the end the rows of a batch."""
    returned = "COMPLETE TRENDS(x, s)" if query.complete else "TRENDS(x, s)"
    asked = planned(shown_text(query, returned), ALSO_REFUSED)
    engine = asked.incremental(table_of(events).schema)
    state, found, arrived = engine.start(), [], []
    for piece, watermark in pieces_of(events, data):
        state, rows = engine.push(engine.read(state.to_bytes()), table_of(piece), watermark)
        found += rows_of(rows)
        arrived += piece
        if is_told(query):
            expected = rows_of_trends(query, arrived, certain(query, arrived, watermark, ("x", "s")), PLAIN)
            assert counted(expected) <= counted(found), f"{asked} at {watermark}"
    found += rows_of(engine.finish(state))
    assert state.late == 0
    assert counted(found) == counted(trend_rows(query, arrived, PLAIN)), str(asked)


@given(selected, hs.data())
@examples(200)
def test_as_soon_as_it_is_certain(case: tuple[Query, list[Row]], data: hs.DataObject) -> None:
    check_piece_by_piece(*case, data)


@given(unselected, hs.data())
@examples(200)
def test_complete_and_those_that_end_with_not(case: tuple[Query, list[Row]], data: hs.DataObject) -> None:
    check_piece_by_piece(*case, data)


@given(crossed, hs.data())
@examples(100)
def test_whatever_comes_together(case: tuple[Query, list[Row]], data: hs.DataObject) -> None:
    """Complete matches, conditions on earlier events, NOTs anywhere, keys of one variable: all of it together."""
    check_piece_by_piece(*case, data)


def test_a_log_in_after_three_failures_is_told_at_once() -> None:
    query = trendweave.query("""
        RETURN EACH user, COUNT(F) AS failed PATTERN SEQ(Login F{3,}, Login S)
        WHERE [user] AND F.result = 'failed' AND S.result = 'success' GROUP-BY user
        SEMANTICS contiguous WITHIN 1 day AFTER MATCH SKIP PAST LAST EVENT
    """)
    log_ins = [(0, "failed"), (10, "failed"), (20, "failed"), (30, "success")]
    events = [{"time": time, "type": "Login", "user": "ann", "result": result} for time, result in log_ins]
    session = query.push(LOG_INS, watermark="1 second")
    assert [row for event in events for row in session.send(event)] == []
    later = {"time": 32, "type": "Login", "user": "bob", "result": "failed"}
    assert session.send(later) == [{"time": 30, "user": "ann", "failed": 3}]
    assert session.finish().num_rows == 0


@pytest.mark.parametrize("clause", ["SHORTEST PER START", "SHORTEST PER START AFTER MATCH SKIP PAST LAST EVENT"])
def test_the_shortest_of_beginnings_of_one_time_wait_for_each_other_alone(clause: str) -> None:
    """Each has its match at 2, and what they could still grow into changes nothing."""
    query = trendweave.query(f"""
        RETURN EACH COUNT(B) AS n PATTERN SEQ(A, B+) WHERE A.x = B.x
        SEMANTICS skip-till-next-match WITHIN 10 seconds {clause}
    """)

    def told(*times: int, values: list[int]) -> list[int]:
        session, rows = query.push(table_of([]).schema), []
        for time, type_, x in zip((1, 1, *times), "AABBB", values, strict=False):
            rows.append(len(session.send(_event(time, type_) | {"x": x})))
        return rows

    both = 1 if "PAST" in clause else 2
    assert told(2, 3, 4, values=[1, 1, 1, 1, 1]) == [0, 0, 0, both, 0]
    assert told(2, 3, 4, values=[1, 2, 1, 2, 3]) == [0, 0, 0, 0, both]


def test_states_of_releases_in_which_matches_waited_go_on() -> None:
    """In these, beginnings of the last WITHIN were yet to be looked at, save those that were taken away."""
    query = trendweave.query("""
        RETURN EACH k, FIRST(A.time) AS since PATTERN SEQ(A+, B) GROUP-BY k
        SEMANTICS skip-till-next-match WITHIN 10 seconds AFTER MATCH SKIP PAST LAST EVENT
    """)
    events = table_of([_event(time, type_) for time, type_ in ((1, "A"), (2, "B"), (3, "A"), (4, "B"))])
    engine = query.incremental(events.schema)
    waited = replace(engine.take(engine.start(), events), watermark=9, closed=9)
    state, found = engine.push(engine.read(waited.to_bytes()), table_of([_event(9, "A")]), 10)
    assert [row["since"] for row in rows_of(found)] == [1, 3]
    assert engine.push(state, table_of([]), 40)[1].num_rows == 0
    (keys,) = {name for name in waited.rows.column_names if name.startswith("c")} & set(
        state.carry["taken"].column_names
    )
    taken = pa.table({keys: pa.array([1], pa.int64()), "trendweave_until": pa.array([2], pa.int64())})
    later = replace(waited, carry={"taken": taken})
    assert [row["since"] for row in rows_of(engine.finish(engine.read(later.to_bytes())))] == [3]


@pytest.mark.parametrize(
    ("complete", "pattern"), [("COMPLETE ", "A+"), ("COMPLETE ", "A{2}"), ("", "(SEQ(A, NOT C) OR SEQ(A, B))")]
)
def test_states_that_lack_matches_that_waited_are_refused(
    complete: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases before had not yet shown matches that come earlier now; their states have the name of their rule."""
    query = trendweave.query(f"RETURN {complete}TRENDS PATTERN {pattern} WHERE [k] WITHIN 9 seconds")
    schema = table_of([]).schema
    state = query.incremental(schema).start()
    assert query.incremental(schema).read(state.to_bytes())
    monkeypatch.setattr("trendweave.programs.trends.bound._name_rule", lambda *_: "each trend once")
    before = query.incremental(schema).start()
    monkeypatch.undo()
    with pytest.raises(DataError, match="the release that made it"):
        query.incremental(schema).read(before.to_bytes())


def _event(time: int, type_: str) -> Row:
    return {"time": time, "type": type_, "x": 0, "y": 0.0, "s": "p", "k": 1, "g": "u"}
