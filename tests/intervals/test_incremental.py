"""Piece by piece: whatever the cuts, the order of arrival and restarts, the rows are those of one batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as hs

import trendweave
from tests.intervals.engines import as_table, full_text, planned
from tests.profiles import examples
from tests.reference.comparer import assert_same_rows
from tests.reference.intervals.query import Query
from tests.reference.intervals.streams import queries_and_events
from trendweave.errors import DataError, ExecutionError
from trendweave.runners.incremental import State


def in_pieces(data: hs.DataObject, query: Any, table: pa.Table) -> tuple[pa.Table, int]:
    """Rows by time into pieces at random cuts, shuffled inside each; now and then the state travels as bytes."""
    incremental = query.incremental(table)
    times = sorted({time for time in table.column("time").to_pylist() if time is not None})
    cuts = sorted(data.draw(hs.sets(hs.sampled_from(times), max_size=6))) if times else []
    state = incremental.start()
    found = []
    rows = table.to_pylist()
    previous = None
    for cut in [*cuts, None]:
        piece = [
            row
            for row in rows
            if (row["time"] is None and cut is None)
            or (
                row["time"] is not None
                and (previous is None or row["time"] >= previous)
                and (cut is None or row["time"] < cut)
            )
        ]
        piece = data.draw(hs.permutations(piece))
        state, result = incremental.push(state, pa.Table.from_pylist(piece, table.schema), cut)
        assert result.schema.names == incremental.schema.names
        found.append(result)
        if data.draw(hs.booleans()):
            state = State.from_bytes(state.to_bytes())
        previous = cut
    found.append(incremental.finish(state))
    return pa.concat_tables(found), state.late


@examples(250)
@given(queries_and_events(windowed=True), hs.data())
def test_pieces_give_the_rows_of_one_batch(drawn: tuple[Query, list[dict[str, Any]]], data: hs.DataObject) -> None:
    query, events = drawn
    engine = planned(query)
    assume(engine is not None)
    table = as_table(query, events)
    pieces, late = in_pieces(data, engine, table)
    assert late == 0
    assert_same_rows(engine.run(table).to_pylist(), pieces.to_pylist(), context=full_text(query))


QUERY = trendweave.query(
    "FROM X PARTITION BY k DEFINE A AS a > 0, B AS b > PREV(b) PATTERN A overlaps; before B WITHIN 10 seconds "
    "RETURN k, SUM(A.a), FIRST(A.a), LAST(B.b)"
)
SCHEMA = pa.schema([("time", pa.int64()), ("k", pa.string()), ("a", pa.int64()), ("b", pa.int64())])


def rows(*listed: tuple[int, str, int, int]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in listed], SCHEMA)


def test_a_match_comes_with_the_piece_that_makes_it_certain() -> None:
    incremental = QUERY.incremental(SCHEMA)
    state, found = incremental.push(incremental.start(), rows((1, "x", 5, 1), (2, "x", 6, 1)), 3)
    assert found.num_rows == 0
    state, found = incremental.push(state, rows((3, "x", 0, 1), (4, "x", 0, 2)), 4)
    assert found.num_rows == 0
    state, found = incremental.push(state, rows(), 5)
    assert found.to_pylist() == [
        {
            "time": 4, "A_start": 1, "A_end": 3, "B_start": 4, "B_end": None, "k": "x", "sum_A_a": 11, "first_A_a": 5,
            "last_B_b": None,
        }
    ]  # fmt: skip
    assert incremental.finish(state).num_rows == 0


def test_late_events_are_counted_and_play_no_part() -> None:
    incremental = QUERY.incremental(SCHEMA)
    state, _ = incremental.push(incremental.start(), rows((1, "x", 5, 1)), 3)
    state, _ = incremental.push(state, rows((2, "x", 0, 9), (3, "x", 5, 1)), 4)
    assert state.late == 1
    assert State.from_bytes(state.to_bytes()).late == 1


def test_state_is_bounded_by_the_window() -> None:
    incremental = QUERY.incremental(SCHEMA)
    state = incremental.start()
    sizes = []
    for begin in range(0, 3000, 100):
        piece = rows(*((begin + i, "xyz"[i % 3], i // 3 % 2, i * 7 % 5) for i in range(100)))
        state, _ = incremental.push(state, piece, begin + 100)
        sizes.append(len(state.to_bytes()))
    assert max(sizes[5:]) < 1.2 * min(sizes[5:])


def test_states_of_other_queries_and_broken_states_are_refused() -> None:
    incremental = QUERY.incremental(SCHEMA)
    other = trendweave.query("FROM X DEFINE A AS a > 0 RETURN SITUATIONS").incremental(SCHEMA)
    with pytest.raises(DataError, match="TW311"):
        incremental.push(other.start(), rows(), 3)
    with pytest.raises(DataError, match="TW311"):
        State.from_bytes(b"nonsense")
    with pytest.raises(DataError, match="TW312"):
        incremental.push(incremental.start(), rows(), "yesterday")


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(ExecutionError, match="TW452"):
        trendweave.query("FROM X DEFINE A AS a > 0, B AS b > 0 PATTERN A before B").incremental(SCHEMA)
    given_schema = pa.schema([("name", pa.string()), ("start", pa.int64()), ("end", pa.int64())])
    with pytest.raises(ExecutionError, match="TW404"):
        trendweave.query("FROM INTERVALS PATTERN A before B WITHIN 1 minute").incremental(given_schema)
