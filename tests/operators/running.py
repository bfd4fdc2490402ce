"""Operators in this process: on whole tables, in pieces, event by event; and rows in the form that the twin has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.operators.strategies import Clock
from tests.reference.operators.aggregation import Rounded
from tests.reference.operators.events import Event

#: How columns of times are called, also those of joins of what other operators found.
TIMES = ("time", "window_start", "window_end")

#: Where pieces are cut, as shares of the number of rows.
cuts = st.lists(st.floats(0, 1), max_size=4)


def as_events(table: pa.Table, clock: Clock) -> list[Event]:
    """Rows of a result as the twin has them: times in steps."""
    times = [name for name in table.column_names if name.endswith(TIMES)]
    rows = (
        [{} for _ in range(table.num_rows)]
        if len(times) == table.num_columns
        else table.drop_columns(times).to_pylist()
    )
    steps = {name: clock.steps(table.column(name)) for name in times}
    return [
        {name: steps[name][place] if name in steps else row[name] for name in table.column_names}
        for place, row in enumerate(rows)
    ]


def plain(rows: Iterable[Event]) -> list[list[tuple[str, Any]]]:
    """Rows in a form that can be compared and printed: NaN equals itself, zeros have no sign, columns are in order."""
    return [[(name, _plain(value)) for name, value in row.items()] for row in rows]


def _plain(value: Any) -> Any:
    if isinstance(value, Rounded):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value.normalize()
    return value


def assert_rows(found: Iterable[Event], expected: Iterable[Event]) -> None:
    """The same rows in the same order, with the same columns in the same order."""
    assert plain(found) == plain(expected)


def assert_tables(found: pa.Table, expected: pa.Table) -> None:
    """The same rows in the same order; floats as near as sums in another order are."""
    assert found.schema == expected.schema
    for name in found.column_names:
        own, other = found.column(name), expected.column(name)
        if pa.types.is_floating(own.type):
            assert own.is_valid().equals(other.is_valid())
            np.testing.assert_allclose(own.drop_null(), other.drop_null(), rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            assert repr(own.to_pylist()) == repr(other.to_pylist())


def assert_rows_in_any_order(found: Iterable[Event], expected: Iterable[Event]) -> None:
    """The same rows the same number of times, with the same columns in the same order."""
    assert sorted(plain(found), key=_by_values) == sorted(plain(expected), key=_by_values)


def _by_values(row: list[tuple[str, Any]]) -> tuple[str, str]:
    """Floats count last, as those of two hosts may differ in their last digits."""
    return str([value for _, value in row if not isinstance(value, float)]), str(row)


def in_pieces(operator: Any, table: pa.Table, shares: Sequence[float], time: str = "time") -> pa.Table:
    """The rows as they stand, in pieces; the watermark is the earliest time to come. The state travels as bytes."""
    engine = operator.incremental(table.schema, time=time)
    places = sorted(round(share * table.num_rows) for share in shares)
    state, found = engine.start(), []
    for low, high in pairwise([0, *places, table.num_rows]):
        to_come = [moment for moment in table.column(time)[high:].to_pylist() if moment is not None]
        watermark = min(to_come) if to_come else None
        state, rows = engine.push(engine.read(state.to_bytes()), table.slice(low, high - low), watermark)
        assert rows.schema.equals(engine.schema)
        found.append(rows)
    found.append(engine.finish(state))
    assert state.late == 0
    return pa.concat_tables(found)


def pushed(operator: Any, table: pa.Table, time: str = "time") -> pa.Table:
    """Event by event in order of time; those of one time come together, as nothing waits for late ones."""
    session = operator.push(table.schema, time=time)
    events = sorted(
        table.to_pylist(), key=lambda event: (event[time] is not None, event[time] if event[time] is not None else 0)
    )
    rows = [row for event in events for row in session.send(event)]
    assert session.late == 0
    rest = session.finish()
    return pa.concat_tables([pa.Table.from_pylist(rows, rest.schema), rest])
