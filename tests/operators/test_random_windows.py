"""Windowed aggregation with random windows, keys and aggregates against the slow twin."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.operators.running import as_events, assert_rows, cuts, in_pieces, pushed
from tests.operators.strategies import (
    COLUMNS,
    Clock,
    Stream,
    Windows,
    aggregate_windows,
    clocks,
    keys,
    outputs,
    streams,
)
from tests.profiles import examples
from tests.reference.operators.aggregation import Wanted, window_aggregate
from tests.reference.operators.events import Event
from trendweave import operators as ops


@dataclass(frozen=True)
class Case:
    """An aggregation of a stream."""

    stream: Stream
    text: str
    wanted: list[Wanted]
    windows: Windows
    keys: list[str]
    order_by: list[str]

    @property
    def operator(self) -> ops.Operator:
        return ops.window_aggregate(self.text, keys=self.keys, order_by=self.order_by, **self.windows.options)

    @property
    def expected(self) -> list[Event]:
        return window_aggregate(
            self.stream.events,
            self.wanted,
            self.windows.window,
            self.keys,
            self.order_by,
            schema=self.stream.schema,
        )

    @property
    def schema(self) -> pa.Schema:
        """Keys, edges and time as they come; aggregates as stored events have them."""
        events = self.stream.table.schema
        fields = [(name, events.field(name).type) for name in self.keys]
        fields += [(name, events.field("time").type) for name in ("window_start", "window_end", "time")]
        return pa.schema(fields + [(name, _type(function, column)) for name, function, column in self.wanted])


def _type(function: str, column: str | None) -> pa.DataType:
    if function == "COUNT":
        return pa.int64()
    assert column is not None
    kind = COLUMNS[column]
    if function == "AVG" or (function == "SUM" and pa.types.is_floating(kind)):
        return pa.float64()
    if function == "SUM":
        return pa.decimal128(38, kind.scale if pa.types.is_decimal(kind) else 0)
    return kind


@st.composite
def cases(draw: st.DrawFn, most: int = 14, of: st.SearchStrategy[Clock] = clocks) -> Case:
    clock = draw(of)
    text, wanted = draw(outputs())
    chosen = draw(keys)
    order_by = draw(st.lists(st.sampled_from(["x", "n", "word"]), max_size=1))
    columns = {*chosen, *order_by, *(column for _, _, column in wanted if column)} | {"n"}
    stream = draw(streams(clock, tuple(sorted(columns)), most))
    return Case(stream, text, wanted, draw(aggregate_windows(clock)), chosen, order_by)


@examples(80)
@given(cases())
def test_whole_tables(case: Case) -> None:
    found = case.operator.run(case.stream.table)
    assert found.schema.equals(case.schema)
    assert_rows(as_events(found, case.stream.clock), case.expected)


@examples(10)
@given(cases(most=60))
def test_more_events(case: Case) -> None:
    assert_rows(as_events(case.operator.run(case.stream.table), case.stream.clock), case.expected)


@examples(60)
@given(cases(), cuts)
def test_pieces(case: Case, shares: list[float]) -> None:
    found = in_pieces(case.operator, case.stream.table, shares)
    assert_rows(as_events(found, case.stream.clock), case.expected)


@examples(20)
@given(cases())
def test_event_by_event(case: Case) -> None:
    found = pushed(case.operator, case.stream.table)
    assert_rows(as_events(found, case.stream.clock), case.expected)
