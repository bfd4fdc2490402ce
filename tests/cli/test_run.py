"""`trendweave run --runner local`: tables in files of every kind, in and out; and how the command is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.command import trendweave, trendweave_process
from trendweave.cli.files import find_files, read_table, read_tables, write_table
from trendweave.cli.running import Run
from trendweave.errors import DataError

EVENTS = pa.table({"t": [1, 2, 3, 11], "kind": ["A", "A", "B", "A"], "x": [3, 2, 1, 0]})
COLUMNS = ("--time", "t", "--type", "kind")
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
    result = run_locally(query_file, events, options=("--out", str(out), *COLUMNS))
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    # (a1, b3), (a2, b3), (a1, a2, b3)
    assert [{name: int(value) for name, value in row.items()} for row in read_table(out).to_pylist()] == [
        {"window_start": 0, "window_end": 10, "count": 3, "sum_A_x": 10}
    ]


def run_locally(query_file: Path, *events: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    listed = [part for path in events for part in ("--events", str(path))]
    return trendweave("run", str(query_file), *listed, "--runner", "local", *options)


def test_a_pipe_gets_csv(query_file: Path, tmp_path: Path) -> None:
    write_table(EVENTS, tmp_path / "events.parquet")
    events = ("--events", str(tmp_path / "events.parquet"), *COLUMNS)
    result = trendweave_process("run", str(query_file), *events, "--runner", "local", "--numbers", "int64")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ['"window_start","window_end","count","sum_A_x"', "0,10,3,10"]


def test_dropped_rows_are_told(query_file: Path, tmp_path: Path) -> None:
    events = pa.table({"time": [1, None, 3], "type": ["A", "A", None], "x": [1, 2, 3]})
    write_table(events, tmp_path / "events.parquet")
    result = run_locally(query_file, tmp_path / "events.parquet")
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
    result = run_locally(query_file, tmp_path / name)
    assert (result.returncode, result.stdout) == (1, "")
    assert code in result.stderr


# Several files


def test_files_folders_and_patterns(query_file: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner [x]"
    (inner / "deep").mkdir(parents=True)
    write_table(EVENTS.slice(0, 2), inner / "deep" / "a.parquet")
    write_table(EVENTS.slice(2).drop_columns("x"), inner / "b.parquet")
    (inner / "_SUCCESS").touch()
    result = run_locally(query_file, inner / "b.parquet", inner / "deep" / "a.parquet", options=COLUMNS)
    assert (result.returncode, result.stdout.splitlines()[1:]) == (0, ["0,10,3,10"]), result.stderr
    for paths in ([f"{inner}"], [f"{tmp_path}/inner [[]x]/*.parquet", f"{inner}/deep"]):
        assert read_tables(find_files(paths)).sort_by("t").column("x").to_pylist() == [3, 2, None, None]


def test_a_schema_of_a_folder(query_file: Path, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    write_table(EVENTS.drop_columns("x"), tmp_path / "events" / "a.parquet")
    schema = ("--schema", str(tmp_path / "events"))
    assert "TW301: unknown column x" in trendweave("check", str(query_file), *schema, *COLUMNS).stderr
    write_table(EVENTS, tmp_path / "events" / "b.parquet")
    assert trendweave("check", str(query_file), *schema, *COLUMNS).stdout == "ok\n"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (["a.parquet", "a.csv"], "TW308: events come in files of several kinds: a.csv, a.parquet"),
        (["a.parquet", "b.parquet"], "TW308: the files do not go together"),
        (["nothing"], "TW308: the folder nothing holds no files"),
        (["by_kind"], "TW308: by_kind has folders named key=value"),
        (["*.feather"], "feather cannot be read: there is no such file or folder"),
    ],
)
def test_files_that_do_not_go_together(tmp_path: Path, events: list[str], said: str) -> None:
    write_table(EVENTS, tmp_path / "a.parquet")
    write_table(EVENTS, tmp_path / "a.csv")
    write_table(EVENTS.set_column(2, "x", pa.array(["1"] * 4)), tmp_path / "b.parquet")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "by_kind" / "kind=A").mkdir(parents=True)
    write_table(EVENTS, tmp_path / "by_kind" / "kind=A" / "a.parquet")
    with pytest.raises(DataError, match=said):
        read_tables(find_files([str(tmp_path / name) for name in events]))


def test_in_csv_an_empty_cell_is_null(tmp_path: Path) -> None:
    """With quotes and without, as Spark reads it."""
    (tmp_path / "a.csv").write_text('time,type,x,y\n1,NA,,NaN\n2,"",1.5,\n3,,2,1\n')
    table = read_table(tmp_path / "a.csv")
    assert table.column("type").to_pylist() == ["NA", None, None]
    assert table.column("x").to_pylist() == [None, 1.5, 2.0]
    assert [str(value) for value in table.column("y").to_pylist()] == ["nan", "None", "1.0"]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("nowhere/result.csv", "there is no folder"),
        ("result.xlsx", "is not known by its ending"),
        ("folder.csv", "it is a folder"),
        ("parts/", "folders of results are written by Spark"),
        ("parts", "folders of results are written by Spark"),
    ],
)
def test_a_result_without_a_place_is_told_before_the_work(tmp_path: Path, out: str, said: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    asked = Run(text=QUERY, events=["s3://none.parquet"], runner="local", out=f"{tmp_path}/{out}")
    # The events are not there either, but they would be looked for later.
    with pytest.raises(DataError, match=f"TW308: .*{said}"):
        asked.run()


# How the command is called


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--conf", "spark.ui.enabled"), "KEY=VALUE"),
        (("--conf", "=true"), "KEY=VALUE"),
        (("--master", "somewhere"), "a master is local"),
        (("--master", "local[2]", "--runner", "local"), "are for --runner spark"),
        (("--conf", "a=b", "--runner", "local"), "are for --runner spark"),
        (("--exchange", "rows", "--runner", "local"), "are for --runner spark"),
        (("--runner", "flink"), "flink"),
    ],
)
def test_wrong_options(query_file: Path, options: tuple[str, ...], said: str) -> None:
    result = trendweave("run", str(query_file), "--events", "events.parquet", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())


WITHOUT_SPARK = "import sys; sys.modules['pyspark'] = None; from trendweave.cli import main; main()"


def test_without_pyspark(query_file: Path, tmp_path: Path) -> None:
    write_table(EVENTS, tmp_path / "events.parquet")
    command = [sys.executable, "-c", WITHOUT_SPARK, "run", str(query_file), "--runner", "spark", "--events"]
    result = subprocess.run([*command, str(tmp_path / "events.parquet")], capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        "Spark is not installed: there is no Python package pyspark\n"
        "  hint: pip install 'trendweave[spark]', or use --runner local\n"
    )


def test_without_pyspark_a_query_runs_in_process(query_file: Path, tmp_path: Path) -> None:
    """As it does on the base install, where nobody has to know of runners."""
    write_table(EVENTS, tmp_path / "events.parquet")
    command = [sys.executable, "-c", WITHOUT_SPARK, "run", str(query_file), *COLUMNS, "--events"]
    result = subprocess.run([*command, str(tmp_path / "events.parquet")], capture_output=True, text=True, timeout=300)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[1] == "0,10,3,10"


def test_without_java(query_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    write_table(EVENTS, tmp_path / "events.parquet")
    result = subprocess.run(
        [sys.executable, "-m", "trendweave", "run", str(query_file), "--events", str(tmp_path / "events.parquet")],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"JAVA_HOME": str(tmp_path)},
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"Spark needs Java, version 17 or newer: there is none in {tmp_path}\n"
        "  hint: install one, such as openjdk-17-jre-headless of Debian, or set JAVA_HOME to one, "
        "or use --runner local\n"
    )


def test_values_of_parameters(tmp_path: Path) -> None:
    events = tmp_path / "events.csv"
    write_table(EVENTS, events)
    text = "RETURN COUNT(*) AS n PATTERN A WHERE A.x > $low AND A.kind != $other WITHIN $w SLIDE $w"
    command = ("run", "-q", text, "--events", str(events), "--runner", "local", *COLUMNS)

    found = trendweave(*command, "--param", "low=1", "--param", "other=it's", "--param", "w=10 s")
    assert (found.returncode, found.stdout.splitlines()[-1]) == (0, "0,10,2")
    missing = trendweave(*command, "--param", "low=1", "--param", "w=10 s")
    assert missing.returncode == 1
    assert "TW490: the parameter $other has no value" in missing.stderr
    assert "hint: give it one: --param NAME=VALUE" in missing.stderr
    unknown = trendweave(*command, "--param", "lo=1")
    assert "TW492: there is no parameter $lo" in unknown.stderr
