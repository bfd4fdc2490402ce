"""A chain of operators on a real Spark stream: a filter by Spark SQL, the rest in the state of the stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.operators.samples import CHAINS, make_events
from tests.reference.comparer import assert_same_rows
from tests.streaming.running import Files, run_to_the_end
from trendweave import operators as ops

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "time timestamp, machine string, room long, heat double, n long"


def test_a_stream_gives_the_rows_of_one_table(streaming: SparkSession, tmp_path: Path) -> None:
    events = make_events(200, moments=True).filter(pc.is_valid(make_events(200).column("time")))
    # After 1970, as Spark's watermark is, and with an event at the end that closes all windows.
    later = pc.add(events.column("time").cast(pa.int64()), 1_700_000_000_000_000).cast(events.schema.field(0).type)
    events = events.set_column(0, "time", later).sort_by("time")
    files = Files(tmp_path / "events")
    for start in range(0, events.num_rows, 100):
        files.write(events.slice(start, 100))
    end = pc.add(events.column("time")[-1:], pa.scalar(10**9, pa.duration("us")))
    last = events.slice(0, 1).set_column(0, "time", end)
    files.write(last)
    chain = ops.pipe(CHAINS["windows and a match"])

    rows = chain.run(files.stream(streaming, COLUMNS), watermark="5 seconds")
    found, _ = run_to_the_end(rows, tmp_path / "checkpoint")

    expected = chain.run(events)
    assert expected.num_rows > 3
    assert_same_rows(expected.to_pylist(), found.to_pylist(), context=str(chain))


def test_a_filter_of_a_stream_keeps_no_state(streaming: SparkSession, tmp_path: Path) -> None:
    events = make_events(40, moments=True)
    files = Files(tmp_path / "events")
    files.write(events)
    chain = ops.pipe(CHAINS["filter"])

    found, query = run_to_the_end(chain.run(files.stream(streaming, COLUMNS)), tmp_path / "checkpoint")

    assert_same_rows(chain.run(events).to_pylist(), found.to_pylist(), context=str(chain))
    assert not query.lastProgress.stateOperators
