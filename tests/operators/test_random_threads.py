"""Operators on all cores of this process against the slow twin: even the smallest tables are dealt out to threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from tests.features.places import dealing_everything_out
from tests.operators.conditions import Condition
from tests.operators.running import as_events, assert_rows
from tests.operators.strategies import Stream
from tests.operators.test_random_chains import cases as chains
from tests.operators.test_random_filter import cases as filters
from tests.operators.test_random_joins import Join
from tests.operators.test_random_joins import pairs as joins
from tests.operators.test_random_windows import Case
from tests.operators.test_random_windows import cases as windows
from tests.profiles import examples
from tests.reference.operators.events import Event
from tests.reference.operators.filtering import keep
from trendweave import operators as ops


@pytest.fixture(scope="module", autouse=True)
def threads_for_everything() -> Iterator[None]:
    with dealing_everything_out():
        yield


@examples(25)
@given(filters())
def test_filters(case: tuple[Stream, Condition]) -> None:
    stream, condition = case
    found = ops.filter(condition.text).run(stream.table, device="threads")
    assert found.schema.equals(stream.table.schema)
    assert_rows(as_events(found, stream.clock), keep(stream.events, condition.of_event))


@examples(25)
@given(windows())
def test_windows(case: Case) -> None:
    found = case.operator.run(case.stream.table, device="threads")
    assert found.schema.equals(case.schema)
    assert_rows(as_events(found, case.stream.clock), case.expected)


@examples(25)
@given(joins())
def test_joins(case: tuple[Join, Stream, Stream]) -> None:
    join, left, right = case
    found = join.operator.run(left.table, right.table, device="threads")
    assert_rows(as_events(found, left.clock), join.expected(left, right))


@examples(20)
@given(chains())
def test_chains(case: tuple[Stream, Any, list[Event], list[str]]) -> None:
    stream, operator, expected, columns = case
    found = operator.run(stream.table, device="threads")
    assert found.column_names == columns
    assert_rows(as_events(found, stream.clock), expected)
