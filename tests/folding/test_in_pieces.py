"""Counters that are folded as the watermark moves on give the rows of the twin's counters, whatever the cuts, the order
of arrival and the events that come too late; and each row with the piece at which its window closes."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as hs

from tests.folding.expected import Case, expected_rows, folded_cases
from tests.folding.tables import SCHEMA, assert_same_rows, table_of
from tests.profiles import examples
from tests.reference import prefix_counters
from tests.reference.counted_streams import counted_queries, counted_streams
from tests.reference.query import Query, text
from tests.runners.test_incremental import pieces
from tests.runners.test_local_against_reference import planned
from trendweave.runners.incremental import Incremental, State


def folding_engine(query: Query) -> Incremental:
    """Sums of doubles are exact where rows are folded; templates of too many states are not."""
    engine = planned(query).incremental(SCHEMA, numbers="text")
    assert engine._steps is not None
    assume(engine._steps.folds)
    return engine


@given(folded_cases(), hs.data())
@examples(50)
def test_any_cut_gives_the_rows_of_one_batch(case: Case, data: hs.DataObject) -> None:
    query, events = case
    engine = folding_engine(query)
    state, found, whole = engine.start(), [], expected_rows(query, events)
    for piece, watermark in pieces(data, data.draw(hs.permutations(events))):
        state, table = engine.push(State.from_bytes(state.to_bytes()), table_of(piece), watermark)
        found += table.to_pylist()
        assert_closed(query, whole, found, state)
    found += engine.finish(state).to_pylist()
    assert state.late == 0
    assert_same_rows(whole, found, query, text(query))


def assert_closed(query: Query, whole: list[dict[str, Any]], found: list[dict[str, Any]], state: State) -> None:
    """The rows so far are those of the windows that the watermark has passed: none waits, none is early."""
    passed = [row for row in whole if state.watermark is not None and row["window_end"] <= state.watermark]
    assert_same_rows(passed, found, query, f"up to {state.watermark}: {text(query)}")


@given(folded_cases(), hs.data())
@examples(25)
def test_late_events_are_dropped_and_counted(case: Case, data: hs.DataObject) -> None:
    query, events = case
    engine = folding_engine(query)
    state, found, in_time, late = engine.start(), [], [], 0
    for event in data.draw(hs.permutations(events)):
        is_event = event["time"] is not None and event["type"] is not None
        if is_event and state.watermark is not None and event["time"] < state.watermark:
            late += 1
        else:
            in_time.append(event)
        state, table = engine.push(state, table_of([event]), data.draw(hs.none() | hs.integers(-6, 25)))
        found += table.to_pylist()
    found += engine.finish(state).to_pylist()
    assert state.late == late
    assert_same_rows(expected_rows(query, in_time), found, query, text(query))


@given(folded_cases(max_events=10), hs.data())
@examples(25)
def test_a_session_gives_the_same(case: Case, data: hs.DataObject) -> None:
    """Event by event, or as tables; the session is written down and taken up again somewhere."""
    query, events = case
    delay = data.draw(hs.integers(0, 9))
    asked = planned(query)
    folding_engine(query)
    session = asked.push(SCHEMA, watermark=f"{delay} seconds", numbers="text")
    found, in_time, latest = [], [], None
    for event in data.draw(hs.permutations(events)):
        time = event["time"]
        if time is not None and (latest is None or time >= latest - delay):
            in_time.append(event)
            latest = time if latest is None else max(latest, time)
        if data.draw(hs.booleans()):
            found += session.send(event)
        else:
            found += session.send_table(table_of([event])).to_pylist()
        if data.draw(hs.integers(0, 4)) == 4:
            session = asked.push(SCHEMA, watermark=f"{delay} seconds", numbers="text", state=session.state())
    found += session.finish().to_pylist()
    assert_same_rows(expected_rows(query, in_time), found, query, text(query))


# ------------------------------------------------------------------------------------------------------- longer streams


@given(counted_queries(), hs.integers(0, 2**32), hs.data())
@examples(6)
def test_counts_of_hundreds_of_digits(query: Query, seed: int, data: hs.DataObject) -> None:
    """A stream of copies of a few events is too long for 64 bits, and soon for all doubles."""
    few = [event for event in data.draw(counted_streams(query.pattern, 6)) if event["time"] is not None]
    draw = random.Random(seed)
    events = [draw.choice(few) | {"time": draw.randrange(90)} for _ in range(150)] if few else []
    engine = folding_engine(query)
    state, found = engine.start(), []
    to_come = sorted(events, key=lambda event: event["time"] + draw.randrange(8))  # none is behind by eight
    while to_come:
        size = draw.randrange(1, 40)
        piece, to_come = to_come[:size], to_come[size:]
        watermark = max(event["time"] for event in piece) - 8
        state, table = engine.push(engine.read(state.to_bytes()), table_of(piece), watermark)
        found += table.to_pylist()
    found += engine.finish(state).to_pylist()
    assert state.late == 0
    assert_same_rows(prefix_counters.rows(query, events), found, query, text(query))
