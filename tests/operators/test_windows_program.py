"""Windowed aggregation against the slow definition: windows, keys, ties, NULL and NaN, any cut into pieces."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.reference.operators.aggregation import Rounded, window_aggregate
from tests.reference.operators.windows import Rows, Span
from trendweave.errors import DataError
from trendweave.language.operator_texts import read_outputs
from trendweave.planning.operator_plans import AggregatePlan, RowCount, TimeSpan
from trendweave.programs.operators.windows.program import WindowAggregates, bind_windows
from trendweave.rows.times import as_steps, time_type
from trendweave.runners.incremental import Incremental
from trendweave.runners.local import run_local

SECOND = 10**9
FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")
SCHEMA = pa.schema(
    [("time", pa.int64()), ("key", pa.float64()), ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string())]
)


def bind(
    outputs: str, window: RowCount | TimeSpan, keys: tuple[str, ...] = (), order_by: tuple[str, ...] = (), **other: Any
) -> WindowAggregates:
    plan = AggregatePlan(read_outputs(outputs), window, keys, order_by, outputs)
    return bind_windows(plan, other.get("schema", SCHEMA), "time", other.get("numbers", "decimal"))


def same(value: Any) -> Any:
    """What two equal results have in common."""
    if isinstance(value, Rounded):
        return value
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return int(value) if isinstance(value, Decimal) else value


def told(table: pa.Table) -> list[dict[str, Any]]:
    return [{name: same(value) for name, value in row.items()} for row in table.to_pylist()]


def expected(
    events: pa.Table, outputs: str, window: RowCount | TimeSpan, keys: tuple[str, ...], order_by: tuple[str, ...]
) -> list[dict[str, Any]]:
    wanted = []
    for output in read_outputs(outputs):
        column = None if output.value.argument is None else output.value.argument.names[0]
        name = output.value.function.lower() + ("" if column is None else f"_{column}")
        wanted.append((name, output.value.function, column))
    size = Rows(window.rows, window.slide) if isinstance(window, RowCount) else _span(window)
    rows = window_aggregate(events.to_pylist(), wanted, size, keys, order_by, "time", events.column_names)
    return [{name: same(value) for name, value in row.items()} for row in rows]


def _span(window: TimeSpan) -> Span:
    assert window.slide is not None
    return Span(window.length // SECOND, window.slide // SECOND)


NUMBERS = some.none() | some.integers(-3, 3) | some.sampled_from([2**63 - 1, -(2**63), 2**40])
FLOATS = some.none() | some.sampled_from(
    [0.0, -0.0, 0.1, 0.2, 0.3, -1.5, 1e300, -1e300, 1.7e308, 5e-324, 1e-20, 2.0**60, math.inf, -math.inf, math.nan]
)
WINDOWS = some.one_of(
    some.builds(RowCount, some.integers(1, 5), some.integers(1, 6)),
    some.builds(lambda a, b: TimeSpan(a * SECOND, b * SECOND), some.integers(1, 6), some.integers(1, 7)),
)


@some.composite
def tables(draw: Any) -> pa.Table:
    size = draw(some.integers(0, 12))
    column = lambda values: draw(some.lists(values, min_size=size, max_size=size))  # noqa: E731
    keys = some.sampled_from([None, 0.0, -0.0, 1.0, math.nan]) if draw(some.booleans()) else some.just(1.0)
    values = [
        column(some.integers(-9, 9)),
        column(keys),
        column(NUMBERS),
        column(FLOATS),
        column(some.sampled_from(["", "a", "ä", None])),
    ]
    return pa.table([pa.array(one, kind) for one, kind in zip(values, SCHEMA.types, strict=True)], schema=SCHEMA)


OUTPUTS = "COUNT(*), " + ", ".join(
    f"{function}({name})" for name in "xys" for function in FUNCTIONS if name != "s" or function not in ("SUM", "AVG")
)


@given(tables(), WINDOWS, some.sampled_from([(), ("key",)]), some.sampled_from([(), ("s",), ("y", "x")]))
def test_rows_are_those_of_the_definition(
    events: pa.Table, window: RowCount | TimeSpan, keys: tuple[str, ...], order_by: tuple[str, ...]
) -> None:
    program = bind(OUTPUTS, window, keys, order_by)

    found = run_local(program, events)

    assert found.schema.equals(program.schema)
    wanted = expected(events, OUTPUTS, window, keys, order_by)
    assert told(found) == wanted
    parts = [found.slice(place, 1) for place in range(found.num_rows)]
    by_key = sorted(parts, key=lambda part: repr(part.column(0)[0]) if keys else "")
    assert told(program.arrange(pa.concat_tables([*by_key, found.slice(0, 0)]))) == wanted


@given(
    tables(),
    WINDOWS,
    some.lists(some.integers(-9, 9), max_size=3),
    some.randoms(),
    some.sampled_from(["", ", MIN(s), MAX(s)"]),
)
def test_any_cut_into_pieces_gives_the_rows_of_one_batch(
    events: pa.Table, window: RowCount | TimeSpan, marks: list[int], random: Any, texts: str
) -> None:
    """Numbers of windows of time are folded, texts wait."""
    outputs = "COUNT(*), SUM(x), AVG(x), COUNT(s), SUM(y), AVG(y), MIN(y), MAX(y), MIN(x), MAX(x)" + texts
    program = bind(outputs, window, ("key",))
    whole = Incremental(program)
    order = list(range(events.num_rows))
    random.shuffle(order)
    times = events.column("time").to_pylist()
    state, parts, before = whole.start(), [], -100
    for mark in [*sorted(marks), None]:
        piece = [
            row for row in order if times[row] >= before and (mark is None or times[row] < mark + random.randint(0, 3))
        ]
        order = [row for row in order if row not in piece and (mark is None or times[row] >= mark)]
        state, part = whole.push(state, events.take(pa.array(piece, pa.int64())), mark)
        parts.append(part)
        before = before if mark is None else mark
    parts.append(whole.finish(type(state).from_bytes(state.to_bytes())))
    assert state.late == 0

    found = pa.concat_tables(parts)

    wanted = expected(events, outputs, window, ("key",), ())
    assert sorted(map(repr, told(found))) == sorted(map(repr, wanted))
    for part in parts:
        positions = [wanted.index(row) for row in told(part)]
        assert [wanted[place] for place in sorted(positions)] == told(part)


def test_state_of_time_windows_does_not_grow_with_events() -> None:
    random = np.random.default_rng(8)
    sizes = []
    for size in (100, 10_000):
        events = pa.table(
            {"time": random.integers(0, 60, size), "key": random.integers(0, 3, size), "y": random.random(size)}
        )
        whole = Incremental(bind("AVG(y), MAX(y)", TimeSpan(100 * SECOND, 20 * SECOND), ("key",), schema=events.schema))
        state, _ = whole.push(whole.start(), events, 60)
        assert state.rows is not None
        assert state.rows.num_rows == 0
        sizes.append([table.num_rows for table in state.carry.values()])
    assert sizes == [[9], [9]]


@pytest.mark.parametrize("slide", [1, 3])
def test_float_sums_have_no_trace_of_what_left_the_window(slide: int) -> None:
    random = np.random.default_rng(5)
    wide = random.standard_normal(300) * 10.0 ** random.integers(-290, 290, 300)
    near = np.round(random.standard_normal(300) * 100, 2)
    for values in (wide, near, np.rint(near), random.random(300), random.standard_normal(300) * 1e-310):
        events = pa.table({"time": np.arange(300), "y": values})
        program = bind("SUM(y), AVG(y)", RowCount(17, slide), schema=events.schema)
        found = run_local(program, events)
        wanted = expected(events, "SUM(y), AVG(y)", RowCount(17, slide), (), ())
        for name in ("sum_y", "avg_y"):
            assert found.column(name).to_pylist() == [row[name] for row in wanted]


def test_sums_of_whole_numbers_are_written_as_asked() -> None:
    events = pa.table({"time": [1, 2], "x": [2**63 - 1, 1]})
    outputs = "SUM(x)"

    written = {
        numbers: run_local(bind(outputs, RowCount(2, 1), schema=events.schema, numbers=numbers), events)
        for numbers in ("decimal", "float64", "text")
    }

    assert written["decimal"].column("sum_x").type == pa.decimal128(38, 0)
    assert written["decimal"].column("sum_x").to_pylist() == [2**63]
    assert written["float64"].column("sum_x").to_pylist() == [2.0**63]
    assert written["text"].column("sum_x").to_pylist() == [str(2**63)]
    with pytest.raises(Exception, match="TW402"):
        run_local(bind(outputs, RowCount(2, 1), schema=events.schema, numbers="int64"), events)
    first = run_local(bind(outputs, RowCount(1, 1), schema=events.schema, numbers="int64"), events)
    assert first.column("sum_x").to_pylist() == [2**63 - 1, 1]


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        (pa.timestamp("ms", "UTC"), 59_999),
        (pa.timestamp("ns"), 59_999_999_999),
        (pa.int32(), 59),
        (pa.float64(), 59_999_999),
    ],
)
def test_time_of_a_row_is_the_last_moment_of_its_window(kind: pa.DataType, last: int) -> None:
    moments = pa.array([50, 59], pa.int64())
    moments = (
        moments.cast(pa.timestamp("s")).cast(pa.timestamp(kind.unit)).cast(kind)
        if pa.types.is_timestamp(kind)
        else moments.cast(kind)
    )
    events = pa.table({"time": moments})
    program = bind("COUNT(*)", TimeSpan(60 * SECOND, 60 * SECOND), schema=events.schema)

    found = run_local(program, events)

    assert found.column("count").to_pylist() == [2]
    assert found.column("time").type == kind
    assert as_steps(found.column("time"), time_type(kind)).tolist() == [last]


def test_short_floats_have_their_last_moment_in_the_window() -> None:
    events = pa.table({"time": pa.array([1e6], pa.float32())})
    program = bind("COUNT(*)", TimeSpan(64 * SECOND, 64 * SECOND), schema=events.schema)

    (row,) = run_local(program, events).to_pylist()

    assert row["window_start"] < row["time"] < row["window_end"]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_structs_have_an_order(order: list[int]) -> None:
    structs = pa.array([{"a": 1}, {"a": 2}, None])
    table = pa.table({"time": [1, 1, 1], "x": [3, 1, 2], "v": structs}).take(order)
    tied = bind("MAX(x) AS x", RowCount(1), order_by=("v",), schema=table.schema)
    assert run_local(tied, table).column("x").to_pylist() == [2, 3, 1]
    keyed = bind("MAX(x) AS x", TimeSpan(10**9, 10**9), ("v",), schema=table.schema)
    assert run_local(keyed, table).column("x").to_pylist() == [2, 3, 1]


def test_values_without_an_order_are_counted() -> None:
    spans = pa.array([pa.MonthDayNano([1, 2, 3]), None], pa.month_day_nano_interval())
    table = pa.table({"time": [1, 1], "v": spans})
    counted = bind("COUNT(v) AS n", RowCount(1), schema=table.schema)
    assert run_local(counted, table).column("n").to_pylist() == [0, 1]


def test_outputs_may_be_computed_of_aggregates() -> None:
    events = pa.table({"time": [1, 2, 3], "x": [1, 2, 6]})

    found = run_local(
        bind("SUM(x) / COUNT(*) AS mean, MAX(x) - MIN(x) AS spread", RowCount(3, 1), schema=events.schema), events
    )

    assert found.column("mean").to_pylist() == [3]
    assert found.column("spread").to_pylist() == [5]


def test_columns_without_any_value_add_up_to_null() -> None:
    events = pa.table({"time": [1, 2], "x": pa.nulls(2)})

    (row,) = run_local(
        bind("COUNT(x), SUM(x), AVG(x), MIN(x), MAX(x)", RowCount(2, 1), schema=events.schema), events
    ).to_pylist()

    assert [row[name] for name in ("count_x", "sum_x", "avg_x", "min_x", "max_x")] == [0, None, None, None, None]


def test_largest_texts_whole_numbers_and_decimals_keep_their_type() -> None:
    events = pa.table(
        {
            "time": [1, 2, 3],
            "s": pa.array(["a", None, "b"]).dictionary_encode(),
            "u": pa.array([2**64 - 1, None, 5], pa.uint64()),
            "d": pa.array([Decimal(10) ** 30, None, Decimal(-1)], pa.decimal128(38, 0)),
            "b": pa.array([True, None, False]),
            "f": pa.array([1.5, None, -0.0], pa.float32()),
            "day": pa.array([3, None, 1], pa.date32()),
        }
    )
    asked = ", ".join(f"{function}({name})" for name in events.column_names[1:] for function in ("MIN", "MAX"))

    found = run_local(bind(asked, RowCount(3, 3), schema=events.schema), events)

    (row,) = found.to_pylist()
    assert (row["min_s"], row["max_s"]) == ("a", "b")
    assert (row["min_u"], row["max_u"]) == (5, 2**64 - 1)
    assert (row["min_d"], row["max_d"]) == (-1, 10**30)
    assert (row["min_b"], row["max_b"]) == (False, True)
    assert (row["min_f"], row["max_f"]) == (0.0, 1.5)
    assert (row["min_day"], row["max_day"]) == (date(1970, 1, 2), date(1970, 1, 4))
    assert [found.schema.field(f"max_{name}").type for name in "sudbf"] == [
        *(pa.string(), pa.uint64(), pa.decimal128(38, 0), pa.bool_(), pa.float32())
    ]
    with pytest.raises(DataError, match="TW310"):
        run_local(bind("SUM(d)", RowCount(1, 1), schema=events.schema), events)
