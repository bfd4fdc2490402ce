"""Sessions and engines of workloads that change: what is refused, what is left behind, and what is shared again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import DataError, ExecutionError, LanguageError, UnknownNameError
from trendweave.programs.shared.changes import Record
from trendweave.programs.shared.program import Shared
from trendweave.runners.incremental import Incremental, State

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "x": pa.int64(), "k": pa.string(), "y": pa.float64()})
WINDOW = "WITHIN 4 seconds SLIDE 2 seconds"
PAIRS = f"RETURN COUNT(*) PATTERN SEQ(A, B) {WINDOW}"
ALL_B = f"RETURN COUNT(*) AS bs PATTERN B+ {WINDOW}"
SESSIONS = "RETURN k, COUNT(*) AS many PATTERN A+ WHERE [k] GROUP-BY k WITHIN SESSION 3 seconds"


def event(time: Any, kind: str = "A", **values: Any) -> dict[str, Any]:
    return {"time": time, "type": kind, "x": 1, "k": "u", "y": 0.5} | values


def table(*events: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(events), SCHEMA)


def program_of(engine: Incremental, state: State) -> Shared:
    program = engine._bind(state)[0]
    assert isinstance(program, Shared)
    return program


def test_a_query_that_comes_later_has_the_windows_that_start_later() -> None:
    session = trendweave.workload({"pairs": PAIRS}).push(SCHEMA, watermark="1 second")
    found = [row for time in range(6) for row in session.send(event(time, "AB"[time % 2]))]
    session.with_query("bs", ALL_B)
    found += [row for time in range(6, 14) for row in session.send(event(time, "AB"[time % 2]))]
    assert [(row["window_start"], row["count"]) for row in found if row["query"] == "pairs"] == [
        (-2, Decimal(1)),
        *((start, Decimal(3)) for start in (0, 2, 4, 6, 8)),
    ]
    assert [(row["window_start"], row["bs"]) for row in found if row["query"] == "bs"] == [
        (6, Decimal(3)),
        (8, Decimal(3)),
    ]
    assert session.workload.names == ("pairs", "bs")
    assert session.schema.names == ["query", "window_start", "window_end", "count", "bs"]


def test_nothing_has_come_yet_so_a_query_is_there_from_the_beginning() -> None:
    session = trendweave.workload({"pairs": PAIRS}).push(SCHEMA)
    session.with_query("bs", ALL_B)
    session.send_table(table(event(0, "B"), event(1, "B")))
    assert session.finish().select(["query", "window_start", "bs"]).to_pylist() == [
        {"query": "bs", "window_start": -2, "bs": Decimal(3)},
        {"query": "bs", "window_start": 0, "bs": Decimal(3)},
    ]


def test_what_does_not_fit_is_refused_by_name_and_changes_nothing() -> None:
    session = trendweave.workload({"pairs": PAIRS}).push(SCHEMA)
    session.send(event(0))
    before, rules = session.state(), session.workload
    with pytest.raises(DataError, match="query other") as unknown:
        session.with_query("other", f"RETURN SUM(A.z) PATTERN A+ {WINDOW}")
    assert "z" in str(unknown.value)
    with pytest.raises(ExecutionError, match="query whole") as whole:
        session.with_query("whole", "RETURN COUNT(*) PATTERN A+")
    assert whole.value.problems[0].code == "TW409"
    with pytest.raises(DataError, match="query typed"):
        session.with_query("typed", f"RETURN AVG(A.x) AS count PATTERN A+ {WINDOW}")
    with pytest.raises(LanguageError, match="query wrong"):
        session.with_query("wrong", "RETURN COUNT(*) PATTERN")
    with pytest.raises(UnknownNameError):
        session.without("nobody")
    with pytest.raises(LanguageError):
        session.without("pairs")
    assert session.state() == before
    assert session.workload is rules
    assert session.send(event(4, "B")) == []
    assert session.finish().num_rows == 0


def test_all_queries_over_the_whole_input_are_named() -> None:
    rules = trendweave.workload({"one": "RETURN COUNT(*) PATTERN A+", "two": PAIRS, "three": "PATTERN SEQ(A, B)"})
    with pytest.raises(ExecutionError) as refused:
        rules.push(SCHEMA)
    assert [problem.query for problem in refused.value.problems] == ["one", "three"]


def test_events_need_the_columns_of_a_query_from_when_it_came() -> None:
    session = trendweave.workload({"pairs": PAIRS}).push(SCHEMA)
    session.send({"time": 0, "type": "A"})
    session.with_query("sums", f"RETURN SUM(A.y) AS total PATTERN A+ {WINDOW}")
    with pytest.raises(DataError, match="lacks y"):
        session.send({"time": 1, "type": "A"})
    session.send(event(2, y=1.5))
    session.send(event(3, y=2.0))
    found = [row for row in session.finish().to_pylist() if row["query"] == "sums"]
    assert [(row["window_start"], row["total"]) for row in found] == [(2, 7.0)]


def test_a_dropped_query_leaves_nothing_behind() -> None:
    rules = trendweave.workload({"pairs": PAIRS, "sessions": SESSIONS})
    engine = rules.incremental(SCHEMA)
    state, _ = engine.push(engine.start(), table(*(event(time) for time in range(3))), 3)
    assert {name.split("/")[1] for name in state.carry} >= {"open sessions", "next end", "folded keys"}
    other = rules.without("sessions").incremental(SCHEMA)
    state = other.take_over(state)
    assert all(name.split("/")[1].startswith("folded ") for name in state.carry)
    assert list(Record.read(state.record).queries) == ["pairs"]
    # The same name and text again is a new query.
    again = rules.incremental(SCHEMA)
    state, _ = again.push(state, table(event(4), event(5)), 5)
    found = again.finish(state)
    assert rules.rows(found, "sessions").to_pylist() == [
        {"window_start": 4, "window_end": 8, "k": "u", "many": Decimal(3)}
    ]


def test_another_text_under_a_name_is_a_new_query() -> None:
    session = trendweave.workload({"one": SESSIONS}).push(SCHEMA)
    session.send_table(table(event(0), event(1), event(2)))
    session.with_query("one", SESSIONS.replace("3 seconds", "5 seconds"))
    session.send_table(table(event(3), event(4)))
    found = session.finish().to_pylist()
    assert [(row["window_start"], row["window_end"], row["many"]) for row in found] == [(3, 9, Decimal(3))]


def test_a_name_that_a_text_gets_later_is_another_query() -> None:
    rules = trendweave.workload({"one": SESSIONS})
    session = rules.push(SCHEMA)
    session.send_table(table(event(0), event(1)))
    session.with_query("two", SESSIONS)
    session.send_table(table(event(2), event(3)))
    state = session.state()
    found = session.finish().to_pylist()
    assert [(row["query"], row["window_start"], row["many"]) for row in found] == [
        ("one", 0, Decimal(15)),
        ("two", 2, Decimal(3)),
    ]
    # The first name goes, and the second keeps what is its own.
    rest = trendweave.workload({"two": SESSIONS}).push(SCHEMA, state=state).finish().to_pylist()
    assert [(row["query"], row["window_start"], row["many"]) for row in rest] == [("two", 2, Decimal(3))]


def test_one_name_of_two_goes_and_the_other_goes_on() -> None:
    rules = trendweave.workload({"one": SESSIONS, "two": SESSIONS})
    session = rules.push(SCHEMA)
    session.send_table(table(event(0), event(1), event(2)))
    session.without("one")
    assert [(row["query"], row["many"]) for row in session.finish().to_pylist()] == [("two", Decimal(7))]


def test_queries_of_one_text_that_came_at_different_times_share_at_once() -> None:
    session = trendweave.workload({"pairs": PAIRS}).push(SCHEMA)
    session.send(event(0))
    session.with_query("again", PAIRS)
    came = program_of(session._engine, session._state)
    for time in range(1, 12):
        session.send(event(time, "AB"[time % 2]))
    settled = program_of(session._engine, session._state)
    assert came.names == settled.names == (("pairs", "again"),)
    assert len(came.programs) == 1
    assert set(came.roster.since) == {"again"}
    assert not settled.roster.since


def test_queries_that_came_together_share_at_once() -> None:
    rules = {f"q{number}": f"RETURN COUNT(*) PATTERN A+ WHERE A.x > {number} {WINDOW}" for number in range(20)}
    first = trendweave.workload({"pairs": PAIRS})
    session = first.push(SCHEMA)
    session.send(event(0))
    session.change(trendweave.workload({"pairs": PAIRS, **rules}))
    assert len(program_of(session._engine, session._state).units) == 2
    found = [row for time in range(1, 10) for row in session.send(event(time, x=10))]
    assert {row["query"] for row in found} == {f"q{number}" for number in range(10)}
    assert {row["window_start"] for row in found} == {2, 4}


def test_other_options_or_columns_are_not_another_query() -> None:
    rules = trendweave.workload({"pairs": PAIRS})
    engine = rules.incremental(SCHEMA)
    state, _ = engine.push(engine.start(), table(event(0)))
    for other in (
        rules.with_query("bs", ALL_B).incremental(SCHEMA, numbers="float64"),
        rules.with_query("bs", ALL_B).incremental(SCHEMA.set(0, pa.field("time", pa.int32()))),
    ):
        with pytest.raises(DataError, match="query pairs") as refused:
            other.read(state.to_bytes())
        assert refused.value.problems[0].code == "TW311"


def test_other_times_are_refused_even_if_no_query_stays() -> None:
    state = trendweave.workload({"pairs": PAIRS}).push(SCHEMA).state()
    other = trendweave.workload({"bs": ALL_B})
    with pytest.raises(DataError, match="times time int64"):
        other.push(SCHEMA.set(0, pa.field("time", pa.float64())), state=state)


def test_a_column_that_only_dropped_queries_read_may_have_another_type() -> None:
    rules = trendweave.workload({"pairs": PAIRS, "sums": f"RETURN SUM(A.x) AS total PATTERN A+ {WINDOW}"})
    session = rules.push(SCHEMA)
    session.send_table(table(event(0), event(1, "B")))
    other = rules.without("sums").with_query("texts", f"RETURN MIN(A.x) AS least PATTERN A+ {WINDOW}")
    schema = SCHEMA.set(2, pa.field("x", pa.list_(pa.int64())))
    with pytest.raises(DataError, match="query texts"):
        other.push(schema, state=session.state())
    schema = SCHEMA.set(2, pa.field("x", pa.bool_()))
    flags = other.with_query("texts", f"RETURN COUNT(*) AS trues PATTERN A+ WHERE A.x {WINDOW}")
    again = flags.push(schema, state=session.state())
    again.send_table(pa.table({"time": [2, 3], "type": ["A", "A"], "x": [True, True]}))
    found = again.finish().to_pylist()
    assert [(row["query"], row["window_start"]) for row in found] == [("pairs", 0), ("texts", 2)]


def test_states_of_queries_and_of_workloads_are_not_the_same() -> None:
    query, rules = trendweave.query(PAIRS), trendweave.workload({"pairs": PAIRS})
    with pytest.raises(DataError, match="TW311"):
        rules.push(SCHEMA, state=query.push(SCHEMA).state())
    with pytest.raises(DataError, match="TW311"):
        query.push(SCHEMA, state=rules.push(SCHEMA).state())


@pytest.mark.parametrize("unit", ["s", "us"])
def test_timestamps(unit: str) -> None:
    schema = SCHEMA.set(0, pa.field("time", pa.timestamp(unit, "UTC")))
    zero = datetime(2024, 1, 1, tzinfo=UTC)
    session = trendweave.workload({"pairs": PAIRS}).push(schema)
    session.send(event(zero, "B"))
    session.with_query("bs", ALL_B)
    session.with_query("moving", "RETURN COUNT(*) AS moved PATTERN B+ WITHIN 2 seconds")
    seconds = (zero + timedelta(seconds=second) for second in (1, 2, 3, 4))
    found = [row for time in seconds for row in session.send(event(time, "B"))]
    found += session.finish().to_pylist()
    starts = [(row["window_start"] - zero).seconds for row in found if row["query"] == "bs"]
    assert starts == [2, 4]
    times = [(row["time"] - zero).seconds for row in found if row["query"] == "moving"]
    assert times == [3, 4]


def test_float_seconds() -> None:
    schema = SCHEMA.set(0, pa.field("time", pa.float64()))
    session = trendweave.workload({"pairs": PAIRS}).push(schema)
    session.send(event(1.5, "B"))
    session.with_query("moving", "RETURN COUNT(*) AS moved PATTERN B+ WITHIN 500 milliseconds")
    found = [row for time in (1.9, 2.0, 2.000001, 2.3) for row in session.send(event(time, "B"))]
    found += session.finish().to_pylist()
    assert [(row["time"], row["moved"]) for row in found] == [(2.000001, Decimal(7)), (2.3, Decimal(15))]


def test_late_events_are_late_for_all() -> None:
    session = trendweave.workload({"pairs": PAIRS, "sessions": SESSIONS}).push(SCHEMA, watermark="2 seconds")
    for time in (5, 2, 10, 7, 8):
        session.send(event(time))
    session.send(event(9, "Z"))
    session.send(event(None))
    assert session.late == 2
    assert (session.dropped.null_time, session.dropped.other_type) == (1, 1)
    session.with_query("bs", ALL_B)
    session.send(event(3, "B"))
    assert session.late == 3
    assert session.dropped.rows == 5


def test_a_session_goes_on_without_a_query_that_fails() -> None:
    huge = "RETURN COUNT(*) AS huge PATTERN A+ WITHIN 200 seconds SLIDE 200 seconds"
    rules = trendweave.workload({"huge": huge, "few": "RETURN COUNT(*) PATTERN SEQ(B, C) WITHIN 200 seconds"})
    session = rules.push(SCHEMA)
    for time in range(190):
        assert session.send(event(time)) == []
    session.send(event(190, "B"))
    session.send(event(191, "C"))
    for _ in range(2):
        with pytest.raises(ExecutionError, match=r"query huge\)") as failed:
            session.send(event(200))
        assert failed.value.problems[0].code == "TW402"
    assert session.watermark == 200
    session.without("huge")
    assert session.watermark == 200
    assert session.send(event(199)) == []
    assert session.late == 1
    assert [(row["query"], row["count"]) for row in session.send(event(201))] == [("few", Decimal(1))]
    assert session.finish().num_rows == 0
