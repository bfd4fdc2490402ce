"""Streams that forget events: what is kept instead, and that nobody can tell the difference by the rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import trendweave
from tests.profiles import examples
from trendweave.errors import DataError, ExecutionError
from trendweave.programs.carry import StoredTables
from trendweave.programs.trends.program import TrendAggregates
from trendweave.runners.incremental import Incremental, State

SCHEMA = pa.schema(
    {
        "time": pa.int64(),
        "type": pa.string(),
        "k": pa.string(),
        "f": pa.float64(),
        "s": pa.struct([("a", pa.float64())]),
        "x": pa.int64(),
        "y": pa.float64(),
    }
)
SLIDING = "RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 6 seconds SLIDE 2 seconds"
TUMBLING = "RETURN COUNT(*), MAX(A.x) PATTERN SEQ(A+, B) WHERE [k] WITHIN 5 seconds SLIDE 5 seconds"


def engine(text: str, folds: bool = True, **options: Any) -> Incremental:
    made = trendweave.query(text).incremental(SCHEMA, **options)
    assert isinstance(made._program, TrendAggregates)
    other = Incremental(replace(made._program, folds=folds))
    assert other._steps is not None
    assert other._steps.folds is folds
    return other


def table(*events: tuple[int, str] | dict[str, Any]) -> pa.Table:
    rows = [one if isinstance(one, dict) else {"time": one[0], "type": one[1], "k": "u", "x": 1} for one in events]
    return pa.Table.from_pylist(rows, SCHEMA)


def rows_of(found: pa.Table) -> list[str]:
    return sorted(repr(row).replace("-0.0", "0.0") for row in found.to_pylist())


@hs.composite
def streams(draw: hs.DrawFn) -> list[dict[str, Any]]:
    event = hs.fixed_dictionaries(
        {
            "time": hs.integers(-4, 14),
            "type": hs.sampled_from("AAB"),
            "k": hs.sampled_from(["", "u", None]),
            "f": hs.sampled_from([0.0, -0.0, float("nan"), None, 1.5]),
            "s": hs.sampled_from([None, {"a": 0.0}, {"a": -0.0}, {"a": None}]),
            "x": hs.sampled_from([None, 1, -3, 2**62]),
            "y": hs.sampled_from([None, 0.5, -2.25, float("nan")]),
        }
    )
    return sorted(draw(hs.lists(event, max_size=14)), key=lambda one: one["time"])


MEASURED = "COUNT(*), COUNT(B), SUM(A.x), MIN(B.x), MAX(A.y), AVG(A.y), SUM(B.y)"
QUERIES = (
    f"RETURN k, {MEASURED} PATTERN SEQ(A+, B) GROUP-BY k WITHIN 6 seconds SLIDE 4 seconds",
    f"RETURN f, {MEASURED} PATTERN (SEQ(A, B?))+ WHERE [k] GROUP-BY f WITHIN 3 seconds SLIDE 3 seconds",
    "RETURN s, COUNT(*), AVG(A.x) PATTERN A+ GROUP-BY s WITHIN 4 seconds SLIDE 1 second",
    "RETURN k, COUNT(*) AS c PATTERN A+ GROUP-BY k HAVING COUNT(*) > 1 ORDER BY c DESC LIMIT 1 WITHIN 6 s SLIDE 3 s",
    "RETURN k, COUNT(*), SUM(A.x) PATTERN A+ WHERE A.f = NEXT(A).f GROUP-BY k WITHIN 6 seconds SLIDE 2 seconds",
    "RETURN f, COUNT(*) PATTERN A+ WHERE [k] AND A.f = NEXT(A).f AND A.k = NEXT(A).k GROUP-BY f WITHIN 4 s SLIDE 2 s",
    "RETURN COUNT(*), MAX(A.x) PATTERN SEQ(A, B) WHERE [k] AND A.f = B.f AND A.x = B.x WITHIN 5 s SLIDE 5 s",
    "RETURN COUNT(A) PATTERN SEQ(A+, B) WHERE A.x % 2 = NEXT(A).x % 2 AND A.x % 2 = B.x % 2 WITHIN 4 s SLIDE 1 s",
)


@given(hs.sampled_from(QUERIES), streams(), hs.data())
@examples(40)
def test_rows_are_those_of_events_that_are_kept(text: str, events: list[dict[str, Any]], data: hs.DataObject) -> None:
    """Keys are told apart as partitions are: NULL, NaN, -0.0, nested values."""
    cuts = sorted(data.draw(hs.lists(hs.integers(0, len(events)), max_size=3)))
    found = []
    for folds in (True, False):
        asked = engine(text, folds)
        state, rows = asked.start(), []
        for low, high in zip([0, *cuts], [*cuts, len(events)], strict=True):
            watermark = events[high]["time"] if high < len(events) else None
            state, closed = asked.push(asked.read(state.to_bytes()), table(*events[low:high]), watermark)
            rows += rows_of(closed)
        found.append(sorted(rows + rows_of(asked.finish(state))))
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [SLIDING, TUMBLING])
def test_what_is_kept_grows_with_keys_and_not_with_events(text: str) -> None:
    sizes = []
    for events in (50, 500):
        asked = engine(text, numbers="float64")
        rows = [
            {"time": number * 4 // events, "type": "AB"[number % 2], "k": "uv"[number % 3 % 2]}
            for number in range(events)
        ]
        state, _ = asked.push(asked.start(), table(*rows), 4)
        assert state.rows is not None
        assert state.rows.num_rows == 0
        sizes.append(sum(one.nbytes for one in state.carry.values()))
    assert sizes[0] == sizes[1] > 0


def test_equal_values_of_neighbours_are_kept_once_each() -> None:
    """An event without the value is followed by none, and is a trend of its own."""
    asked = engine("RETURN COUNT(*) PATTERN A+ WHERE A.x = NEXT(A).x WITHIN 6 seconds SLIDE 6 seconds")
    state = asked.start()
    for second, x in enumerate([1, 2, 1, None, None, 1]):
        state, _ = asked.push(state, table({"time": second, "type": "A", "x": x}), second)
    state, rows = asked.push(state, table({"time": 6, "type": "A", "x": 1}), 6)
    # Seven of three ones, one of the two, and two of events without a value.
    assert rows.column(-1).to_pylist() == [7 + 1 + 2]


@pytest.mark.parametrize(
    "conditions",
    [
        "A.x = NEXT(A).x",  # nothing is asked of A and B
        "A.x = NEXT(A).x AND A.x = B.y",
        "A.x = NEXT(A).x AND A.x + 1 = B.x",
        "A.x = NEXT(A).x AND A.x = B.x AND A.y < B.y",
        "A.x != NEXT(A).x AND A.x = B.x",
    ],
)
def test_events_wait_where_values_of_a_trend_may_differ(conditions: str) -> None:
    text = f"RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE {conditions} WITHIN 6 seconds SLIDE 6 seconds"
    assert "an edge predicate needs earlier events" in trendweave.query(text).explain()
    steps = trendweave.query(text).incremental(SCHEMA)._steps
    assert steps is not None
    assert not steps.folds


def test_keys_that_no_window_needs_disappear() -> None:
    asked = engine(SLIDING)
    state = asked.start()
    for second in range(30):
        state, _ = asked.push(state, table({"time": second, "type": "A", "k": str(second), "x": 1}), second)
        keys = [one.num_rows for name, one in state.carry.items() if name.endswith("keys")]
        assert sum(keys) <= 2 * 7
    state, _ = asked.push(state, table(), 100)
    assert not state.carry


def test_only_panes_with_new_rows_are_written_again() -> None:
    asked = engine(SLIDING)
    state, _ = asked.push(asked.start(), table((0, "A"), (2, "A"), (3, "B")), 4)
    later, _ = asked.push(state, table((4, "A")), 5)
    assert set(later.carry) > set(state.carry)
    for name, one in state.carry.items():
        assert later.carry[name] is one, name


def test_tables_that_are_not_needed_are_not_read() -> None:
    asked = engine(SLIDING)
    state, _ = asked.push(asked.start(), table((0, "A"), (2, "A"), (4, "A")), 5)
    names = sorted(name for name in state.carry if not name.endswith("keys"))
    assert len(names) == 3

    def read(name: str) -> pa.Table:
        assert name not in names[:2], f"{name} is not needed"
        return state.carry[name]

    held = replace(state, carry=StoredTables(state.carry, read))
    later, _ = asked.push(held, table((5, "B")), 6 - 1)
    assert set(later.carry) == set(state.carry)
    assert asked.next_due(later) == 6


def test_a_state_whose_events_wait_goes_on_with_folding() -> None:
    """As releases wrote it that did not fold: rows behind the watermark, and nothing carried."""
    for text in (SLIDING, TUMBLING):
        keeping, folding = engine(text, folds=False), engine(text)
        first, later = table((0, "A"), (1, "A"), (3, "A"), (5, "A")), table((6, "B"), (9, "B"))
        state, _ = keeping.push(keeping.start(), first, 6)
        assert not state.carry
        after, closed = folding.push(folding.read(state.to_bytes()), later, 7)
        expected, kept = keeping.push(state, later, 7)
        assert rows_of(closed) == rows_of(kept)
        assert rows_of(folding.finish(after)) == rows_of(keeping.finish(expected)) != []
        assert after.carry


def test_a_sum_beyond_all_floats_is_told_and_infinity_is_a_value() -> None:
    asked = engine("RETURN SUM(A.y) PATTERN A+ WITHIN 5 seconds SLIDE 5 seconds")
    large = [{"time": second, "type": "A", "k": "u", "y": 1e308} for second in range(3)]
    state, _ = asked.push(asked.start(), table(*large), 3)
    with pytest.raises(ExecutionError, match="TW402: a SUM exceeds the range of floats at window_start 0"):
        asked.finish(state)
    state, _ = asked.push(state, table({"time": 4, "type": "A", "k": "u", "y": float("inf")}), 4)
    assert asked.finish(state).column("sum_A_y").to_pylist() == [float("inf")]
    whole = engine("RETURN SUM(A.x) PATTERN A+ WITHIN 5 hours SLIDE 5 hours", numbers="float64")
    state, _ = whole.push(whole.start(), table(*((second, "A") for second in range(1_100))), 1_100)
    with pytest.raises(ExecutionError, match="TW402"):
        whole.finish(state)


def test_numbers_that_were_counted_otherwise_are_refused() -> None:
    exact, floats = engine(SLIDING), engine(SLIDING, numbers="float64")
    for made, other in ((exact, floats), (floats, exact)):
        state, _ = made.push(made.start(), table((0, "A"), (1, "B")), 2)
        with pytest.raises(DataError, match="TW311: events of the state are forgotten"):
            other.finish(replace(state, owner=other.owner))


def test_rows_that_come_out_early_are_not_folded() -> None:
    program = engine(SLIDING)._program
    steps = program.steps(early=True)
    assert steps is not None
    assert not steps.folds


def test_a_session_forgets_events() -> None:
    session = trendweave.query(SLIDING.replace("6 seconds", "1 hour").replace("2 seconds", "30 minutes")).push(
        SCHEMA, watermark="1 second"
    )
    for second in range(9_000):
        assert session.send({"time": second // 10, "type": "AB"[second % 2], "k": "u", "x": 1}) == []
    state = State.from_bytes(session.state())
    assert state.rows is not None
    assert state.rows.num_rows < 1_000
    assert any(name.startswith("folded") for name in state.carry)
