"""The columns of a result: one description, and Arrow and Spark write the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

import trendweave
from trendweave.planning import Plan
from trendweave.results.types import (
    NUMBERS,
    Numbers,
    aggregate_type,
    result_schema,
    single_aggregate_type,
    trend_columns,
)

EVENTS = pa.schema(
    {
        "time": pa.timestamp("us"),
        "type": pa.dictionary(pa.int32(), pa.string()),
        "whole": pa.int16(),
        "float": pa.float32(),
        "money": pa.decimal128(10, 2),
        "inner": pa.struct({"day": pa.date32()}),
    }
)


@pytest.mark.parametrize(
    ("function", "column", "expected"),
    [
        ("COUNT", None, ["decimal128(38, 0)", "int64", "string", "double", "double"]),
        ("COUNT", pa.float64(), ["decimal128(38, 0)", "int64", "string", "double", "double"]),
        ("SUM", pa.int16(), ["decimal128(38, 0)", "int64", "string", "double", "double"]),
        ("SUM", pa.float32(), ["double"] * 5),
        ("SUM", pa.decimal128(10, 2), ["decimal128(38, 2)", "decimal128(38, 2)", "string", "double", "double"]),
        ("AVG", pa.int16(), ["double"] * 5),
        ("MIN", pa.date32(), ["date32[day]"] * 5),
        ("LAST", pa.string(), ["string"] * 5),
    ],
)
def test_types_of_aggregates(function: str, column: pa.DataType | None, expected: list[str]) -> None:
    assert [str(aggregate_type(function, column, numbers)) for numbers in NUMBERS] == expected


@pytest.mark.parametrize("numbers", NUMBERS)
def test_events_of_one_trend_are_counted_in_64_bits(numbers: Numbers) -> None:
    assert single_aggregate_type("COUNT", None, numbers) == pa.int64()
    assert single_aggregate_type("SUM", pa.int8(), numbers) == aggregate_type("SUM", pa.int8(), numbers)


QUERIES = {
    "RETURN COUNT(*), SUM(A.money), MAX(A.float) PATTERN A+ GROUP-BY inner.day WITHIN 5 s SLIDE 5 s": [
        *("window_start", "window_end", "inner_day", "count", "sum_A_money", "max_A_float"),
    ],
    "RETURN EACH COUNT(A), FIRST(A.inner.day) PATTERN A+ WITHIN 5 s": ["time", "count_A", "first_A_inner_day"],
    "RETURN TRENDS(A.whole) PATTERN A+ GROUP-BY money": ["window_start", "window_end", "money", "length", "events"],
}


@pytest.mark.parametrize("text", list(QUERIES))
def test_spark_and_arrow_write_the_same_columns(text: str) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    from trendweave.runners.spark.prepare import spark_schema

    plan = trendweave.query(text).plan
    assert isinstance(plan, Plan)
    plain = EVENTS.set(1, pa.field("type", pa.string()))
    columns = trend_columns(plan, EVENTS, "time", "type", "decimal")

    schema = result_schema(columns)

    assert schema.names == QUERIES[text]
    as_arrow = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    assert spark_schema(columns, from_arrow_schema(plain, prefer_timestamp_ntz=True)) == as_arrow
