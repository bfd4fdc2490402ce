"""Rows that go to Kafka have keys: those of one group, the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import settings
from tests.streaming.running import ROCKSDB
from trendweave.cli.answers import describe_answers
from trendweave.errors import DataError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUPED = "RETURN company, COUNT(*) AS n PATTERN Stock S+ WHERE [company] GROUP-BY company WITHIN 10 s SLIDE 10 s"
ALL = "RETURN COUNT(*) AS n PATTERN Stock S+ WITHIN 10 s SLIDE 10 s"
COLUMNS = "time long, type string, company string"

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("query", "chosen", "expected"),
    [
        (GROUPED, (), ['{"company":"X"}', '{"company":null}']),
        (GROUPED, ("n", "company"), ['{"n":1,"company":"X"}', '{"n":2,"company":null}']),
        (ALL, (), None),
    ],
)
def test_keys(spark: SparkSession, query: str, chosen: tuple[str, ...], expected: list[str] | None) -> None:
    from trendweave.cli.spark_streams import make_keys

    asked = trendweave.query(query)
    group = ["company"] if query is GROUPED else []
    table = pa.table({"window_start": [0, 0], "window_end": [10, 10], "company": ["X", None], "n": [1, 2]})
    rows = spark.createDataFrame(table.select(["window_start", "window_end", *group, "n"]))
    keys = make_keys(rows.columns, describe_answers(asked, rows, "time", "type"), chosen)
    if expected is None:
        assert keys == []
    else:
        assert [row["key"] for row in rows.select(*keys).collect()] == expected


def test_keys_of_many_queries_have_the_groups_of_each(spark: SparkSession) -> None:
    from trendweave.cli.spark_streams import make_keys

    schema = pa.schema({"time": pa.int64(), "type": pa.string(), "company": pa.string()})
    asked = trendweave.workload({"a": GROUPED, "b": ALL, "c": GROUPED.replace("S+", "S{2,}")})
    empty = asked.run(schema.empty_table())
    columns = {"query": ["a", "b", "c"], "window_start": [0] * 3, "window_end": [10] * 3, "n": [1] * 3}
    rows = pa.table({**columns, "company": ["X", None, "X"]}).select(empty.column_names)
    keys = make_keys(rows.column_names, describe_answers(asked, empty, "time", "type"), ())
    found = [row["key"] for row in spark.createDataFrame(rows).select(*keys).collect()]
    assert found == ['{"query":"a","company":"X"}', '{"query":"b"}', '{"query":"c","company":"X"}']


def test_keys_of_intervals_are_what_is_returned_of_the_partition() -> None:
    asked = trendweave.query(
        "FROM R PARTITION BY patient DEFINE F AS x > 3, G AS x > 5 PATTERN G during F WITHIN 1 h "
        "RETURN patient, COUNT(F) AS n"
    )
    rows = asked.run(pa.table({"time": [1], "patient": ["P"], "x": [1]}))
    assert describe_answers(asked, rows, "time", None).groups == {"": ("patient",)}


def test_records_have_a_key_and_a_value(spark: SparkSession) -> None:
    from trendweave.cli.spark_streams import make_writer
    from trendweave.cli.stream import Stream

    asked = trendweave.query("RETURN value, COUNT(*) AS n PATTERN R+ GROUP-BY value WITHIN 10 s SLIDE 10 s")
    events = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "time")
    with settings(spark, sql_streaming_stateStore_providerClass=ROCKSDB):
        rows = asked.run(events, type=None, watermark="1 second", buckets=2)
    given = Stream(from_="files", checkpoint="c", to="kafka", servers="127.0.0.1:1", out_topic="rows")
    writer = make_writer(given, rows, describe_answers(asked, rows, "time", None))
    assert writer._df.dtypes == [("key", "string"), ("value", "string")]


def test_a_key_of_no_column(spark: SparkSession) -> None:
    from trendweave.cli.spark_streams import make_keys

    asked = trendweave.query(GROUPED)
    rows = asked.run(spark.createDataFrame([], COLUMNS))
    with pytest.raises(DataError, match=r"unknown column compani in --out-key\n  hint: did you mean company\?"):
        make_keys(rows.columns, describe_answers(asked, rows, "time", "type"), ("compani",))
