"""A query against a table: what does not fit is told before anything runs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import trendweave
from trendweave.errors import CODES, DataError

SCHEMA = pa.schema(
    {
        "time": pa.timestamp("us", "UTC"),
        "type": pa.string(),
        "company": pa.dictionary(pa.int32(), pa.string()),
        "price": pa.float64(),
        "volume": pa.int32(),
        "cost": pa.decimal128(10, 2),
        "day": pa.date32(),
        "open": pa.bool_(),
        "gap": pa.duration("s"),
        "tags": pa.list_(pa.string()),
        "address": pa.struct({"city": pa.string(), "zip": pa.int64()}),
    }
)


def problems(text: str, schema: object = SCHEMA, **options: str | None) -> list[str]:
    query = trendweave.query(text)
    try:
        query.check(schema, **options)
    except DataError as error:
        return [f"{problem.code} {problem.message} | {problem.hint}" for problem in error.problems]
    return []


@pytest.mark.parametrize(
    "where",
    [
        "S.price > 5 AND S.volume <= 7.5 AND S.cost = S.price + 1",
        "S.company = 'IBM' AND S.company LIKE 'I%' AND LENGTH(UPPER(S.company)) > 2",
        "S.open AND NOT S.open = FALSE AND (S.open OR S.price IS NULL)",
        "S.time > TIMESTAMP '2024-01-01' AND S.day = DATE '2024-01-01' AND S.time >= S.day",
        "NEXT(S).time - S.time < 5 minutes AND S.time + 1 hour > NEXT(S).time AND S.gap > 10 s",
        "S.address.city = 'Graz' AND [address.zip, S.company]",
        "COALESCE(S.price, S.volume, 0) IN (1, 2.5, NULL) AND S.price BETWEEN S.volume AND 9",
        "CAST(S.company AS DOUBLE) > ABS(S.volume) AND SUBSTRING(S.company, 1, 2) = CONCAT('I', 'B')",
        "GREATEST(S.volume, S.price) > NULLIF(S.volume, 0) AND SQRT(S.price) < FLOOR(S.price) % 3",
    ],
)
def test_queries_that_fit(where: str) -> None:
    assert (
        problems(f"RETURN COUNT(*), SUM(S.price), MIN(S.time), MAX(S.day), AVG(S.cost) PATTERN Stock S+ WHERE {where}")
        == []
    )


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("S.pirce > 5", "TW301 unknown column pirce | did you mean price?"),
        ("S.address.town = 'x'", "TW301 unknown column town in address | the columns are city, zip"),
        ("S.price.cents > 1", "TW301 unknown column cents in price | the columns are (none)"),
        ("NEXT(S).prices < S.price", "TW301 unknown column prices | did you mean price?"),
        (
            "S.price > 'high'",
            "TW305 these cannot be compared: S.price is a float, 'high' is a string | "
            "compare values of one kind; CAST turns text into numbers",
        ),
        (
            "S.open IN (TRUE, 1)",
            "TW305 these cannot be compared: S.open is a boolean, 1 is a whole number | "
            "compare values of one kind; CAST turns text into numbers",
        ),
        (
            "S.time > '2024-01-01'",
            "TW305 these cannot be compared: S.time is a timestamp, '2024-01-01' is a string | "
            "write TIMESTAMP '2024-01-01'",
        ),
        (
            "'2024-01-01' < S.day",
            "TW305 these cannot be compared: '2024-01-01' is a string, S.day is a date | write DATE '2024-01-01'",
        ),
        (
            "S.time > S.company",
            "TW305 these cannot be compared: S.time is a timestamp, S.company is a string | "
            "compare values of one kind; CAST turns text into numbers",
        ),
        (
            "S.company + 1 > 2",
            "TW306 a string + a whole number cannot be computed | use numbers, or times and durations with + and -",
        ),
        ("S.price", "TW306 S.price is a float, not a condition | compare it with something"),
        (
            "LOWER(S.price) = 'a'",
            "TW306 LOWER needs a string; S.price is a float | use another column, or CAST it",
        ),
        ("[tags]", "TW307 tags is a list or map and cannot be a key | use a column with a single value"),
    ],
)
def test_queries_that_do_not_fit(where: str, expected: str) -> None:
    assert problems(f"RETURN COUNT(*) PATTERN Stock S+ WHERE {where}") == [expected]


def test_aggregates_need_numbers() -> None:
    assert problems("RETURN SUM(S.company), AVG(S.time), MIN(S.open), MAX(S.nothing) PATTERN Stock S") == [
        "TW304 SUM(S.company) needs a number; the column is a string | MIN and MAX also take timestamps and dates",
        "TW304 AVG(S.time) needs a number; the column is a timestamp | MIN and MAX also take timestamps and dates",
        "TW304 MIN(S.open) needs a number; the column is a boolean | use a number, timestamp or date",
        "TW301 unknown column nothing | the columns are time, type, company, price, volume, cost, day, open, gap, "
        "tags, address",
    ]


def test_attributes_that_are_shown() -> None:
    table = {"at": "bigint", "type": "string", "time": "string", "x": "bigint"}
    assert problems("RETURN TRENDS(A.x, xx) PATTERN A", table, time="at") == [
        "TW301 unknown column xx | did you mean x?"
    ]
    assert problems("RETURN TRENDS PATTERN A WHERE A.time = 'noon'", table, time="at") == [
        "TW313 an event that is shown has a field time of its own | rename the column time, or list what to show: "
        "TRENDS(...)"
    ]
    assert problems("RETURN TRENDS(A.x) PATTERN A WHERE A.time = 'noon'", table, time="at") == []
    assert problems("RETURN EACH FIRST(A.time), LAST(A.nothing) PATTERN A", table, time="at") == [
        "TW301 unknown column nothing | the columns are at, type, time, x"
    ]


def test_time_and_type_columns() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A, B)"
    assert problems(text, {"tiem": "double", "x": "string"}) == [
        "TW302 there is no time column time | did you mean tiem?",
        "TW302 there is no type column type | name it with type=, or type=None if all rows have one type",
    ]
    assert problems(text, {"time": "string", "type": "bigint"}) == [
        "TW303 the time column time is a string | give time_format='iso', or how times are written, such as "
        "time_format='%d.%m.%Y %H:%M:%S'",
        "TW303 the type column type is a whole number | use a string column",
    ]
    assert problems(text, {"ts": "bigint", "kind": "string"}, time="ts", type="kind") == []
    assert problems(text, {"time": "double"}, type=None) == [
        "TW302 type=None needs a pattern with one event type; this one has A, B | "
        "name the column that holds the type with type="
    ]
    assert problems("RETURN COUNT(*) PATTERN A+", {"time": "double"}, type=None) == []


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ({"when": "timestamp", "title": "string"}, 'name it with time="when", the one column of timestamps'),
        ({"timed": "timestamp", "title": "string"}, "did you mean timed?"),
        ({"begin": "timestamp", "end": "timestamp"}, "name it with time="),
        ({"day": "date", "x": "bigint"}, "name it with time="),
    ],
)
def test_the_one_column_of_timestamps_is_named(columns: dict[str, str], hint: str) -> None:
    told = [f"TW302 there is no time column time | {hint}"]
    assert problems("RETURN COUNT(*) PATTERN A", columns, type=None) == told
    assert problems("DEFINE B AS x > 1 RETURN SITUATIONS", columns | {"x": "bigint"}, type=None) == told


def test_a_duration_beside_a_number_of_seconds() -> None:
    text = "RETURN COUNT(*) PATTERN A+ WHERE NEXT(A).time - A.time < 5 minutes AND NEXT(A).time <= A.time + 1 hour"
    assert problems(text, {"time": "double", "type": "string"}) == []
    assert problems(text, {"time": "timestamp", "type": "string"}) == []


def test_all_problems_are_told_at_once_with_their_places() -> None:
    query = trendweave.query("RETURN SUM(S.vol)\nPATTERN Stock S+\nWHERE S.pirce > 1 AND [compny]")
    with pytest.raises(DataError) as caught:
        query.check(SCHEMA)
    assert [(p.code, p.line, p.column) for p in caught.value.problems] == [
        ("TW301", 1, 12),
        ("TW301", 3, 7),
        ("TW301", 3, 24),
    ]
    assert "WHERE S.pirce > 1" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"time": [1.0], "type": ["A"], "x": [1]}),
        pa.table({"time": [1.0], "type": ["A"], "x": [1]}).to_reader(),
        pd.DataFrame({"time": [1.0], "type": ["A"], "x": [1]}),
        pl.DataFrame({"time": [1.0], "type": ["A"], "x": [1]}),
        {"time": pa.float64(), "type": "string", "x": "decimal(10,2)"},
    ],
    ids=["table", "reader", "pandas", "polars", "mapping"],
)
def test_any_table_has_a_schema(table: object) -> None:
    assert problems("RETURN SUM(A.x) PATTERN A", table) == []
    assert problems("RETURN SUM(A.xx) PATTERN A", table) == ["TW301 unknown column xx | did you mean x?"]


def test_a_spark_schema_is_read_without_spark() -> None:
    types = pytest.importorskip("pyspark.sql.types")
    inner = types.StructType([types.StructField("zip", types.LongType())])
    schema = types.StructType(
        [
            types.StructField("time", types.TimestampNTZType()),
            types.StructField("type", types.StringType()),
            types.StructField("x", types.DecimalType(10, 2)),
            types.StructField("address", inner),
            types.StructField("tags", types.ArrayType(types.StringType())),
        ]
    )
    assert problems("RETURN SUM(A.x) PATTERN A WHERE [address.zip]", schema) == []
    assert problems("RETURN SUM(A.tags) PATTERN A WHERE [tags]", schema) == [
        "TW304 SUM(A.tags) needs a number; the column is a list or map | MIN and MAX also take timestamps and dates",
        "TW307 tags is a list or map and cannot be a key | use a column with a single value",
    ]


@pytest.mark.parametrize("source", [5, {"time": "wibble"}])
def test_what_is_no_schema_is_refused(source: object) -> None:
    with pytest.raises(DataError, match="TW308"):
        trendweave.query("PATTERN A").check(source)


def test_every_code_that_a_check_can_give_is_tested_here() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    found_while_running = {"TW3" + number for number in ("10", "11", "12")}
    of_workloads = {"TW3" + number for number in ("14", "15")}  # several queries: tests/workloads
    of_stores = {"TW3" + number for number in ("31", "32", "33")}  # tests/store
    of_operators = {"TW3" + number for number in ("16", "17")}  # tests/operators/test_api.py
    known = found_while_running | of_workloads | of_stores | of_operators
    assert {code for code in CODES if code[2] == "3" and code not in here} == known


@pytest.mark.parametrize(
    ("query", "time", "told"),
    [
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms", pa.int64(), ["WITHIN"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 1 s SLIDE 500 ms", pa.int64(), ["SLIDE"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 1500 ms SLIDE 500 ms", pa.int64(), ["WITHIN", "SLIDE"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms", pa.timestamp("s"), ["WITHIN"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms", "timestamp[s, tz=UTC]", ["WITHIN"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms", pa.timestamp("ms"), []),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms", pa.float64(), []),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ns SLIDE 500 ns", pa.float64(), ["WITHIN"]),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ns SLIDE 500 ns", "timestamp", []),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms", pa.int64(), []),
        ("RETURN COUNT(*) PATTERN A a+ WITHIN SESSION 500 ms", pa.int64(), ["WITHIN SESSION"]),
        ("RETURN TRENDS PATTERN SEQ(A, NOT B) WITHIN 2500 ms", pa.int64(), ["WITHIN"]),
        ("RETURN TRENDS PATTERN SEQ(A, B) WITHIN 2500 ms", pa.int64(), []),
        (
            "FROM A DEFINE X AS open, Y AS NOT open PATTERN X before Y WITHIN 1500 ms EVERY 500 ms RETURN COUNT(*)",
            pa.int64(),
            ["WITHIN", "EVERY"],
        ),
    ],
)
def test_lengths_finer_than_the_time_column(query: str, time: object, told: list[str]) -> None:
    schema = {"time": time, "type": pa.string(), "open": pa.bool_()}
    found = problems(query, schema)
    assert [problem.split()[0] for problem in found] == ["TW309"] * len(told)
    for problem, clause in zip(found, told, strict=True):
        assert problem.startswith(f"TW309 {clause} ")
        assert "is finer than the time column, which counts " in problem


def test_workloads_are_checked_for_lengths_too() -> None:
    rules = trendweave.workload({"fine": "RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms"})
    with pytest.raises(DataError, match="TW309"):
        rules.check({"time": "bigint", "type": "string"})
