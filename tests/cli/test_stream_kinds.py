"""`trendweave stream` and `run` on Spark with each kind of query, in one session: the rows are those of the batch."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.cli import many_commands
from tests.profiles import PROFILE
from trendweave.cli.files import write_json_line

pytestmark = pytest.mark.spark

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
QUERIES = {
    "aggregates": "RETURN k, COUNT(*) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 20 s SLIDE 10 s",
    "trends": "RETURN TRENDS(A.x) PATTERN SEQ(A, B) WHERE [k] AND A.x < B.x WITHIN 4 s SLIDE 4 s",
    "matches": "FROM A PARTITION BY k DEFINE P AS x > 2, Q AS x < 5 PATTERN P overlaps; meets; during Q "
    "WITHIN 9 s RETURN k",
    "inside": "RETURN k, COUNT(*) PATTERN A+ WHERE [k] AND A DURING P GROUP-BY k WITHIN 8 s SLIDE 8 s "
    "DEFINE P AS x > 2 AT LEAST 1 s",
}
#: By day, those that no other test runs from the command line.
ON_STREAMS = tuple(QUERIES) if PROFILE == "nightly" else ("matches", "inside")
ON_FILES = tuple(QUERIES) if PROFILE == "nightly" else ("trends", "matches", "inside")


def events() -> pa.Table:
    """A minute, two events a second, and one so late in time that everything before it is over."""
    seconds = [half / 2 for half in range(120)] + [3_600]
    return pa.table(
        {
            "time": pa.array([BEGIN + timedelta(seconds=second) for second in seconds], pa.timestamp("us", "UTC")),
            "type": ["A" if index % 3 else "B" for index in range(120)] + ["end"],
            "k": ["p" if index % 5 else "q" for index in range(121)],
            "x": [index * index % 7 for index in range(120)] + [None],
        }
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[int, str, str]]:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "events").mkdir()
    pq.write_table(events(), folder / "events" / "all.parquet")
    commands = {}
    for name, text in QUERIES.items():
        (folder / f"{name}.tw").write_text(text)
    for name in ON_STREAMS:
        source = ["--from", "files", "--events", "events", "--checkpoint", f"checkpoint-{name}", "--available-now"]
        commands["stream", name] = ["stream", f"{name}.tw", *source, "--buckets", "2", "--master", "local[2]"]
    for name in ON_FILES:
        commands["run", name] = ["run", f"{name}.tw", "--events", "events", "--out", f"{name}.parquet"]
    done = subprocess.run(
        [sys.executable, many_commands.__file__, "--one-session"],
        input=json.dumps(list(commands.values())),
        capture_output=True,
        text=True,
        timeout=500,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    found = dict(zip(commands, map(tuple, json.loads(done.stdout)), strict=True))
    for name in ON_FILES:
        rows = pq.read_table(folder / f"{name}.parquet").to_pylist() if found["run", name][0] == 0 else []
        found["rows", name] = (0, "".join(map(write_json_line, rows)), "")
    return found


def expected(name: str) -> list[str]:
    found = trendweave.query(QUERIES[name]).run(events(), type="type").to_pylist()
    return sorted(write_json_line(row).strip() for row in found)


@pytest.mark.parametrize("name", ON_STREAMS)
def test_a_stream_of_files_gives_the_rows_of_the_batch(
    outcomes: dict[tuple[str, str], tuple[int, str, str]], name: str
) -> None:
    code, shown, told = outcomes["stream", name]
    assert code == 0, told
    assert sorted(line for line in shown.splitlines() if line) == expected(name)


@pytest.mark.parametrize("name", ON_FILES)
def test_files_on_spark_give_the_rows_of_the_batch(
    outcomes: dict[tuple[str, str], tuple[int, str, str]], name: str
) -> None:
    code, _, told = outcomes["run", name]
    assert code == 0, told
    assert sorted(outcomes["rows", name][1].splitlines()) == expected(name)
