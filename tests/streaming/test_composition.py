"""Our streams between the user's own operators: joins and unions before, foreachBatch after, early and late rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import trendweave
from tests.runners.reference_tables import rows_of, table_of
from tests.spark.comparing import assert_same
from tests.streaming.running import OWNER, Files, counted, run_to_the_end
from tests.streaming.sample import COLUMNS, QUERY, SLIDING, batches, end, expected
from tests.streaming.test_state_against_reference import END

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def in_every_batch(rows: DataFrame, checkpoint: Path, mode: str) -> list[tuple[int, pa.Table]]:
    """What a foreachBatch sink sees: number and rows of each micro-batch."""
    seen: list[tuple[int, pa.Table]] = []
    query = (
        rows.writeStream.foreachBatch(lambda batch, number: seen.append((number, batch.toArrow())))
        .outputMode(mode)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return seen


def test_join_and_union_before_and_foreach_batch_after(streaming: SparkSession, tmp_path: Path) -> None:
    """With the user's own watermark, on a timestamp. Spark moves the filters of a join before a watermark, so an event
    that the join drops moves no watermark: the end of the stream has a key here."""
    left, right = Files(tmp_path / "left"), Files(tmp_path / "right")
    ends = table_of([END | {"k": 0}, END | {"k": 1}])
    for table in [*batches(4), ends]:
        left.write(in_timestamps(table.slice(0, table.num_rows // 2)))
        right.write(in_timestamps(table.slice(table.num_rows // 2)))
    sectors = streaming.createDataFrame([(key, sector(key)) for key in range(7)], "k long, sector string")
    columns = COLUMNS.replace("time long", "time timestamp")
    events = left.stream(streaming, columns).unionByName(right.stream(streaming, columns))
    joined = events.withWatermark("time", "5 seconds").join(sectors, "k")
    query = (
        "RETURN sector, COUNT(*) PATTERN SEQ(A+, B) WHERE [k, sector] GROUP-BY sector "
        "WITHIN 20 seconds SLIDE 10 seconds"
    )
    named = trendweave.query(query).run(joined).withColumnRenamed("count", "trends").where("trends > 0")

    seen = in_every_batch(named, tmp_path / "checkpoint", "append")

    table = in_timestamps(pa.concat_tables(batches(4)))
    table = table.append_column("sector", pa.array([sector(key) for key in table.column("k").to_pylist()]))
    found = pa.concat_tables([rows for _, rows in seen])
    assert found.column_names == ["window_start", "window_end", "sector", "trends"]
    assert_same(expected(query, [table]), found)
    assert sum(rows.num_rows > 0 for _, rows in seen) > 2, "windows come out one by one, as they close"


def sector(key: int) -> str:
    return f"sector {key % 3}"


def in_timestamps(table: pa.Table) -> pa.Table:
    time = table.column("time").cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
    return table.set_column(0, "time", time)


def test_early_rows_end_in_the_final_ones(streaming: SparkSession, tmp_path: Path) -> None:
    files = Files(tmp_path / "events")
    for table in batches(4):
        files.write(table)
    rows = trendweave.query(SLIDING).run(files.stream(streaming, COLUMNS), watermark="5 seconds", early=True)

    seen = in_every_batch(rows, tmp_path / "checkpoint", "update")

    versions: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for _, table in sorted(seen, key=lambda batch: batch[0]):
        for row in rows_of(table):
            versions.setdefault((row["window_start"], row["g"]), []).append(row)
    final = {(row["window_start"], row["g"]): row for row in rows_of(expected(SLIDING, batches(4)))}
    assert {place: rows[-1] for place, rows in versions.items()} == final
    assert any(rows[0]["count"] < rows[-1]["count"] for rows in versions.values()), "nothing came out early"


@pytest.mark.parametrize("group", ["g", pytest.param("k", marks=pytest.mark.nightly)])
def test_late_events_are_dropped_counted_and_offered(streaming: SparkSession, tmp_path: Path, group: str) -> None:
    """With groups of several keys and of one. Spark calls an event at the very watermark late; we do not, as windows
    begin and end at watermarks: the window that begins there is still open."""
    query = SLIDING.replace("RETURN g", f"RETURN {group}").replace("GROUP-BY g", f"GROUP-BY {group}")
    # Before the first events there is no watermark, so nothing is late, however old.
    first = pa.concat_tables([batches(1)[0], table_of([event(7, "A"), event(8, "B")])])
    # The latest event of the first batch is of second 1009, so the watermark is 1004.
    late = [event(1003, "A"), event(12, "B")]
    in_time = [event(1004, "A"), event(1005, "B"), event(None, "A"), event(1012, None), event(1012, "C")]
    second = pa.concat_tables([batches(1, first=1)[0], table_of(in_time)])
    files = Files(tmp_path / "events")
    for table in [first, pa.concat_tables([table_of(late), second]), end()]:
        files.write(table)

    stream = trendweave.query(query).run(files.stream(streaming, COLUMNS), watermark="5 seconds", late_rows=True)
    found, run = run_to_the_end(stream, tmp_path / "checkpoint")

    rows, offered = (found.filter(mask) for mask in (found["late"].is_null(), found["late"].is_valid()))
    assert_same(expected(query, [first, second]), rows.drop_columns(["late"]))
    assert sorted(offered.column("late").to_pylist(), key=lambda row: row["time"]) == late[::-1]
    assert all(column.null_count == column.length() for column in offered.drop_columns(["late"]).columns)
    # The end of the stream has no type.
    read = {name: counted(run, name, "trendweave_read") for name in ("rows", "null_time", "null_type", "other_type")}
    assert read == {"rows": 40 + 2 + 2 + 40 + 5 + 1, "null_time": 1, "null_type": 2, "other_type": 1}
    assert counted(run, "late") == 2
    assert counted(run, "events") == 40 + 2 + 40 + 2


def event(time: int | None, kind: str | None) -> dict[str, Any]:
    return {"time": time, "type": kind, "x": 1, "y": 0.5, "s": f"{kind} of {time}", "k": 1, "g": "odd"}


def test_an_event_at_the_end_of_a_window_closes_it_for_all_buckets_at_once(
    streaming: SparkSession, tmp_path: Path
) -> None:
    """A watermark that stands exactly at the end of a window, with keys whose first windows differ: one row a group."""
    query = QUERY + "WITHIN 10 seconds SLIDE 10 seconds"
    tables = [
        table_of([keyed(1000 + key, "A", key) for key in range(6)] + [keyed(1009, "B", key) for key in range(3)]),
        table_of([keyed(1009, "B", key) for key in range(3, 6)] + [keyed(1010, "A", 6), keyed(1014, "A", 7)]),
        table_of([keyed(1010 + key, "B", 20 + key) for key in range(5)]),
    ]
    files = Files(tmp_path / "events")
    for table in [*tables, end()]:
        files.write(table)

    stream = trendweave.query(query).run(files.stream(streaming, COLUMNS), watermark="4 seconds", buckets="auto")
    found, run = run_to_the_end(stream, tmp_path / "checkpoint")

    assert_same(expected(query, tables), found)
    assert counted(run, "late") == 0
    assert run.recentProgress[-1].stateOperators[0].numRowsTotal == OWNER


def keyed(time: int, kind: str, key: int) -> dict[str, Any]:
    return event(time, kind) | {"k": key}
