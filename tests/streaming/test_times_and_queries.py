"""All types of times and all forms of queries on streams, in a session far from UTC: the rows of one batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import trendweave
from tests.spark.comparing import assert_same, settings
from tests.streaming.running import OWNER, Files, run_to_the_end
from tests.streaming.sample import COLUMNS, SLIDING, batches, end, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NTZ = pa.timestamp("us")
MOVING = (
    "RETURN k, COUNT(*), MIN(A.y), SUM(CASE WHEN A.x > 3 THEN A.x * 2 ELSE 0 END) PATTERN SEQ(A+, B) WHERE [k] "
    "GROUP-BY k WITHIN 7 s"
)
NEGATION = "RETURN g, COUNT(*) PATTERN SEQ(A+, NOT B, A C) WHERE [g] AND C.x > 5 GROUP-BY g WITHIN 7.5 s SLIDE 2.5 s"
QUALIFIED = "RETURN g, COUNT(*), AVG(P.y) PATTERN SEQ(A P+, B) WHERE [P.k, g] GROUP-BY g WITHIN 6 s SLIDE 3 s"
NEXT_MATCH = "RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [k] SEMANTICS skip-till-next-match WITHIN 9 s SLIDE 3 s"
CONTIGUOUS = "RETURN k, COUNT(*) PATTERN (SEQ(A+, B))+ GROUP-BY k SEMANTICS contiguous WITHIN 20 s SLIDE 10 s"
EACH = (
    "RETURN EACH FIRST(A.x) AS low, LAST(B.s) AS last, COUNT(A), COLLECT_LIST(A.x) AS all, COLLECT_SET(A.s) AS once, "
    "A[2].x, MEDIAN(A.x) AS median, MAX(A.x * 1.5), LAST(UPPER(A.s)) AS upper "
    "PATTERN SEQ(A+, B) WHERE [k] AND A[-1].x >= MEDIAN(A.x) WITHIN 9 s SLIDE 3 s"
)

TAKEN = (
    "RETURN EACH k, FIRST(A.time) AS since, COUNT(A), LAST(B.s) AS last PATTERN SEQ(A+, B) GROUP-BY k "
    "SEMANTICS skip-till-next-match WITHIN 9 s AFTER MATCH SKIP PAST LAST EVENT"
)


@pytest.fixture(scope="module", autouse=True)
def _far_from_utc(streaming: SparkSession) -> Iterator[None]:
    with settings(streaming, sql_session_timeZone="America/New_York"):
        yield


@pytest.mark.parametrize(
    ("query", "sql_type", "arrow_type"),
    [
        pytest.param(SLIDING, "timestamp", pa.timestamp("us", "UTC"), id="timestamp"),
        pytest.param(MOVING, "timestamp_ntz", NTZ, id="timestamp_ntz, moving window"),
        pytest.param(NEGATION, "double", pa.float64(), id="double, NOT", marks=pytest.mark.nightly),
        pytest.param(QUALIFIED, "long", pa.int64(), id="long, qualified key"),
        pytest.param(NEXT_MATCH, "timestamp_ntz", NTZ, id="timestamp_ntz, next match", marks=pytest.mark.nightly),
        pytest.param(EACH, "long", pa.int64(), id="long, one row per trend"),
        pytest.param(TAKEN, "double", pa.float64(), id="double, taken matches"),
        pytest.param(CONTIGUOUS, "double", pa.float64(), id="double, contiguous", marks=pytest.mark.nightly),
    ],
)
def test_rows_of_one_batch(
    streaming: SparkSession, tmp_path: Path, query: str, sql_type: str, arrow_type: pa.DataType
) -> None:
    tables = [with_time_as(arrow_type, table) for table in batches(3)]
    late = tables[0].slice(0, 1)
    files = Files(tmp_path / "events")
    for table in [*tables[:2], pa.concat_tables([late, tables[2]]), with_time_as(arrow_type, end())]:
        files.write(table)

    stream = files.stream(streaming, COLUMNS.replace("time long", f"time {sql_type}"))
    rows = trendweave.query(query).run(stream, watermark="2 seconds", late_rows=True)
    found, run = run_to_the_end(rows, tmp_path / "checkpoint")

    in_time = found.filter(found["late"].is_null()).drop_columns(["late"])
    assert_same(expected(query, tables), in_time)
    assert in_time.num_rows > 3
    assert_same(late, pa.Table.from_struct_array(found["late"].drop_null()))
    assert run.recentProgress[-1].stateOperators[0].numRowsTotal <= OWNER + ("contiguous" in query) * 4


def with_time_as(kind: pa.DataType, table: pa.Table) -> pa.Table:
    """Quarters of seconds where the type has them."""
    seconds = table.column("time")
    if kind == pa.int64():
        return table
    quarters = pa.array([time + (time % 4) / 4 for time in seconds.to_pylist()], pa.float64())
    if kind == pa.float64():
        return table.set_column(0, "time", quarters)
    micros = pa.array([round(time * 1_000_000) for time in quarters.to_pylist()], pa.int64())
    return table.set_column(0, "time", micros.cast(pa.timestamp("us")).cast(kind))
