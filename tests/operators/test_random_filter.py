"""Filters with random conditions against the slow twin."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.operators.conditions import Condition, conditions
from tests.operators.running import as_events, assert_rows, assert_rows_in_any_order, cuts, in_pieces, pushed
from tests.operators.strategies import Clock, Stream, clocks, streams
from tests.profiles import examples
from tests.reference.operators.filtering import keep
from trendweave import operators as ops
from trendweave.programs.operators import filter as filters

COLUMNS = ("x", "f", "n", "small", "word", "price")


@st.composite
def cases(draw: st.DrawFn) -> tuple[Stream, Condition]:
    clock: Clock = draw(clocks)
    return draw(streams(clock, COLUMNS)), draw(conditions)


@examples(80)
@given(cases())
def test_whole_tables(case: tuple[Stream, Condition]) -> None:
    stream, condition = case
    found = ops.filter(condition.text).run(stream.table)
    assert found.schema.equals(stream.table.schema)
    assert_rows(as_events(found, stream.clock), keep(stream.events, condition.of_event))


@examples(25)
@given(cases(), cuts)
def test_pieces(case: tuple[Stream, Condition], shares: list[float]) -> None:
    stream, condition = case
    found = in_pieces(ops.filter(condition.text), stream.table, shares)
    expected = keep(stream.events, condition.of_event)
    assert_rows_in_any_order(as_events(found, stream.clock), expected)


@examples(15)
@given(cases())
def test_event_by_event(case: tuple[Stream, Condition]) -> None:
    stream, condition = case
    found = pushed(ops.filter(condition.text), stream.table)
    expected = keep(stream.events, condition.of_event)
    assert_rows_in_any_order(as_events(found, stream.clock), expected)


@pytest.mark.nightly  # each condition is compiled, which takes most of a second
@settings(
    max_examples=80,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cases())
def test_compiled_conditions(monkeypatch: pytest.MonkeyPatch, case: tuple[Stream, Condition]) -> None:
    monkeypatch.setattr(filters, "_FEW", 0)
    monkeypatch.setattr(filters, "_WORTH_COMPILING", 0)
    stream, condition = case
    found = ops.filter(condition.text).run(stream.table)
    assert_rows(as_events(found, stream.clock), keep(stream.events, condition.of_event))
