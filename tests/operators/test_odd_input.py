"""Operators on columns of every type, on names that need quotes, on times at the ends of 64 bits, and on next to
nothing."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trendweave import operators as ops
from trendweave.errors import DataError, ExecutionError, PlanningError

PLAIN = pa.table({"time": [1, 1, 2, 3], "v": [1, 2, None, 4]})
ODD = {
    "dictionary of texts": pa.array(["u", "v", None, "u"]).dictionary_encode(),
    "dictionary of numbers": pa.array([3, 1, None, 3]).dictionary_encode(),
    "dictionary with NULL": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), pa.array(["q", None])),
    "large text": pa.array(["u", "v", None, "u"], pa.large_string()),
    "view of text": pa.array(["u", "v", None, "u"], pa.string_view()),
    "binary": pa.array([b"u", b"v", None, b"u"]),
    "binary of two bytes": pa.array([b"uu", b"vv", None, b"uu"], pa.binary(2)),
    "NULL": pa.nulls(4),
    "boolean": pa.array([True, False, None, True]),
    "long decimal": pa.array([Decimal("1.5"), Decimal("2"), None, Decimal("1.5")], pa.decimal256(50, 2)),
    "unsigned": pa.array([2**64 - 1, 1, None, 2**64 - 1], pa.uint64()),
    "half float": pa.array([np.float16(1), np.float16(2), None, np.float16(1)], pa.float16()),
    "zoned timestamp": pa.array([1, 2, None, 1], pa.timestamp("ns", "Europe/Berlin")),
    "duration": pa.array([1, 2, None, 1], pa.duration("us")),
}
UNORDERED = {
    "list": pa.array([[1], [2], None, [1]]),
    "struct": pa.array([{"a": 1}, {"a": 2}, None, {"a": 1}]),
    "map": pa.array([[("a", 1)], [], None, [("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "interval": pa.array([(1, 2, 3), (2, 2, 3), None, (1, 2, 3)], pa.month_day_nano_interval()),
}


def with_odd(column: pa.Array) -> pa.Table:
    return PLAIN.append_column("c", column)


@pytest.mark.parametrize("column", [*ODD.values(), *UNORDERED.values()], ids=[*ODD, *UNORDERED])
def test_columns_travel(column: pa.Array) -> None:
    """Through filters as they are, and through joins with their values."""
    events = with_odd(column)
    kept = ops.filter("v > 1").run(events)
    assert kept.schema.field("c").type == column.type
    assert kept.column("c").to_pylist() == [column.to_pylist()[1], column.to_pylist()[3]]
    pairs = ops.window_join("left.v = right.v", left="2 rows", right="9 seconds").run(events)
    assert (
        pairs.column("left_c").to_pylist()
        == pairs.column("right_c").to_pylist()
        == [column.to_pylist()[place] for place in (0, 1, 3)]
    )


@pytest.mark.parametrize("column", ODD.values(), ids=list(ODD))
def test_keys(column: pa.Array) -> None:
    """The first and the last event have one key, whatever its type; NULL is a key."""
    rows = ops.window_aggregate("COUNT(*) AS n", within="10 seconds", keys=["c"]).run(with_odd(column)).to_pylist()
    values = column.to_pylist()
    expected = [(value, values.count(value)) for value in dict.fromkeys(values)]
    assert sorted(map(str, ((row["c"], row["n"]) for row in rows))) == sorted(map(str, expected))


@pytest.mark.parametrize("column", UNORDERED.values(), ids=list(UNORDERED))
def test_no_extremes_of_what_has_no_order(column: pa.Array) -> None:
    with pytest.raises(DataError, match="TW304"):
        ops.window_aggregate("MAX(c) AS m", rows=2).run(with_odd(column))


@pytest.mark.parametrize("name", ["a b", "a.b", "a`b", "é", "select", "left", "TIME", "count"])
def test_names(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    events = pa.table({"time": [1, 2, 3], name: [5, 6, None]})
    assert ops.filter(f"{quoted} > 5").run(events).column(name).to_pylist() == [6]
    operator = ops.window_aggregate(f"SUM({quoted}) AS s", within="10 seconds", keys=[name])
    assert operator.run(events).column("s").to_pylist() == [None, 5, 6]
    assert ops.pipe(operator.text) == operator
    pairs = ops.window_join(f"left.{quoted} < right.{quoted}", left="9 seconds", right="9 seconds").run(events)
    assert pairs.column(f"left_{name}").to_pylist() == [5]


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("s", "UTC")])
@pytest.mark.parametrize("moment", [2**63 - 1, -(2**63)])
def test_times_at_the_ends_of_64_bits(kind: pa.DataType, moment: int) -> None:
    """Windows of events know no edges; those of time have edges that do not fit, which is told."""
    events = pa.table({"time": pa.array([moment, 0], pa.int64()).cast(kind), "v": [1, 2]})
    assert ops.filter("v = 1").run(events).column("time").cast(pa.int64()).to_pylist() == [moment]
    rows = ops.window_aggregate("SUM(v) AS s", rows=2).run(events)
    assert [rows.column(name).cast(pa.int64()).to_pylist() for name in ("window_start", "window_end")] == [
        [min(moment, 0)],
        [max(moment, 0)],
    ]
    with pytest.raises(DataError, match="TW310"):
        ops.window_aggregate("SUM(v) AS s", within="10 seconds").run(events)
    assert ops.window_join(None, left="1 row", right="1 row").run(events).num_rows == 2


def test_too_many_windows_are_refused() -> None:
    events = pa.table({"time": pa.array([1, 2], pa.timestamp("ns"))})
    with pytest.raises(ExecutionError, match="TW432"):
        ops.window_aggregate("COUNT(*)", within="50000 days", slide="1 nanosecond").run(events)


@pytest.mark.parametrize("rows", [0, 1])
def test_next_to_nothing(rows: int) -> None:
    """No event or one, of a table whose columns have no value at all."""
    events = pa.table({"time": [7], "v": pa.array([None], pa.int64()), "c": pa.nulls(1)}).slice(0, rows)
    chain = (
        ops.filter("v IS NULL")
        | ops.window_aggregate("COUNT(*) AS n, SUM(c) AS s, MAX(v) AS m", rows=1, keys=["c"])
        | ops.window_join("left.n = right.n AND left.s IS NULL", left="3 rows slide 2 rows", right="9 seconds")
    )
    assert chain.run(events).num_rows == rows
    pairs = ops.window_join("left.time <= right.time AND left.c IS NULL", left="1 row", right="1 second").run(events)
    assert pairs.num_rows == rows
    assert ops.window_aggregate("AVG(v) AS a", within="2 seconds").run(events).column("a").to_pylist() == [None] * rows


def test_rows_without_a_time() -> None:
    events = pa.table({"time": pa.array([None, math.nan, math.inf, 2.0, 1.0]), "v": [1, 2, 3, 4, 5]})
    assert ops.filter("TRUE").run(events).column("v").to_pylist() == [5, 4]
    assert ops.window_aggregate("SUM(v) AS s", rows=2).run(events).column("s").to_pylist() == [9]
    assert ops.window_join(None, left="1 row", right="1 row").run(events).column("left_v").to_pylist() == [5, 4]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({}, "TW281"),
        ({"rows": 0}, "TW281"),
        ({"rows": True}, "TW281"),
        ({"rows": 1, "within": "1 second"}, "TW281"),
        ({"within": "1 second", "slide": "2 seconds"}, "TW220"),
        ({"rows": 1, "keys": ["time"]}, "TW214"),
        ({"rows": 1, "keys": ["n"]}, "TW214"),
    ],
)
def test_wrong_options(options: dict[str, Any], code: str) -> None:
    with pytest.raises(PlanningError, match=code):
        ops.window_aggregate("COUNT(*) AS n", **options).run(PLAIN)
