"""Chains of operators against the slow twin: rows of one are events of the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.operators.conditions import Condition, column, compare, conditions, constant
from tests.operators.running import as_events, assert_rows, cuts, in_pieces, pushed
from tests.operators.strategies import Clock, Stream, aggregate_windows, clocks, join_windows, streams
from tests.profiles import examples
from tests.reference.operators.aggregation import Wanted, window_aggregate
from tests.reference.operators.chaining import chain
from tests.reference.operators.events import Event
from tests.reference.operators.filtering import keep
from tests.reference.operators.joining import window_join
from trendweave import operators as ops


@dataclass
class Making:
    """A chain that is being drawn.

    Attributes:
        columns: The names of the columns behind the last stage.
        keys: Those that are left of the keys of the stream.
        number: A column of whole numbers behind the last stage.
        operators: The stages as the engine has them.
        stages: The stages as the twin has them.
    """

    columns: list[str]
    keys: list[str]
    number: str
    operators: list[Any] = field(default_factory=list)
    stages: list[Callable[[list[Event]], list[Event]]] = field(default_factory=list)

    def add_filter(self, condition: Condition) -> None:
        self.operators.append(ops.filter(condition.text))
        self.stages.append(lambda events: keep(events, condition.of_event))


@st.composite
def chains(draw: st.DrawFn, clock: Clock, stream: Stream) -> Making:
    made = Making(stream.schema, ["k", "g"], "n")
    if draw(st.booleans()):
        made.add_filter(draw(conditions))
    for number in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(["windows", "windows", "join"]))
        made.keys = draw(st.sampled_from([made.keys, made.keys[:1], made.keys[:1]]))
        if kind == "windows":
            _add_windows(draw, made, clock, number)
        else:
            _add_join(draw, made, clock)
        if draw(st.booleans()):
            limit = constant(draw(st.integers(0, 2)))
            made.add_filter(compare(column("", made.number), draw(st.sampled_from([">", "<="])), limit))
    return made


def _add_windows(draw: st.DrawFn, made: Making, clock: Clock, number: int) -> None:
    windows = draw(aggregate_windows(clock))
    count, most, keys, columns = f"count_{number}", f"most_{number}", made.keys, made.columns
    wanted: list[Wanted] = [(count, "COUNT", None), (most, "MAX", made.number)]
    text = f"COUNT(*) AS {count}, MAX({made.number}) AS {most}"
    made.operators.append(ops.window_aggregate(text, keys=keys, **windows.options))
    made.stages.append(lambda events: window_aggregate(events, wanted, windows.window, keys, schema=columns))
    made.columns = [*keys, "window_start", "window_end", "time", count, most]
    made.number = draw(st.sampled_from([count, most]))


def _add_join(draw: st.DrawFn, made: Making, clock: Clock) -> None:
    """Of the stream with itself."""
    (left, left_window), (right, right_window) = draw(join_windows(clock)), draw(join_windows(clock))
    keys, columns = made.keys, made.columns
    condition = compare(column("left", made.number), draw(st.sampled_from(["<", "="])), column("right", made.number))
    made.operators.append(ops.window_join(condition.text, left=left, right=right, keys=keys))
    made.stages.append(
        lambda events: window_join(
            events,
            events,
            condition.of_pair,
            left_window,
            right_window,
            keys,
            left_schema=columns,
            right_schema=columns,
        )
    )
    others = [name for name in columns if name not in keys]
    made.columns = ["time", *keys, *(f"left_{name}" for name in others), *(f"right_{name}" for name in others)]
    made.number = f"left_{made.number}"


@st.composite
def cases(draw: st.DrawFn, of: st.SearchStrategy[Clock] = clocks) -> tuple[Stream, Any, list[Event], list[str]]:
    clock = draw(of)
    stream = draw(streams(clock, ("k", "g", "n", "x", "f", "small", "word"), 10))
    made = draw(chains(clock, stream))
    return stream, reduce(or_, made.operators), chain(made.stages, stream.events), made.columns


@examples(80)
@given(cases())
def test_whole_tables(case: tuple[Stream, Any, list[Event], list[str]]) -> None:
    stream, operator, expected, columns = case
    found = operator.run(stream.table)
    assert found.column_names == columns
    assert_rows(as_events(found, stream.clock), expected)


@examples(40)
@given(cases(), cuts)
def test_pieces(case: tuple[Stream, Any, list[Event], list[str]], shares: list[float]) -> None:
    stream, operator, expected, _ = case
    assert_rows(as_events(in_pieces(operator, stream.table, shares), stream.clock), expected)


@examples(15)
@given(cases())
def test_event_by_event(case: tuple[Stream, Any, list[Event], list[str]]) -> None:
    stream, operator, expected, _ = case
    assert_rows(as_events(pushed(operator, stream.table), stream.clock), expected)
