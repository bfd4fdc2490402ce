"""Parquet files that tasks read themselves give the rows, types and counts of a DataFrame of the same files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.spark.comparing import assert_same, settings
from trendweave import datasets
from trendweave.errors import DataError, OptionError
from trendweave.runners.spark import reading
from trendweave.runners.spark.parquet_files import EventFile
from trendweave.runners.spark.prepare import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

MOMENT = datetime(2024, 3, 1, 12, 30, 0, 123456)
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i8": (pa.int8(), [-128, None, 127]),
    "i16": (pa.int16(), [-(2**15), None, 1]),
    "i32": (pa.int32(), [-(2**31), None, 1]),
    "i64": (pa.int64(), [-(2**63), None, 2**63 - 1]),
    "u8": (pa.uint8(), [255, None, 0]),
    "u16": (pa.uint16(), [2**16 - 1, None, 0]),
    "u32": (pa.uint32(), [2**32 - 1, None, 0]),
    "u64": (pa.uint64(), [2**64 - 1, None, 0]),
    "f32": (pa.float32(), [1.5, None, float("nan")]),
    "f64": (pa.float64(), [-0.0, None, float("inf")]),
    "yes": (pa.bool_(), [True, None, False]),
    "text": (pa.string(), ["é\U0001f600", None, ""]),
    "large": (pa.large_string(), ["a", None, "b"]),
    "words": (pa.dictionary(pa.int8(), pa.string()), ["a", None, "a"]),
    "bytes": (pa.binary(), [b"\xff\x00", None, b""]),
    "four": (pa.binary(4), [b"abcd", None, b"\x00\x01\x02\x03"]),
    "d9": (pa.decimal128(9, 2), [Decimal("-1.01"), None, Decimal("9999999.99")]),
    "d18": (pa.decimal128(18, 0), [Decimal(10**18 - 1), None, Decimal(0)]),
    "d38": (pa.decimal128(38, 10), [Decimal("1234567890123456789012345678.0123456789"), None, Decimal(0)]),
    "day": (pa.date32(), [date(1582, 1, 1), None, date(2024, 2, 29)]),
    "day64": (pa.date64(), [date(1970, 1, 1), None, date(2024, 2, 29)]),
    "utc": (pa.timestamp("us", "UTC"), [MOMENT.replace(tzinfo=UTC), None, datetime(1600, 1, 1, tzinfo=UTC)]),
    "zone": (pa.timestamp("us", "America/New_York"), [MOMENT.replace(tzinfo=UTC), None, None]),
    "millis": (pa.timestamp("ms", "UTC"), [MOMENT.replace(microsecond=7000, tzinfo=UTC), None, None]),
    "ntz": (pa.timestamp("us"), [MOMENT, None, datetime(1600, 1, 1)]),
    "ntz_millis": (pa.timestamp("ms"), [MOMENT.replace(microsecond=0), None, None]),
    "wait": (pa.duration("us"), [timedelta(seconds=1), None, timedelta(0)]),
    "s": (pa.struct({"a": pa.int32(), "b": pa.struct({"c": pa.large_string()})}),
          [{"a": 1, "b": {"c": "x"}}, None, {"a": None, "b": None}]),
    "many": (pa.list_(pa.uint8()), [[1, None], None, []]),
    "pairs": (pa.map_(pa.string(), pa.int64()), [[("k", 1)], None, []]),
    "A.b c`": (pa.int64(), [1, None, 3]),
}  # fmt: skip


@contextmanager
def small_tasks(spark: SparkSession) -> Iterator[None]:
    with settings(spark, sql_files_maxPartitionBytes=2_000):
        yield


def read_by_tasks(frame: DataFrame, events: trendweave.ParquetEvents) -> pa.Table:
    """All columns of all files, as tasks see them."""
    columns = arrow_schema(frame.schema)
    tables = []
    for file in events.files:
        opened = EventFile(file, columns)
        tables += list(opened.tables(opened.groups(0, 2**62), columns.names))
        opened.close()
    return pa.concat_tables(tables)


def assert_same_values(spark: SparkSession, events: trendweave.ParquetEvents) -> None:
    frame = events.to_spark()
    expected, found = frame.toArrow(), read_by_tasks(frame, events)
    assert expected.num_rows
    assert found.schema.names == expected.schema.names
    for name in expected.column_names:
        theirs = expected.column(name).cast(found.column(name).type)
        assert repr(found.column(name).to_pylist()) == repr(theirs.to_pylist()), name


def test_values_are_those_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({name: pa.array(values, kind) for name, (kind, values) in TYPES.items()})
    pq.write_table(table, tmp_path / "types.parquet", row_group_size=2)
    assert_same_values(spark, trendweave.read(spark, tmp_path / "types.parquet"))


def test_values_that_spark_wrote_are_those_that_it_reads(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, sql_parquet_outputTimestampType="INT96"):
        spark.sql(
            "SELECT TIMESTAMP '1600-01-01 00:00:00' AS t, INTERVAL '1 02:03:04' DAY TO SECOND AS i, X'00ff' AS b, "
            "CAST(1.5 AS DECIMAL(5, 2)) AS d, ARRAY(STRUCT(1 AS x, 'a' AS y)) AS l, MAP('k', DATE '2024-02-29') AS m, "
            "TIMESTAMP_NTZ '2024-01-01 00:00:00' AS n, CAST(NULL AS STRING) AS s"
        ).write.parquet(str(tmp_path / "spark"))
    assert_same_values(spark, trendweave.read(spark, tmp_path / "spark"))


QUERIES = {
    "groups across keys": "RETURN sector, COUNT(*), SUM(S.price) PATTERN Stock S+ WHERE [company, sector] AND "
    "S.price > NEXT(S).price GROUP-BY sector WITHIN 10 seconds SLIDE 5 seconds",
    "neighbours": "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] AND S.volume > 50 SEMANTICS contiguous "
    "GROUP-BY company WITHIN 10 seconds SLIDE 10 seconds",
}


@pytest.fixture(scope="module")
def stock(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitioned by a column that a query may name, with rows that are no events, and in many row groups."""
    folder = tmp_path_factory.mktemp("stock")
    table = datasets.stock(600, seed=3, companies=7)
    types = ["Stock"] * 570 + [None] * 10 + ["Other"] * 20
    table = table.set_column(table.schema.get_field_index("type"), "type", pa.array(types))
    for number in range(3):
        part = folder / f"market={'abc'[number]}"
        part.mkdir()
        pq.write_table(table.slice(number * 200, 200), part / "events.parquet", row_group_size=40)
    return folder


@pytest.mark.parametrize("name", QUERIES)
def test_rows_and_counts_are_those_of_a_data_frame(spark: SparkSession, stock: Path, name: str) -> None:
    query = trendweave.query(QUERIES[name])
    theirs, ours = trendweave.Metrics(), trendweave.Metrics()
    with small_tasks(spark):
        expected = query.run(spark.read.parquet(str(stock)), metrics=theirs)
        found = query.run(trendweave.read(spark, stock), metrics=ours)
        assert found.schema == expected.schema
        rows = expected.toArrow()
        assert rows.num_rows
        assert_same(rows, found.toArrow())
    assert ours.get == theirs.get


def test_a_workload_reads_files(spark: SparkSession, stock: Path) -> None:
    """Queries with different keys: rows are copied for each."""
    workload = trendweave.workload(
        {
            "company": "RETURN company, COUNT(*) PATTERN Stock S+ WHERE [company] AND S.price > NEXT(S).price GROUP-BY "
            "company WITHIN 10 seconds SLIDE 10 seconds",
            "sector": "RETURN sector, COUNT(*) PATTERN SEQ(Stock S, Stock T) WHERE [sector] AND S.volume > 90 GROUP-BY "
            "sector WITHIN 3 seconds SLIDE 3 seconds",
            "market": "RETURN COUNT(*) PATTERN Stock S WHERE S.market = 'b' WITHIN 10 seconds SLIDE 10 seconds",
        }
    )
    theirs, ours = trendweave.Metrics(), trendweave.Metrics()
    with small_tasks(spark):
        expected = workload.run(spark.read.parquet(str(stock)), metrics=theirs).toArrow()
        events = trendweave.read(spark, stock)
        workload.check(events)
        assert_same(expected, workload.run(events, metrics=ours).toArrow())
        assert set(expected.column("query").to_pylist()) == {"company", "sector", "market"}
    assert {name: ours.get[name] for name in ("rows", "null_type", "other_type", "trends")} == {
        name: theirs.get[name] for name in ("rows", "null_type", "other_type", "trends")
    }


def test_folders_that_no_query_needs_are_not_opened(spark: SparkSession, stock: Path, tmp_path: Path) -> None:
    query = trendweave.query("RETURN COUNT(*) PATTERN Stock S WHERE S.market = 'b' WITHIN 1 minute SLIDE 1 minute")
    copied = tmp_path / "copied"
    shutil.copytree(stock, copied)
    events = trendweave.read(spark, copied)
    expected = query.run(events.to_spark()).toArrow()
    assert len(events.files) == 3
    (copied / "market=a" / "events.parquet").unlink()

    assert_same(expected, query.run(events).toArrow())
    with pytest.raises(Exception, match=r"TW308: events\.parquet cannot be read"):
        query.run(events, metrics=trendweave.Metrics()).collect()


def test_what_tasks_cannot_read_alike_spark_reads(
    spark: SparkSession, stock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs here, so that plans tell."""
    read_by_spark: list[str] = []
    monkeypatch.setattr(reading, "run_batch", lambda program, frame, settings: read_by_spark.append(program.text))
    query = trendweave.query("RETURN COUNT(*) PATTERN Stock S WHERE S.price > 100")
    events = trendweave.read(spark, stock)
    query.run(events)
    assert not read_by_spark
    with settings(spark, sql_caseSensitive=True):
        query.run(events)
    trendweave.query(
        "FROM Stock DEFINE LOW AS price < 100, MANY AS volume > 50 PATTERN LOW overlaps MANY WITHIN 9 s"
    ).run(events)
    trendweave.query("FROM INTERVALS (time, time, type) PATTERN A before B WITHIN 1 hour").run(events)
    assert len(read_by_spark) == 3


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({}, "cannot be read as Parquet"),
        ({"a.csv": "x,y\n1,2\n"}, "cannot be read as Parquet"),
        ({"a.parquet": "no Parquet"}, "cannot be read as Parquet"),
    ],
)
def test_what_is_no_parquet_is_refused(spark: SparkSession, tmp_path: Path, made: dict[str, str], said: str) -> None:
    for name, text in made.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=said):
        trendweave.read(spark, tmp_path)


def test_options_are_those_of_files(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="not mergeschema"):
        trendweave.read(spark, tmp_path, mergeschema=True)


def test_files_of_other_columns(spark: SparkSession, tmp_path: Path) -> None:
    """A column that a file lacks is NULL there; one of another type is an error that names it."""
    query = trendweave.query("RETURN COUNT(*) PATTERN A WHERE A.x > 1 WITHIN 1 minute SLIDE 1 minute")
    pq.write_table(pa.table({"time": [1, 2], "type": ["A", "A"], "x": [1, 2]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"Type": ["A"], "time": pa.array([3], pa.int32())}), tmp_path / "2.parquet")
    events = trendweave.read(spark, [tmp_path / "1.parquet", tmp_path / "2.parquet"])
    assert [row.asDict() for row in query.run(events, numbers="int64").collect()] == [
        {"window_start": 0, "window_end": 60, "count": 1}
    ]
    pq.write_table(pa.table({"time": [3], "type": ["A"], "x": ["7"]}), tmp_path / "2.parquet")
    with pytest.raises(Exception, match=r"TW308: the column x of 2\.parquet is of the type string"):
        query.run(events).collect()
