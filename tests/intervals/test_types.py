"""Times of every type, values of every type, and tables of every kind."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import DataError, ExecutionError

QUERY = trendweave.query(
    "FROM X DEFINE A AS a > 0 AT LEAST 2 seconds, B AS b > 0 PATTERN A overlaps; before B WITHIN 20 seconds "
    "RETURN DURATION(A) AS length, COUNT(A)"
)
SECONDS = list(range(10))
VALUES = {"a": [0, 1, 1, 1, 0, 0, 0, 0, 0, 0], "b": [0, 0, 0, 1, 1, 0, 1, 0, 0, 0]}


@pytest.mark.parametrize(
    ("kind", "as_seconds"),
    [
        (pa.int64(), float),
        (pa.int32(), float),
        (pa.float64(), float),
        (pa.timestamp("s"), lambda moment: (moment - datetime(1970, 1, 1)).total_seconds()),
        (pa.timestamp("us", "UTC"), lambda moment: (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()),
        (pa.timestamp("ns"), lambda moment: moment.timestamp()),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else "",
)
def test_times_of_every_type(kind: pa.DataType, as_seconds: object) -> None:
    times = pa.array(SECONDS, pa.int64())
    times = times.cast(pa.timestamp("s")).cast(kind) if pa.types.is_timestamp(kind) else times.cast(kind)
    result = QUERY.run(pa.table({"time": times} | VALUES))
    assert result.schema.field("time").type == kind
    assert result.schema == QUERY.schema(pa.table({"time": times} | VALUES)).with_metadata(result.schema.metadata)
    found = [
        tuple(as_seconds(row[name]) for name in ("time", "A_start", "A_end", "B_start")) for row in result.to_pylist()
    ]
    assert found == [(4.0, 1.0, 4.0, 3.0), (6.0, 1.0, 4.0, 6.0)]
    lengths = result.column("length").to_pylist()
    assert lengths in ([3, 3], [3.0, 3.0], [timedelta(seconds=3)] * 2, [pd.Timedelta(seconds=3)] * 2)


def test_lengths_finer_than_the_time_column_mean_what_they_say() -> None:
    # Whole seconds: at least 1.5 seconds is at least 2, at most 1.5 seconds is at most 1.
    text = "FROM X DEFINE A AS a > 0 AT LEAST 2500 ms, B AS b > 0 AT MOST 1500 ms RETURN SITUATIONS"
    rows = trendweave.query(text).run(pa.table({"time": SECONDS} | VALUES)).to_pylist()
    assert rows == [{"name": "A", "start": 1, "end": 4}, {"name": "B", "start": 6, "end": 7}]


AGGREGATED = trendweave.query(
    "FROM X DEFINE A AS a > 0 "
    "RETURN FIRST(A.v) AS f, LAST(A.v) AS l, MIN(A.v) AS low, MAX(A.v) AS high, COUNT(A.v) AS n"
)


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, None],
        [3.5, float("nan"), 1.0],
        ["q", "p", None],
        [True, False, True],
        [Decimal("3.25"), Decimal("-1.50"), Decimal("2.00")],
        [date(2024, 1, 3), date(2024, 1, 1), None],
        [datetime(2024, 1, 3), datetime(2024, 1, 1), datetime(2024, 1, 2)],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_values_of_every_type(values: list[object]) -> None:
    table = pa.table({"time": [0, 1, 2, 3], "a": [1, 1, 1, 0], "v": [*values, None]})
    (row,) = trendweave.query(str(AGGREGATED) + "\nDETECT AT END").run(table).to_pylist()
    known = [value for value in values if value is not None]
    assert row["n"] == len(known)
    assert row["f"] == values[0]
    assert row["l"] == values[2]
    if isinstance(values[0], float):
        assert row["low"] == 1.0
        assert row["high"] != row["high"]  # NaN is the largest
    else:
        assert (row["low"], row["high"]) == (min(known), max(known))


def test_sums_of_decimals_are_exact_and_too_large_ones_are_refused() -> None:
    text = "FROM X DEFINE A AS a > 0 DETECT AT END RETURN SUM(A.v) AS s, AVG(A.v) AS m"
    cents = [Decimal("0.10"), Decimal("0.20"), Decimal("99999999999.33"), None]
    (row,) = trendweave.query(text).run(pa.table({"time": [0, 1, 2, 3], "a": [1, 1, 1, 0], "v": cents})).to_pylist()
    assert row["s"] == Decimal("99999999999.63")
    assert row["m"] == pytest.approx(99999999999.63 / 3)
    with pytest.raises(ExecutionError, match="TW402"):
        trendweave.query(text).run(pa.table({"time": [0, 1, 2], "a": [1, 1, 0], "v": [2**62, 2**62, 0]}))


def test_frames_in_frames_out_and_columns_that_do_not_fit() -> None:
    frame = pd.DataFrame({"time": SECONDS} | VALUES)
    assert list(QUERY.run(frame)["time"]) == [4, 6]
    with pytest.raises(DataError) as caught:
        QUERY.check({"time": "string", "a": "string"})
    assert [problem.code for problem in caught.value.problems] == ["TW303", "TW305", "TW301"]
    with pytest.raises(DataError, match="TW302"):
        trendweave.query("DEFINE A AS a > 0 RETURN SITUATIONS").check({"time": "long", "a": "long"}, type="type")


def test_an_empty_table_has_no_rows_but_all_columns() -> None:
    empty = pa.table({"time": pa.array([], pa.int64()), "a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    result = QUERY.run(empty)
    assert result.num_rows == 0
    assert result.column_names == ["time", "A_start", "A_end", "B_start", "B_end", "length", "count_A"]
