"""Interval queries on a real Spark stream: files, restarts from the checkpoint, late events; the rows are those of one
batch over the events that were in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import settings
from tests.streaming.running import Files, counted, run_to_the_end, write_to_the_end
from trendweave.errors import TrendweaveError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = pytest.mark.spark

COLUMNS = "time timestamp, type string, car string, speed double, accel long"
SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("car", pa.string()),
        ("speed", pa.float64()),
        ("accel", pa.int64()),
    ]
)
DEFINED = "FROM Reading PARTITION BY car DEFINE Fast AS speed > 70 AT LEAST 2 seconds, Braking AS accel < PREV(accel) "
MATCHES = (
    DEFINED + "PATTERN Fast meets; overlaps; contains Braking WITHIN 20 seconds "
    "RETURN car, MAX(Fast.speed), COUNT(Braking), DURATION(Fast)"
)
COUNTS = DEFINED + "PATTERN Fast overlaps; contains Braking WITHIN 20 seconds EVERY 5 seconds RETURN COUNT(*)"
SITUATIONS = DEFINED + "RETURN SITUATIONS"
#: A trend query whose events lie in situations.
INSIDE = (
    "RETURN car, COUNT(*), MAX(R.speed) PATTERN Reading R{2,} "
    "FROM Reading DEFINE Fast AS speed > 70 AT LEAST 2 seconds, Braking AS accel < PREV(accel) AT MOST 1 second "
    "WHERE [car] AND R DURING Fast AND R NOT DURING Braking AND R.accel <= NEXT(R).accel "
    "GROUP-BY car WITHIN 6 seconds SLIDE 3 seconds"
)
BEGIN = datetime(2024, 5, 1, tzinfo=UTC)


def reading(second: float, car: int) -> dict[str, Any]:
    step = int(second * 2) + car * 7
    return {
        "time": BEGIN + timedelta(seconds=second),
        "type": "Reading",
        "car": None if car == 3 else f"car {car}",
        "speed": 60.0 + step * 3 % 29,
        "accel": step * step % 5,
    }


def batch(number: int) -> list[dict[str, Any]]:
    """Ten seconds of six cars, out of order."""
    events = [reading(10 * number + half / 2, car) for half in range(20) for car in range(6)]
    return sorted(events, key=lambda event: (event["accel"], event["speed"], event["time"]))


def table(events: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(events, SCHEMA)


END = {"time": BEGIN + timedelta(hours=1), "type": "end of the stream"}
LATE = [reading(1.25, car) | {"speed": 99.0} for car in range(3)]


def files_of(folder: Path, *batches: list[dict[str, Any]]) -> Files:
    files = Files(folder)
    for events in batches:
        files.write(table(events))
    return files


def expected(query: str, batches: list[list[dict[str, Any]]]) -> list[str]:
    rows = trendweave.query(query).run(table([event for events in batches for event in events]), type="type")
    # A stream has no end at which situations that still run could come out.
    return sorted(str(row) for row in in_utc(rows).to_pylist() if row.get("end", 0) is not None)


def in_utc(rows: pa.Table) -> pa.Table:
    fields = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def found(rows: pa.Table) -> list[str]:
    return sorted(str(row) for row in in_utc(rows).to_pylist())


@pytest.mark.parametrize(
    ("query", "files_per_run"),
    [
        (INSIDE, 2),
        *(pytest.param(query, 1, marks=pytest.mark.nightly) for query in (INSIDE, MATCHES)),
        *(pytest.param(query, 3, marks=pytest.mark.nightly) for query in (COUNTS, SITUATIONS)),
    ],
)
def test_stopped_again_and_again_with_late_events(
    streaming: SparkSession, tmp_path: Path, query: str, files_per_run: int
) -> None:
    batches = [batch(number) for number in range(3)]
    arriving = [*batches[:2], LATE + batches[2], [END]]
    files = Files(tmp_path / "events")
    late = 0
    while files.written < len(arriving):
        for events in arriving[files.written : files.written + files_per_run]:
            files.write(table(events))
        late += counted(run(query, files, streaming, tmp_path), "late")

    written = streaming.read.parquet(str(tmp_path / "rows")).toArrow()
    assert written.num_rows
    assert found(written) == expected(query, batches)
    assert late == len(LATE)


def run(query: str, files: Files, spark: SparkSession, folder: Path) -> StreamingQuery:
    events = files.stream(spark, COLUMNS)
    rows = trendweave.query(query).run(events, type="type", watermark="5 seconds")
    assert rows.schema == trendweave.query(query).schema(events, type="type")
    return write_to_the_end(rows, folder / "rows", folder / "checkpoint")


def test_late_events_come_out_where_they_are_wanted(streaming: SparkSession, tmp_path: Path) -> None:
    batches = [batch(number) for number in range(2)]
    files = files_of(tmp_path / "events", *batches, LATE, [END])
    rows = trendweave.query(MATCHES).run(
        files.stream(streaming, COLUMNS), type="type", watermark="0 seconds", late_rows=True, metrics="cars"
    )
    result, stream = run_to_the_end(rows, tmp_path / "checkpoint")

    is_late = result.column("late").is_valid()
    assert found(result.filter(pa.compute.invert(is_late)).drop_columns(["late"])) == expected(MATCHES, batches)
    given = pa.Table.from_struct_array(result.filter(is_late).column("late"))
    assert found(given) == found(table(LATE))
    assert counted(stream, "late", "cars") == 3
    assert counted(stream, "rows", "cars_read") == 2 * 120 + 3 + 1
    assert counted(stream, "other_type", "cars_read") == 1


def test_another_query_on_the_checkpoint_is_refused(streaming: SparkSession, tmp_path: Path) -> None:
    files = files_of(tmp_path / "events", batch(0))
    run(MATCHES, files, streaming, tmp_path)
    files.write(table(batch(1)))
    with pytest.raises(Exception, match="TW311"):
        run(MATCHES.replace("20 s", "30 s"), files, streaming, tmp_path)


@pytest.fixture
def stream(streaming: SparkSession, tmp_path: Path) -> DataFrame:
    return streaming.readStream.schema(COLUMNS).parquet(str(tmp_path))


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        (MATCHES.replace("WITHIN 20 seconds ", ""), {"watermark": "5 seconds"}, "TW452"),
        (MATCHES, {}, "TW410"),
        (MATCHES, {"watermark": "5 seconds", "early": True}, "TW409"),
        (MATCHES, {"watermark": "5 seconds", "buckets": 0}, "TW408"),
    ],
)
def test_what_a_stream_cannot_do_is_said_at_once(
    stream: DataFrame, query: str, options: dict[str, Any], code: str
) -> None:
    with pytest.raises(TrendweaveError) as refused:
        trendweave.query(query).run(stream, **options)
    assert [problem.code for problem in refused.value.problems] == [code]


def test_given_intervals_and_other_state_stores_are_refused(streaming: SparkSession, stream: DataFrame) -> None:
    given = stream.selectExpr("car AS name", "time AS start", "time AS end")
    with pytest.raises(TrendweaveError, match="TW404"):
        trendweave.query("FROM INTERVALS PATTERN A before B WITHIN 1 minute").run(given, watermark="5 seconds")
    heap = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    with (
        settings(streaming, sql_streaming_stateStore_providerClass=heap),
        pytest.raises(TrendweaveError, match="TW411"),
    ):
        trendweave.query(MATCHES).run(stream, watermark="5 seconds")
