"""`trendweave run`: tables in files of every kind, in and out."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.cli.test_cli import trendweave
from trendweave.files import read_table, write_table

EVENTS = pa.table({"t": [1, 2, 3, 11], "kind": ["A", "A", "B", "A"], "x": [3, 2, 1, 0]})
QUERY = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WITHIN 10 s SLIDE 10 s"


@pytest.fixture
def query_file(tmp_path: Path) -> Path:
    path = tmp_path / "query.tw"
    path.write_text(QUERY, encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".json", ".jsonl", ".arrow", ".feather"])
def test_every_kind_of_file_in_and_out(query_file: Path, tmp_path: Path, ending: str) -> None:
    events, out = tmp_path / f"events{ending}", tmp_path / f"result{ending}"
    write_table(EVENTS, events)
    assert read_table(events).to_pylist() == EVENTS.to_pylist()
    result = trendweave(
        "run", str(query_file), "--events", str(events), "--out", str(out), "--time", "t", "--type", "kind"
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    # (a1, b3), (a2, b3), (a1, a2, b3)
    assert [{name: int(value) for name, value in row.items()} for row in read_table(out).to_pylist()] == [
        {"window_start": 0, "window_end": 10, "count": 3, "sum_A_x": 10}
    ]


def test_a_pipe_gets_csv(query_file: Path, tmp_path: Path) -> None:
    write_table(EVENTS, tmp_path / "events.parquet")
    options = ("--time", "t", "--type", "kind", "--numbers", "int64", "--runner", "local")
    result = trendweave("run", str(query_file), "--events", str(tmp_path / "events.parquet"), *options)
    assert result.returncode == 0
    assert result.stdout.splitlines() == ['"window_start","window_end","count","sum_A_x"', "0,10,3,10"]


def test_dropped_rows_are_told(query_file: Path, tmp_path: Path) -> None:
    events = pa.table({"time": [1, None, 3], "type": ["A", "A", None], "x": [1, 2, 3]})
    write_table(events, tmp_path / "events.parquet")
    result = trendweave("run", str(query_file), "--events", str(tmp_path / "events.parquet"))
    assert result.returncode == 0
    assert "dropped 1 rows without a time and 1 without a type, of 3" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("none.parquet", None, "TW308"),
        ("broken.parquet", "this is no Parquet", "TW308"),
        ("events.xlsx", "", "TW308"),
        ("columns.csv", "when,type\n1,A\n", "TW302"),
    ],
)
def test_bad_files(query_file: Path, tmp_path: Path, name: str, content: str | None, code: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    result = trendweave("run", str(query_file), "--events", str(tmp_path / name))
    assert (result.returncode, result.stdout) == (1, "")
    assert code in result.stderr
