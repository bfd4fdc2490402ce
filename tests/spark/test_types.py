"""Columns of every type as times, keys, groups, predicates and aggregates: Spark gives what the in-process runner
gives, in every time zone of the session."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.spark.comparing import assert_as_local, frame_from, settings
from trendweave import operators

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NAN, INFINITY = float("nan"), float("inf")
#: Its clocks skip an hour on the day that the events begin.
NEW_YORK = "America/New_York"
BEGIN = datetime(2024, 3, 10, 5, 0)
NESTED = pa.struct({"b": pa.int16(), "in ner": pa.struct({"x`y": pa.string()})})
ROWS = 24


def every_type() -> pa.Table:
    """One event every half hour, from the night in which New York's clocks change; values repeat, and some are NULL."""

    def column(kind: pa.DataType, *values: Any) -> pa.Array:
        return pa.array([values[row % len(values)] for row in range(ROWS)], kind)

    clock = [BEGIN + timedelta(minutes=30 * row) for row in range(ROWS)]
    return pa.table(
        {
            "time": pa.array([moment.replace(tzinfo=UTC) for moment in clock], pa.timestamp("us", "UTC")),
            "clock": pa.array(clock, pa.timestamp("us")),
            "type": column(pa.string(), "A", "A", "B"),
            "i8": column(pa.int8(), 3, -128, 127, None, 5),
            "i16": column(pa.int16(), 3, -(2**15), None, 2**15 - 1),
            "i32": column(pa.int32(), 3, -(2**31), None, 2**31 - 1, 1),
            "i64": column(pa.int64(), 3, -(2**63) + 1, None, 2**63 - 1, 1),
            "f32": column(pa.float32(), 1.5, -0.0, 0.0, None, NAN, 2.5),
            "f64": column(pa.float64(), 1.5, -0.0, 0.0, None, 2.5),
            "wild": column(pa.float64(), NAN, 1.0, INFINITY, -INFINITY, None, 2.0, 3.0),
            "cents": column(pa.decimal128(12, 2), Decimal("0.10"), Decimal("-7.25"), None, Decimal("12345.67")),
            "fine": column(pa.decimal128(38, 15), Decimal("0.000000000000001"), Decimal("9000"), None),
            "text": column(pa.string(), "a", "B", "ß", None, ""),
            "flag": column(pa.bool_(), True, False, None, False, True),
            "bytes": column(pa.binary(), b"\x00", b"", b"\xff", None),
            "day": column(pa.date32(), date(2024, 3, 10), date(1969, 12, 31), None),
            "seen": pa.array([moment.replace(tzinfo=UTC) for moment in reversed(clock)], pa.timestamp("us", "UTC")),
            "a": column(
                NESTED,
                {"b": 1, "in ner": {"x`y": "p"}},
                {"b": 2, "in ner": {"x`y": "q"}},
                None,
                {"b": 3, "in ner": None},
            ),
        }
    )


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return every_type()


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return frame_from(spark, table, tmp_path_factory.mktemp("types"))


@pytest.mark.parametrize("column", ["i8", "f32", "fine", "text", "flag", "bytes", "day", "seen", "a", "a.b"])
def test_keys_and_groups(column: str, frame: DataFrame, table: pa.Table) -> None:
    name = f"A.{column}"
    # A group that is a key as well, NULL included, and a group of some events that spans keys.
    assert_as_local(f"RETURN {column}, COUNT(*) PATTERN A+ GROUP-BY {column}", frame, table)
    query = f"RETURN {name}, COUNT(*) PATTERN SEQ(A, B+) WHERE [flag] GROUP-BY {name} WITHIN 4 hours SLIDE 1 hour"
    with settings(frame.sparkSession, sql_session_timeZone=NEW_YORK):
        assert_as_local(query, frame, table)


INTEGERS = "SUM(A.i8), AVG(A.i16), MIN(A.i32), MAX(A.i64), SUM(A.i64), MAX(A.i8), MIN(A.a.b), SUM(A.a.b)"
FLOATS = "SUM(A.f32), AVG(A.f64), MIN(A.f32), MAX(A.f32), MIN(A.wild), MAX(A.wild), SUM(A.wild), AVG(A.wild)"
OTHERS = "SUM(A.cents), AVG(A.cents), MIN(A.cents), MAX(A.fine), SUM(A.fine), MIN(A.day), MAX(A.seen), MIN(A.clock)"


@pytest.mark.parametrize("aggregates", [INTEGERS, FLOATS, OTHERS])
@pytest.mark.parametrize("clauses", ["WITHIN 5 hours SLIDE 2 hours", "WHERE [flag] WITHIN 5 hours SLIDE 5 hours"])
def test_aggregates(aggregates: str, clauses: str, frame: DataFrame, table: pa.Table) -> None:
    assert_as_local(f"RETURN {aggregates} PATTERN A+ {clauses}", frame, table)


@pytest.mark.parametrize(
    "condition",
    [
        "A.i8 > 3 AND A.i64 < NEXT(A).i64",
        "A.wild <= NEXT(A).wild",
        "A.f32 < NEXT(A).f64 + 1",
        "A.cents < NEXT(A).fine * 2",
        "A.text < NEXT(A).text",
        "A.bytes != NEXT(A).bytes",
        "A.flag = NEXT(A).flag",
        "A.day < NEXT(A).seen",
        "A.seen - NEXT(A).seen > 45 minutes AND A.time < TIMESTAMP '2024-03-10 15:00:00'",
        "A.clock + 1 hour < NEXT(A).time",
        "A.a.b >= 1 AND A.a.`in ner`.`x``y` < NEXT(A).a.`in ner`.`x``y`",
        "A.a.b + NEXT(A).i8 > A.i16 - NEXT(A).a.b",
        "(A.seen > NEXT(A).time OR A.day = NEXT(A).day)",
    ],
)
def test_predicates(condition: str, frame: DataFrame, table: pa.Table) -> None:
    with settings(frame.sparkSession, sql_session_timeZone=NEW_YORK):
        assert_as_local(f"RETURN COUNT(*), COUNT(A) PATTERN A+ WHERE {condition}", frame, table)


@pytest.mark.parametrize("time", ["time", "clock"])
@pytest.mark.parametrize("window", ["WITHIN 3 hours SLIDE 1 hour", "WITHIN 150 minutes"])
def test_the_zone_of_the_session_changes_nothing(time: str, window: str, frame: DataFrame, table: pa.Table) -> None:
    query = f"RETURN text, COUNT(*), MAX(A.seen), MIN(A.clock) PATTERN A+ WHERE [text] GROUP-BY text {window}"
    for zone in ("UTC", NEW_YORK):
        with settings(frame.sparkSession, sql_session_timeZone=zone):
            assert_as_local(query, frame, table, time=time)


@pytest.mark.parametrize("kind", ["tinyint", "smallint", "int", "bigint", "float", "double"])
@pytest.mark.parametrize("window", ["WITHIN 4 seconds SLIDE 2 seconds", "WITHIN 3 seconds"])
def test_numbers_of_seconds(spark: SparkSession, kind: str, window: str) -> None:
    # Around 0 on both sides: windows and chunks are counted from there.
    frame = spark.range(-60, 60).selectExpr(f"CAST(id * 0.7 AS {kind}) AS time", "CAST(id AS INT) AS x").repartition(3)
    query = f"RETURN COUNT(*), MAX(S.x) PATTERN S+ WHERE S.x < NEXT(S).x {window}"

    assert_as_local(query, frame, frame.toArrow(), type=None)
    assert trendweave.query(query).run(frame, type=None).schema[0].dataType.simpleString() == kind


def test_odd_float_times(spark: SparkSession) -> None:
    times = [0.1, 0.3, NAN, INFINITY, -INFINITY, None, 0.2999999999, -0.0, 1e9 + 0.3, -1e-9]
    frame = spark.createDataFrame([(time,) for time in times], "time double")

    for window in ("", "WITHIN 300 ms SLIDE 100 ms", "WITHIN 200 ms"):
        assert_as_local(f"RETURN COUNT(*) PATTERN S+ {window}", frame, frame.toArrow(), type=None)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_times_at_the_ends_of_64_bits(spark: SparkSession, ansi: str) -> None:
    ends = [-(2**63), -(2**63) + 3, 2**63 - 2, 2**63 - 1]
    frame = spark.createDataFrame([(time,) for time in ends], "time long")

    with settings(spark, sql_ansi_enabled=ansi):
        assert_as_local("RETURN COUNT(*) PATTERN S+ WITHIN 10 seconds", frame, frame.toArrow(), type=None)


def test_columns_that_arrow_cannot_hold_are_no_hindrance(spark: SparkSession) -> None:
    frame = spark.range(3).selectExpr(
        "id AS time",
        "make_ym_interval(1, 2) AS months",
        "make_interval(1) AS span",
        "named_struct('x', id, 'json', parse_json('1')) AS s",
    )
    (row,) = trendweave.query("RETURN SUM(A.s.x) AS x PATTERN A+ WHERE [s.x]").run(frame, type=None).collect()
    assert row.x == 3


def test_strings_with_a_collation_are_told_apart_by_their_bytes(spark: SparkSession) -> None:
    frame = spark.range(100).selectExpr(
        "id AS time",
        "IF(id % 5 = 0, 'a', 'A') COLLATE UTF8_LCASE AS type",
        "named_struct('k', IF(id % 2 = 0, 'x', 'X') COLLATE UNICODE_CI) AS s",
    )
    query = "RETURN s.k, COUNT(*) PATTERN A+ WHERE A.s.k <= 'x' GROUP-BY s.k"
    with settings(spark, rowsAtOnce=2, sql_execution_arrow_maxRecordsPerBatch=3):
        assert_as_local(query, frame, frame.toArrow())


def test_columns_without_a_type_are_null(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(6).selectExpr("id AS time", "if(id % 3 = 2, 'B', 'A') AS type", "NULL AS v", "NULL AS name")
    table = pa.table({"time": range(6), "type": ["A", "A", "B"] * 2, "v": pa.nulls(6), "name": pa.nulls(6)})
    query = "RETURN SUM(a.v) AS s, MIN(a.v) AS least, COUNT(*) PATTERN SEQ(A a+, B b) WITHIN 3 seconds SLIDE 3 seconds"
    assert_as_local(query, frame, table)
    trendweave.query(query).check(frame)
    trendweave.query("RETURN EACH FIRST(a.name) AS name PATTERN SEQ(A a, B b) WHERE a.name = 'x'").check(frame)
    matched = operators.match("RETURN EACH SUM(a.v) AS s PATTERN SEQ(A a+, B b)").run(frame)
    assert {row["s"] for row in matched.collect()} == {None}
    summed = trendweave.query("RETURN SUM(a.v) AS s PATTERN A a")
    pq.write_table(table, tmp_path / "events.parquet")
    assert [row["s"] for row in summed.run(trendweave.read(spark, tmp_path)).collect()] == [None]
