"""Windowed joins with random windows, keys and conditions against the slow twin."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.conditions import Condition, pair_conditions
from tests.operators.running import as_events, assert_rows, cuts, in_pieces, pushed
from tests.operators.strategies import Clock, Stream, clocks, join_windows, keys, make_stream, streams
from tests.profiles import examples
from tests.reference.operators.events import Event
from tests.reference.operators.joining import window_join
from tests.reference.operators.windows import Rows, Span
from trendweave import operators as ops

COLUMNS = ("x", "f", "n", "small", "word")
Window = tuple[str, Rows | Span]


@dataclass(frozen=True)
class Join:
    """A join, as the engine and as the twin have it."""

    condition: Condition | None
    left: Window
    right: Window
    keys: list[str]
    order_by: list[str]

    @property
    def operator(self) -> ops.Operator:
        return ops.window_join(
            None if self.condition is None else self.condition.text,
            left=self.left[0],
            right=self.right[0],
            keys=self.keys,
            order_by=self.order_by,
        )

    def expected(self, left: Stream, right: Stream) -> list[Event]:
        return window_join(
            left.events,
            right.events,
            None if self.condition is None else self.condition.of_pair,
            self.left[1],
            self.right[1],
            self.keys,
            self.order_by,
            left_schema=left.schema,
            right_schema=right.schema,
        )


@st.composite
def joins(draw: st.DrawFn, clock: Clock) -> Join:
    condition = draw(st.none() | pair_conditions | pair_conditions | pair_conditions)
    order_by = draw(st.lists(st.sampled_from(["x", "n"]), max_size=1))
    return Join(condition, draw(join_windows(clock)), draw(join_windows(clock)), draw(keys), order_by)


@st.composite
def pairs(draw: st.DrawFn, most: int = 9, of: st.SearchStrategy[Clock] = clocks) -> tuple[Join, Stream, Stream]:
    """Two streams of their own: columns in another order, and of one side one more."""
    clock = draw(of)
    join = draw(joins(clock))
    left = draw(streams(clock, (*join.keys, *COLUMNS), most))
    right = draw(streams(clock, (*join.keys, *COLUMNS, "price"), most))
    return join, left, right


@st.composite
def sided(draw: st.DrawFn, most: int = 14) -> tuple[Join, Stream, list[Event]]:
    """One stream of both sides, and what the join of them is; without `side` every event is on both sides."""
    clock = draw(clocks)
    join = draw(joins(clock))
    stream = draw(streams(clock, (*join.keys, *COLUMNS), most))
    if draw(st.integers(0, 3)) == 0:
        return join, stream, join.expected(stream, stream)
    sides = draw(st.lists(st.sampled_from(["left", "right"]), min_size=len(stream.events), max_size=len(stream.events)))
    split = [
        make_stream(stream.table.filter(pa.array([one == side for one in sides], pa.bool_())), clock)
        for side in ("left", "right")
    ]
    place = draw(st.integers(0, stream.table.num_columns))
    table = stream.table.add_column(place, "side", pa.array(sides, pa.string()))
    return join, Stream(table, stream.events, clock), join.expected(*split)


@examples(70)
@given(pairs())
def test_two_tables(case: tuple[Join, Stream, Stream]) -> None:
    join, left, right = case
    found = join.operator.run(left.table, right.table)
    names = ["time", *join.keys]
    names += [f"left_{name}" for name in left.schema if name not in join.keys]
    names += [f"right_{name}" for name in right.schema if name not in join.keys]
    assert found.column_names == names
    assert_rows(as_events(found, left.clock), join.expected(left, right))


@examples(40)
@given(sided())
def test_one_table(case: tuple[Join, Stream, list[Event]]) -> None:
    join, stream, expected = case
    assert_rows(as_events(join.operator.run(stream.table), stream.clock), expected)


@examples(10)
@given(sided(most=50))
def test_more_events(case: tuple[Join, Stream, list[Event]]) -> None:
    join, stream, expected = case
    assert_rows(as_events(join.operator.run(stream.table), stream.clock), expected)


@examples(60)
@given(sided(), cuts)
def test_pieces(case: tuple[Join, Stream, list[Event]], shares: list[float]) -> None:
    join, stream, expected = case
    assert_rows(as_events(in_pieces(join.operator, stream.table, shares), stream.clock), expected)


@examples(20)
@given(sided())
def test_event_by_event(case: tuple[Join, Stream, list[Event]]) -> None:
    join, stream, expected = case
    assert_rows(as_events(pushed(join.operator, stream.table), stream.clock), expected)
