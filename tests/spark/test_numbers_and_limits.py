"""How counts are written, and what a Spark user reads where a number, a key or a time is too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import trendweave
from tests.spark.comparing import assert_as_local, settings
from trendweave.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TYPES = {"decimal": "decimal(38,0)", "int64": "bigint", "text": "string", "float64": "double", "log2": "double"}
#: 2 ** 200 trends of a key have 61 digits.
TOO_MANY = 200


@pytest.fixture(scope="module")
def keys(spark: SparkSession) -> DataFrame:
    """Three keys, each with 200 events of its own hour."""
    return spark.range(3 * TOO_MANY).selectExpr(
        "id DIV 200 * 3600 + id % 200 AS time", "CONCAT('key ', id DIV 200) AS name", "id % 7 AS x"
    )


@pytest.mark.parametrize("numbers", TYPES)
@pytest.mark.parametrize("group", ["g", "k"])
def test_every_way_to_write_numbers(spark: SparkSession, numbers: str, group: str) -> None:
    frame = spark.range(120).selectExpr("id AS time", "id % 3 AS k", "id % 2 AS g", "CAST(id % 5 AS INT) AS x")
    query = f"RETURN COUNT(*), COUNT(S), SUM(S.x), AVG(S.x), MAX(S.x) PATTERN S+ WHERE [k, g] GROUP-BY {group}"

    assert_as_local(query, frame, frame.toArrow(), type=None, numbers=numbers)
    schema = trendweave.query(query).run(frame, type=None, numbers=numbers).schema
    assert [schema[name].dataType.simpleString() for name in ("count", "count_S", "sum_S_x", "avg_S_x", "max_S_x")] == [
        *[TYPES[numbers]] * 3,
        "double",
        "int",
    ]


def test_the_session_has_a_default_for_numbers(spark: SparkSession, keys: DataFrame) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN S+ WHERE [name]")
    with settings(spark, numbers="text"):
        result = query.run(keys, type=None)
        assert query.schema(keys, type=None) == result.schema
        assert query.schema(keys, type=None, numbers="int64") == query.run(keys, type=None, numbers="int64").schema
    # What was set when the query was run counts, not what is set when its rows are asked for.
    assert [row["count"] for row in result.collect()] == [str(3 * (2**TOO_MANY - 1))]
    with settings(spark, numbers="roman"), pytest.raises(ValueError, match=r"numbers is one of decimal, .* not roman"):
        query.run(keys, type=None)


def test_a_frame_of_pandas_on_spark_is_told_how_to_be_given(keys: DataFrame) -> None:
    frame = keys.limit(3).pandas_api()
    query = trendweave.query("RETURN COUNT(*) PATTERN S+")
    for ask in (query.run, query.schema):
        with pytest.raises(DataError, match=r"TW308: the events are a pandas-on-Spark frame(.|\n)*to_spark\(\)"):
            ask(frame, type=None)  # type: ignore[operator]


def failure(query: str, events: DataFrame, **options: str) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as raised:
        trendweave.query(query).run(events, type=None, **options).collect()
    return str(raised.value)


def test_a_count_beyond_38_digits_names_window_key_and_times(keys: DataFrame) -> None:
    query = "RETURN COUNT(*) PATTERN S+ GROUP-BY name WITHIN 1 hour SLIDE 1 hour"
    text = failure(query, keys.where("name = 'key 1'"))

    assert "trendweave.errors.ExecutionError: execution error\nTW402: key name=key 1, times 3600 to 3799: count" in text
    assert "count needs 61 digits at window_start 3600, window_end 7200, name key 1; decimal128(38, 0)" in text
    assert 'hint: ask for numbers="text" or "log2"' in text


def test_a_task_with_several_keys_names_the_first_and_the_last(spark: SparkSession, keys: DataFrame) -> None:
    with settings(spark, sql_shuffle_partitions=1):
        text = failure("RETURN COUNT(*) PATTERN S+ GROUP-BY name", keys)

    assert "TW402: keys name=key 0 to name=key 2, times 0 to 7399: count needs 61 digits at name key " in text


def test_a_count_that_is_too_large_only_when_keys_are_merged(spark: SparkSession) -> None:
    # Eight keys with 2 ** 125 - 1 trends each, which 38 digits hold; their sum has one digit more.
    events = spark.range(8 * 125).selectExpr("id AS time", "id % 8 AS k")
    text = failure("RETURN COUNT(*) PATTERN S+ WHERE [k]", events)
    assert "TW402: count needs 39 digits at the whole input, over all k; decimal128(38, 0)" in text


@pytest.mark.parametrize("rows_at_once", [10, pytest.param(1_000_000, marks=pytest.mark.nightly)])
def test_a_key_with_too_many_events_is_named(spark: SparkSession, keys: DataFrame, rows_at_once: int) -> None:
    with settings(spark, rowsAtOnce=rows_at_once, maxRowsOfAKey=TOO_MANY - 1):
        text = failure("RETURN COUNT(*) PATTERN S+ WHERE [name]", keys.where("name = 'key 2'"))
        assert "TW405: key name=key 2, times 7200 to 7399 has more than 199 events" in text
        assert "hint: split it by an equivalence, use smaller windows, or raise spark.trendweave.maxRows" in text
        assert "TW405: key (none), times 0 to 199" in failure(
            "RETURN COUNT(*) PATTERN S+ WITHIN 1 hour SLIDE 1 hour", keys.where("name = 'key 0'")
        )
    with settings(spark, rowsAtOnce=rows_at_once, maxRowsOfAKey=TOO_MANY, numbers="text"):
        rows = trendweave.query("RETURN COUNT(*) PATTERN S+ GROUP-BY name").run(keys, type=None).collect()
        assert {row["count"] for row in rows} == {str(2**TOO_MANY - 1)}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_float_times_beyond_64_bits_of_microseconds(spark: SparkSession, ansi: str) -> None:
    events = spark.createDataFrame([(1e15,), (1e300,), (2.0,)], "time double")
    with settings(spark, sql_ansi_enabled=ansi):
        for window in ("WITHIN 10 seconds SLIDE 5 seconds", "WITHIN 10 seconds"):
            assert "TW310: key (none), times 2.0 to 1e+300: times are out of range" in failure(
                f"RETURN COUNT(*) PATTERN S+ {window}", events
            )


def test_a_query_that_does_not_fit_fails_before_any_action(keys: DataFrame) -> None:
    with pytest.raises(trendweave.errors.DataError, match=r"unknown column nam (?s:.*) did you mean name"):
        trendweave.query("RETURN COUNT(*) PATTERN S+ WHERE [nam]").run(keys, type=None)
    with pytest.raises(trendweave.errors.DataError, match="finer than the time column, which counts seconds"):
        trendweave.query("RETURN COUNT(*) PATTERN S+ WITHIN 10 ms SLIDE 5 ms").run(keys, type=None)
