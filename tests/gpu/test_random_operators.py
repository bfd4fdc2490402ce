"""Operators on a simulated card against the slow twin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given

from tests.gpu.simulator import SimulatedCard, why_not
from tests.operators.conditions import Condition
from tests.operators.running import as_events, assert_rows
from tests.operators.strategies import Stream
from tests.operators.test_random_filter import cases as filters
from tests.operators.test_random_joins import Join
from tests.operators.test_random_joins import pairs as joins
from tests.operators.test_random_windows import Case
from tests.operators.test_random_windows import cases as windows
from tests.profiles import examples
from tests.reference.operators.filtering import keep
from trendweave import operators as ops
from trendweave.errors import ExecutionError
from trendweave.gpu.card import using_card


@pytest.fixture(scope="module", autouse=True)
def card() -> Iterator[SimulatedCard]:
    if reason := why_not():
        pytest.skip(reason)
    card = SimulatedCard()
    with using_card(card):
        yield card


def on_card(operator: Any, *tables: Any) -> Any:
    try:
        return operator.run(*tables, device="gpu")
    except ExecutionError as error:
        # Texts in conditions, which the error says.
        assume([problem.code for problem in error.problems] != ["TW422"])
        raise


@examples(4)
@given(filters())
def test_filters(case: tuple[Stream, Condition]) -> None:
    stream, condition = case
    found = on_card(ops.filter(condition.text), stream.table)
    assert_rows(as_events(found, stream.clock), keep(stream.events, condition.of_event))


@examples(25)
@given(windows())
def test_windows(case: Case) -> None:
    found = on_card(case.operator, case.stream.table)
    assert found.schema.equals(case.schema)
    assert_rows(as_events(found, case.stream.clock), case.expected)


@examples(12)
@given(joins())
def test_joins(case: tuple[Join, Stream, Stream]) -> None:
    join, left, right = case
    found = on_card(join.operator, left.table, right.table)
    assert_rows(as_events(found, left.clock), join.expected(left, right))
