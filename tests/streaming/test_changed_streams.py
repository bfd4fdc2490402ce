"""Another query, other options, other columns or damaged files on an old checkpoint: refused, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trendweave
from tests.spark.comparing import assert_same, settings
from tests.streaming.running import Files, write_to_the_end
from tests.streaming.sample import COLUMNS, SLIDING, batches, end, expected

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def _one_partition(streaming: SparkSession) -> Iterator[None]:
    """As Python workers whose task failed are not used again, and new ones take their time to start."""
    with settings(streaming, sql_shuffle_partitions=1):
        yield


class Stream:
    """Files, a checkpoint and a folder of rows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.files = spark, Files(folder / "events")
        self.checkpoint, self.rows = folder / "checkpoint", folder / "rows"

    def run(self, query: str = SLIDING, events: DataFrame | None = None, **options: Any) -> None:
        events = self.files.stream(self.spark, COLUMNS) if events is None else events
        rows = trendweave.query(query).run(events, watermark="5 seconds", **options)
        write_to_the_end(rows, self.rows, self.checkpoint)

    def refuses(self, message: str, query: str = SLIDING, events: DataFrame | None = None, **options: Any) -> None:
        from pyspark.errors import StreamingQueryException

        with pytest.raises(StreamingQueryException) as refused:
            self.run(query, events, **options)
        assert message in str(refused.value)

    def written(self) -> pa.Table:
        return self.spark.read.parquet(str(self.rows)).toArrow()


def test_what_does_not_fit_the_checkpoint_is_refused_and_the_stream_goes_on(
    streaming: SparkSession, tmp_path: Path
) -> None:
    """Also where new events meet no state: else a wrong query would get a foot into the checkpoint."""
    stream = Stream(streaming, tmp_path)
    one, other = keys_in_two_buckets(streaming, buckets=16)
    tables = [table.filter(pc.equal(table["k"], key)) for table, key in zip(batches(2), (one, other), strict=True)]
    stream.files.write(tables[0])
    stream.run(buckets=16)
    stream.files.write(tables[1])

    stream.refuses("made for another query", SLIDING.replace("A.x < NEXT", "A.x > NEXT"), buckets=16)
    stream.refuses("made with 16 buckets, not 1", buckets="auto")
    drifted = stream.files.stream(streaming, COLUMNS).selectExpr("* EXCEPT (x)", "CAST(x AS DOUBLE) AS x")
    stream.refuses("for another query, or for events with other columns", events=drifted, buckets=16)

    stream.files.write(end())
    stream.run(buckets=16)
    assert_same(expected(SLIDING, tables), stream.written())


def keys_in_two_buckets(spark: SparkSession, buckets: int) -> tuple[int, int]:
    numbers = spark.range(7).selectExpr("id", f"PMOD(HASH(id), {buckets}) AS bucket").collect()
    return next((a.id, b.id) for a in numbers for b in numbers if 0 < a.bucket != b.bucket)


@pytest.mark.nightly
def test_a_file_with_a_column_of_another_type_and_damaged_state_files(streaming: SparkSession, tmp_path: Path) -> None:
    """Spark notices these two itself."""
    stream = Stream(streaming, tmp_path)
    first, second = batches(2)
    stream.files.write(first)
    stream.run()

    whole = {path: path.read_bytes() for path in stream.checkpoint.glob("state/0/*/**/*.sst")}
    assert whole
    stream.files.write(second)
    for path, data in whole.items():
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    stream.refuses("hecksum")
    for path, data in whole.items():
        path.write_bytes(data)

    drifted = second.set_column(2, "x", second["x"].cast(pa.string()))
    right_file = (stream.files.folder / "0002.parquet").read_bytes()
    stream.files.written -= 1
    stream.files.write(drifted)
    stream.refuses("x")
    (stream.files.folder / "0002.parquet").write_bytes(right_file)

    stream.files.write(end())
    stream.run()
    assert_same(expected(SLIDING, [first, second]), stream.written())
