"""`trendweave stream` with Kafka: files to a topic, and the topic to files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.cli import many_commands
from tests.streaming import kafka_setup

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

#: Falling prices per company, as a stream that is the source of another one: the time is a number of seconds.
FALLING = "RETURN company, COUNT(*) AS number PATTERN S+ WHERE [company] AND S.price > NEXT(S).price GROUP-BY company "
FALLING += "WITHIN 10 s SLIDE 10 s"
#: On the rows of the first: how often the number of trends has grown.
GROWING = "RETURN COUNT(*) AS grown PATTERN R{2,} WHERE [company] AND R.number < NEXT(R).number WITHIN 40 s SLIDE 40 s"
DELAY = 1


def test_files_to_kafka_to_files(kafka_servers: str, tmp_path: Path) -> None:
    seconds = [1 + number // 3 for number in range(360)]
    companies = ["x" if number % 2 else "y" for number in range(360)]
    prices = [(number * 7) % 11 for number in range(360)]
    events = pa.table({"time": seconds, "company": companies, "price": prices})
    (tmp_path / "events").mkdir()
    pq.write_table(events, tmp_path / "events" / "1.parquet")
    (tmp_path / "falling.tw").write_text(FALLING)
    (tmp_path / "growing.tw").write_text(GROWING)
    common = ["--type", "", "--watermark", f"{DELAY} s", "--servers", kafka_servers, "--available-now"]
    common += ["--master", "local[2]", "--buckets", "2", "--jars", ",".join(kafka_setup.connector_jars())]
    first = ["stream", "falling.tw", "--from", "files", "--events", "events", "--to", "kafka", "--out-topic", "falling"]
    second = ["stream", "growing.tw", "--from", "kafka", "--topic", "falling", "--starting", "earliest"]
    second += ["--schema", "window_start bigint, company string, number bigint", "--time", "window_start"]
    second += ["--to", "files", "--out", "rows"]
    commands = [[*first, "--checkpoint", "one", *common], [*second, "--checkpoint", "two", *common]]

    done = subprocess.run(
        [sys.executable, many_commands.__file__],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr[-4_000:]
    outcomes = json.loads(done.stdout)
    assert [code for code, _, _ in outcomes] == [0, 0], outcomes
    falling = closed(trendweave.query(FALLING).run(events, type=None, numbers="int64"), max(seconds))
    assert f"events: {falling.num_rows} read" in outcomes[1][2]
    grown = trendweave.query(GROWING).run(falling, time="window_start", type=None)
    expected = closed(grown, max(falling.column("window_start").to_pylist()))
    assert expected.num_rows > 1
    found = pq.read_table(tmp_path / "rows").select(expected.column_names)
    assert Counter(map(str, found.to_pylist())) == Counter(map(str, expected.to_pylist()))


def closed(rows: pa.Table, latest: int) -> pa.Table:
    """The rows of windows that the watermark has reached."""
    return rows.filter(pa.array([end <= latest - DELAY for end in rows.column("window_end").to_pylist()]))
