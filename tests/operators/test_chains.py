"""Chains give the same rows wherever events are: one table, pieces, pushed events, streams, stores."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as hs

from tests.operators.samples import CHAINS, make_events
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.streaming.simulated import SimulatedStream
from trendweave import EventStore, State, TrendweaveError
from trendweave import operators as ops

TIMED = make_events().filter(pc.is_valid(make_events().column("time")))


def in_pieces(chain: ops.Chain, events: pa.Table, cuts: list[int], delay: int) -> list[dict[str, Any]]:
    """Rows as they come out, with a state that is written and read between pieces."""
    engine, found = chain.incremental(events), []
    state = engine.start()
    for low, high in zip([0, *cuts], [*cuts, events.num_rows], strict=True):
        piece = events.slice(low, high - low)
        watermark = None if not piece.num_rows else pc.max(piece.column("time")).as_py() - delay
        state, rows = engine.push(state, piece, watermark)
        state = engine.read(State.to_bytes(state))
        found += rows.to_pylist()
    assert state.late == 0
    return found + engine.finish(state).to_pylist()


@cache
def of_one_table(chain: str) -> list[dict[str, Any]]:
    return ops.pipe(chain).run(TIMED.sort_by("time")).to_pylist()


@pytest.mark.parametrize("name", CHAINS)
@given(cuts=hs.lists(hs.integers(0, 300), max_size=6), delay=hs.integers(0, 20))
def test_pieces_give_the_rows_of_one_table(name: str, cuts: list[int], delay: int) -> None:
    chain, events = ops.pipe(CHAINS[name]), TIMED.sort_by("time")
    cuts = sorted(min(cut, events.num_rows) for cut in cuts)

    assert_same_rows(of_one_table(CHAINS[name]), in_pieces(chain, events, cuts, delay), context=f"{cuts} {delay}")


@pytest.mark.parametrize("name", CHAINS)
def test_pushed_events_give_the_rows_of_one_table(name: str) -> None:
    chain, events = ops.pipe(CHAINS[name]), TIMED.sort_by("time")
    session, found = chain.push(events), []
    for event in events.to_pylist():
        found += session.send(event)

    assert found, "rows come before the end"
    assert_same_rows(chain.run(events).to_pylist(), found + session.finish().to_pylist(), context=name)


@pytest.mark.parametrize("name", [name for name in CHAINS if name != "filter"])
def test_a_stream_gives_the_rows_of_one_table(name: str) -> None:
    chain = ops.pipe(CHAINS[name])
    events = TIMED.set_column(0, "time", pc.add(TIMED.column("time"), 100)).sort_by("time")
    stream, found = SimulatedStream(chain, delay=3, schema=events.schema), []
    for start in range(0, events.num_rows, 40):
        found += stream.push(events.slice(start, 40).to_pylist())
        found += stream.advance()
    found += stream.push([{**dict.fromkeys(events.schema.names), "time": 10_000}])
    found += stream.advance()

    assert_same_rows(chain.run(events).to_pylist(), found, context=name)


#: Queries whose rows have a time of their own, each with its lag behind the watermark.
MATCHES = {
    "each, moving": "RETURN EACH MAX(S.heat) AS heat PATTERN S{2,3} WHERE [machine] AND S.n <= NEXT(S).n WITHIN 5 s",
    "aggregates, moving": "RETURN COUNT(*) PATTERN S+ WHERE [machine] AND S.n < NEXT(S).n WITHIN 4 seconds",
    "first": "RETURN EACH FIRST(S.time) AS time PATTERN S{2} WHERE [machine] WITHIN 9 seconds SLIDE 3 seconds",
    "not at the end": "RETURN EACH COUNT(A) AS many PATTERN SEQ(S A, NOT S B) WHERE A.n = 1 AND B.n = 3 WITHIN 4 s",
    "intervals": "FROM S PARTITION BY machine DEFINE P AS n > 1, Q AS heat > 1 PATTERN P overlaps; meets; during Q "
    "WITHIN 20 seconds RETURN MAX(P.n) AS n",
    "at the end": "FROM S PARTITION BY machine DEFINE P AS n > 1, Q AS heat > 1 PATTERN P overlaps; meets; before Q "
    "WITHIN 20 seconds DETECT AT END RETURN MAX(P.n) AS n",
    "in situations": "RETURN COUNT(*), MIN(S.time) AS time PATTERN S+ FROM S DEFINE Hot AS heat > 1 AT LEAST 3 seconds "
    "WHERE S DURING Hot WITHIN 6 seconds SLIDE 6 seconds",
}


@pytest.mark.parametrize("name", MATCHES)
@examples(15)
@given(cuts=hs.lists(hs.integers(0, 300), max_size=6), delay=hs.integers(0, 10))
def test_queries_in_the_middle_lose_no_row(name: str, cuts: list[int], delay: int) -> None:
    text, events = f"MATCH {MATCHES[name]} | AGGREGATE COUNT(*) AS rows OVER 3 ROWS", TIMED.sort_by("time")
    cuts = sorted(min(cut, events.num_rows) for cut in cuts)
    expected = of_one_table(text)

    assert len(expected) > 2
    assert_same_rows(expected, in_pieces(ops.pipe(text), events, cuts, delay), context=f"{cuts} {delay}")


def test_a_state_is_that_of_its_filters() -> None:
    engines = [ops.pipe(f"FILTER n > {least} | AGGREGATE COUNT(*) OVER 3 ROWS").incremental(TIMED) for least in (1, 2)]
    state, _ = engines[0].push(engines[0].start(), TIMED, 0)

    with pytest.raises(TrendweaveError, match="TW311"):
        engines[1].finish(state)


def test_filters_before_one_operator_leave_it_as_it_is() -> None:
    query = "RETURN COUNT(*) PATTERN S+ WHERE [room] WITHIN 10 seconds SLIDE 5 seconds"
    alone, chain = ops.match(query), ops.filter("n > 1") | ops.match(query)
    kept = ops.filter("n > 1").run(TIMED)
    engine = chain.incremental(TIMED)

    assert engine.folds(engine.start())
    assert chain.run(TIMED).to_pylist() == alone.run(kept).to_pylist()
    assert chain.run(TIMED, device="threads").to_pylist() == alone.run(kept).to_pylist()


def test_rows_do_not_depend_on_the_order_of_arrival() -> None:
    chain = ops.pipe(CHAINS["two windows"])

    other = chain.run(TIMED.sort_by([("time", "descending")]))

    assert_same_rows(chain.run(TIMED.sort_by("time")).to_pylist(), other.to_pylist(), context=str(chain))


@pytest.mark.parametrize("name", CHAINS)
def test_a_store_gives_the_rows_of_one_table(tmp_path: Path, name: str) -> None:
    chain, events = ops.pipe(CHAINS[name]), make_events()
    store = EventStore.create(tmp_path, events.schema, group_rows=50)
    store.append(events.sort_by("time"))
    store.build_index()
    inside = events.filter(pc.and_(pc.greater_equal(events.column("time"), 0), pc.less(events.column("time"), 100)))

    assert_same_rows(chain.run(events).to_pylist(), chain.run(store).to_pylist(), context=name)
    assert_same_rows(chain.run(inside).to_pylist(), chain.run(store, between=(0, 100)).to_pylist(), context=name)
    assert chain.schema(store).names == chain.run(store).column_names


def test_a_filter_reads_row_groups_in_which_it_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = pa.table({"time": list(range(100)), "x": list(range(100))})
    store = EventStore.create(tmp_path, events.schema, group_rows=10)
    store.append(events)
    store.build_index()
    read = []
    whole = EventStore.read
    monkeypatch.setattr(EventStore, "read", lambda self, *given: read.append(given[0]) or whole(self, *given))

    assert ops.filter("x BETWEEN 13 AND 24").run(store).num_rows == 12
    assert read[0].tolist() == [1, 2]


def test_a_row_that_is_behind_its_window_is_an_error_and_not_lost() -> None:
    behind = ops.pipe(
        "MATCH RETURN MIN(S.before) AS time PATTERN S+ WITHIN 10 seconds SLIDE 10 seconds "
        "| AGGREGATE COUNT(*) OVER 1 ROW"
    )
    events = pa.table({"time": [1, 11, 31], "before": [-500, -400, 31]})
    engine = behind.incremental(events)
    state, _ = engine.push(engine.start(), events.slice(0, 1), 10)

    assert behind.run(events).num_rows == 3
    with pytest.raises(TrendweaveError, match="TW409"):
        engine.push(state, events.slice(1), 31)


def test_a_window_over_all_events_ends_a_chain_at_the_end_alone() -> None:
    chain = ops.pipe("FILTER heat > 0 | MATCH RETURN COUNT(*), MAX(S.time) AS time PATTERN S | FILTER count > 0")
    with pytest.raises(TrendweaveError, match="TW409"):
        chain.push(TIMED)

    assert in_pieces(chain, TIMED.sort_by("time"), [100], 0) == chain.run(TIMED).to_pylist()


def test_rows_without_a_time_between_operators_are_told(caplog: pytest.LogCaptureFixture) -> None:
    events = pa.table({"time": [1, 2], "k": ["a", "b"], "type": ["A", "A"]})
    query = "RETURN k, MAX(B.time) AS time PATTERN SEQ(A, B*) WHERE [k] GROUP-BY k WITHIN 9 seconds SLIDE 9 seconds"
    chain = ops.match(query) | ops.window_aggregate("COUNT(*)", rows=1)
    told = "dropped 2 rows without a time"
    assert chain.run(events).num_rows == 0
    assert told in caplog.text
    caplog.clear()
    engine = chain.incremental(events)
    state, _ = engine.push(engine.start(), events, 2)
    assert engine.finish(state).num_rows == 0
    assert told in caplog.text
