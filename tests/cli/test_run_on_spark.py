"""`trendweave run` on Spark: files of every kind in and out, what is told, and what goes wrong."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest

from tests.cli import many_commands
from trendweave.cli.files import read_table, write_table
from trendweave.datasets import sample_flights

pytestmark = pytest.mark.spark

Outcome = tuple[int, str, str]

EVENTS = pa.table({"time": [1, 2, 3, 11], "type": ["A", "A", "B", "A"], "x": [3, 2, 1, 0]})
QUERY = "RETURN COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WITHIN 10 s SLIDE 10 s"
#: (a1, b3), (a2, b3), (a1, a2, b3)
ROWS = [{"window_start": 0, "window_end": 10, "count": 3, "sum_A_x": 10}]

PER_ORIGIN = (
    "RETURN origin, COUNT(*) AS number, MAX(D.dep_delay) AS worst PATTERN Departure D{3,} "
    "WHERE [origin, carrier] AND D.dep_delay < NEXT(D).dep_delay AND D.dep_delay >= 15 AND D.destination <> 'NA' "
    "GROUP-BY origin WITHIN 1 day SLIDE 6 hours"
)


#: Many of their rows have one time, and are told apart by the rest of the order that is promised.
PIPES_WITH_TIES = {
    "windows in Spark SQL": "AGGREGATE COUNT(*) AS n OVER 1 day SLIDE 12 hours BY carrier, origin",
    "windows in tasks": "AGGREGATE AVG(dep_delay) AS mean OVER 1 day SLIDE 12 hours BY carrier, origin",
    "windows of events, and a filter": "AGGREGATE MAX(dep_delay) AS m OVER 3 ROWS BY carrier | FILTER m > 20",
    "pairs": "FILTER dep_delay > 150 | JOIN left.dep_delay < right.dep_delay LEFT 1 hour RIGHT 1 hour BY origin",
}


class Folder:
    """Files for the commands, and the commands: all run in one process, each once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.commands: dict[str, list[str]] = {}
        self.outcomes: dict[str, Outcome] = {}

    def __truediv__(self, name: str) -> str:
        return f"{self.path}/{name}"  # a slash at the end means something

    def add(self, name: str, query: str, *options: str, events: tuple[str, ...] = ("events.parquet",)) -> None:
        file = self.path / f"{len(self.commands)}.tw"
        file.write_text(query, encoding="utf-8")
        listed = [part for event in events for part in ("--events", self / event)]
        self.commands[name] = ["run", str(file), *listed, *options]

    def add_pipe(self, name: str, text: str, *options: str) -> None:
        self.commands[name] = ["pipe", text, "--events", self / "events.parquet", *options]

    def run(self) -> None:
        done = subprocess.run(
            [sys.executable, many_commands.__file__, "--one-session"],
            input=json.dumps(list(self.commands.values())),
            capture_output=True,
            text=True,
            timeout=400,
            cwd=self.path,
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        self.outcomes = dict(zip(self.commands, map(tuple, json.loads(done.stdout)), strict=True))


def with_two_workers(*options: str) -> tuple[str, ...]:
    return ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2", *options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    made = Folder(tmp_path_factory.mktemp("runs"))
    write_events(made)
    for ending in ("parquet", "csv", "json"):
        made.add(f"from {ending}", QUERY, *with_two_workers(), events=(f"events.{ending}",))
    made.add("from semicolons", QUERY, *with_two_workers(), events=("semicolons [x].csv",))
    for out in ("result.parquet", "result.csv", "result.json", "result.arrow", "plain/", "parts", "parts.csv/"):
        made.add(f"to {out}", QUERY, *with_two_workers("--out", made / out))
    made.add("two files", QUERY, *with_two_workers(), events=("first.csv", "second.csv"))
    made.add("a folder", QUERY, *with_two_workers(), events=("inner [x]",))
    made.add("a pattern", QUERY, *with_two_workers(), events=("*st.csv", "sec*.csv"))
    made.add("folders of values", QUERY, *with_two_workers(), events=("by_type",))
    made.add("missing columns", QUERY, *with_two_workers(), events=("narrow.parquet", "wide.parquet"))
    made.add("empty", QUERY, *with_two_workers(), events=("empty.parquet",))
    made.add("nothing", QUERY.replace("SEQ(A+, B)", "SEQ(B, A)"), *with_two_workers())
    made.add("millis", "RETURN COUNT(*) PATTERN A WITHIN 1 minute SLIDE 1 minute", events=("millis.json",))
    made.add("dropped", QUERY, *with_two_workers(), events=("dropped.parquet",))
    for runner, options in (("spark", with_two_workers()), ("local", ("--runner", "local"))):
        for kind in ("parquet", "csv", "json"):
            out = ("--out", made / f"{runner}-{kind}.parquet", *options)
            made.add(f"flights {runner} {kind}", PER_ORIGIN, *out, events=(f"flights.{kind}",))
    large = "RETURN COUNT(*) PATTERN Departure D+"
    made.add("too large", large, *with_two_workers("--numbers", "int64"), events=("flights.parquet",))
    to_folder = with_two_workers("--numbers", "int64", "--out", made / "never")
    made.add("too large to a folder", large, *to_folder, events=("flights.parquet",))
    for name in ("broken.parquet", "ragged.csv", "ragged.json", "events.arrow"):
        made.add(name, QUERY, *with_two_workers(), events=(name,))
    made.add("other order", QUERY, *with_two_workers(), events=("events.csv", "other_order.csv"))
    made.add("no such file", QUERY, events=("none.parquet",))
    made.add("two kinds", QUERY, events=("events.parquet", "events.csv"))
    made.add("no such column", "RETURN COUNT(*) PATTERN A WHERE A.y > 1", *with_two_workers())
    made.add_pipe("operators", "FILTER x > 0 | AGGREGATE SUM(x) AS total OVER 2 ROWS SLIDE 1 ROW", *with_two_workers())
    sides = with_two_workers("--right", made / "events.csv", "--out", made / "pairs")
    made.add_pipe("operators on two sides", "JOIN left.x > right.x LEFT 9 s RIGHT 1 ROW BY type", *sides)
    # Spark would put the few rows of all tasks into one.
    apart = ("--conf", "spark.sql.adaptive.coalescePartitions.enabled=false")
    for name, text in PIPES_WITH_TIES.items():
        for runner, options in (("spark", with_two_workers(*apart)), ("local", ("--runner", "local"))):
            made.commands[f"{name} {runner}"] = ["pipe", text, "--events", made / "flights.parquet", *options]
    made.add("there already", QUERY, "--out", str(made.path))
    made.add("no place", QUERY, "--out", made / "nowhere/result.csv")
    made.run()
    return made


def write_events(made: Folder) -> None:
    for ending in ("parquet", "csv", "json", "arrow"):
        write_table(EVENTS, made.path / f"events.{ending}")
        if ending != "arrow":
            write_table(sample_flights(), made.path / f"flights.{ending}")
    for name in ("inner [x]/deep {y}", "by_type/type=A", "by_type/type=B"):
        (made.path / name).mkdir(parents=True)
    for name, rows in {"first": EVENTS.slice(0, 2), "second": EVENTS.slice(2)}.items():
        write_table(rows, made.path / f"{name}.csv")
        write_table(rows, made.path / "inner [x]" / ("deep {y}" if name == "first" else "") / f"{name} 100%.parquet")
    (made.path / "inner [x]" / "_SUCCESS").touch()
    for kind in ("A", "B"):
        chosen = EVENTS.filter(pa.compute.equal(EVENTS.column("type"), kind)).drop_columns("type")
        write_table(chosen, made.path / "by_type" / f"type={kind}" / "part.parquet")
    write_table(EVENTS.slice(0, 2), made.path / "wide.parquet")
    write_table(EVENTS.slice(2).drop_columns("x"), made.path / "narrow.parquet")
    write_table(EVENTS.slice(0, 0), made.path / "empty.parquet")
    write_table(
        pa.table({"time": [1, None, 3], "type": ["A", "A", None], "x": [1, 2, 3]}), made.path / "dropped.parquet"
    )
    (made.path / "semicolons [x].csv").write_text((made.path / "events.csv").read_text().replace(",", ";"))
    (made.path / "millis.json").write_text('{"time": 1714566600000, "type": "A"}\n', encoding="utf-8")
    (made.path / "broken.parquet").write_text("this is no Parquet")
    (made.path / "ragged.csv").write_text("time,type,x\n1,A,1\n2,A\n3,B,1\n")
    (made.path / "ragged.json").write_text('{"time": 1, "type": "A", "x": 1}\n{"time": 2, "type\n')
    write_table(EVENTS.select(["x", "type", "time"]), made.path / "other_order.csv")


def whole_numbers(table: pa.Table) -> list[dict[str, int]]:
    return [{name: int(value) for name, value in row.items()} for row in table.to_pylist()]


CSV = '"window_start","window_end","count","sum_A_x"\n0,10,3,10\n'


@pytest.mark.parametrize(
    "name",
    [
        "from parquet",
        "from csv",
        "from json",
        "from semicolons",
        "two files",
        "a folder",
        "a pattern",
        "folders of values",
    ],
)
def test_events_in_files_of_every_kind(folder: Folder, name: str) -> None:
    code, out, err = folder.outcomes[name]
    assert (code, out) == (0, CSV), err


@pytest.mark.parametrize("name", ["result.parquet", "result.csv", "result.json", "result.arrow"])
def test_a_path_with_an_ending_is_one_file(folder: Folder, name: str) -> None:
    assert folder.outcomes[f"to {name}"][:2] == (0, "")
    assert (folder.path / name).is_file()
    assert whole_numbers(read_table(folder.path / name)) == ROWS


@pytest.mark.parametrize(("name", "ending"), [("plain/", ".parquet"), ("parts", ".parquet"), ("parts.csv/", ".csv")])
def test_other_paths_are_folders(folder: Folder, name: str, ending: str) -> None:
    assert folder.outcomes[f"to {name}"][:2] == (0, "")
    written = [path for path in (folder.path / name).iterdir() if path.name.startswith("part")]
    assert {path.suffix for path in written} == {ending}
    assert whole_numbers(read_table(folder.path / name)) == ROWS


def test_a_column_that_one_file_lacks_is_null_there(folder: Folder) -> None:
    assert folder.outcomes["missing columns"][:2] == (0, CSV)


def test_no_events_no_rows(folder: Folder) -> None:
    code, out, err = folder.outcomes["empty"]
    assert (code, out) == (0, CSV.splitlines()[0] + "\n")
    assert "dropped" not in err


@pytest.mark.parametrize("name", ["empty", "nothing"])
def test_an_empty_result_is_told(folder: Folder, name: str) -> None:
    code, out, err = folder.outcomes[name]
    assert (code, len(out.splitlines())) == (0, 1)
    assert "the result is empty" in " ".join(err.split())
    assert "--runner local says why" in " ".join(err.split())
    assert "the result is empty" not in folder.outcomes["from csv"][2]


def test_numbers_that_are_probably_milliseconds_are_told(folder: Folder) -> None:
    code, out, err = folder.outcomes["millis"]
    assert (code, out.splitlines()[1]) == (0, "1714566600000,1714566600060,1")
    assert "lies beyond the year 2200; give --time-unit ms if they are milliseconds" in " ".join(err.split())


def test_dropped_rows_are_told(folder: Folder) -> None:
    code, _, err = folder.outcomes["dropped"]
    assert code == 0
    assert "dropped 1 rows without a time and 1 without a type, of 3" in " ".join(err.split())


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_both_runners_write_the_same_rows(folder: Folder, kind: str) -> None:
    """Real flights: times with a zone, NULLs, and airports that begin with letters that could be read as NULL."""

    def rows(runner: str) -> list[tuple[str, ...]]:
        table = read_table(folder.path / f"{runner}-{kind}.parquet")
        assert table.num_rows > 100
        assert table.schema.field("number").type == pa.decimal128(38, 0)
        # Arrow reads times with a zone in JSON as times of UTC without one.
        return sorted(tuple(str(value).removesuffix("+00:00") for value in row.values()) for row in table.to_pylist())

    assert rows("spark") == rows("local")
    first = read_table(folder.path / f"spark-{kind}.parquet")
    assert first.sort_by([("window_start", "ascending"), ("origin", "ascending")]).equals(first)


@pytest.mark.parametrize("name", ["too large", "too large to a folder"])
def test_errors_of_workers_arrive_as_they_are(folder: Folder, name: str) -> None:
    code, out, err = folder.outcomes[name]
    assert (code, out) == (1, "")
    said = err[err.index("execution error") :]
    assert said.startswith("execution error\nTW402: key (none), times 2013-02-04 10:00:00+00:00 to ")
    assert said.endswith('  hint: ask for numbers="text" or "log2"\n')
    assert len(said.splitlines()) == 3
    assert "Traceback" not in err
    assert "\tat " not in err
    assert not (folder.path / "never").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken.parquet", "TW308: the events cannot be read"),
        ("ragged.csv", "Malformed CSV record: 2,A"),
        ("ragged.json", "TW308: the events cannot be read"),
        ("events.arrow", "TW308: events.arrow cannot be read: Spark has no reader"),
        ("other order", "TW308: files have different columns, or another order of them: events.csv, other_order.csv"),
        ("no such file", "none.parquet cannot be read: there is no such file or folder"),
        ("two kinds", "TW308: events come in files of several kinds: events.csv, events.parquet"),
        ("no such column", "TW301: unknown column y"),
        ("there already", "cannot be written: it is there already"),
        ("no place", "TW308: result.csv cannot be written: there is no folder"),
    ],
)
def test_what_goes_wrong_is_told_shortly(folder: Folder, name: str, said: str) -> None:
    code, out, err = folder.outcomes[name]
    assert (code, out) == (1, "")
    assert said in err
    assert "hint: " in err
    assert "Traceback" not in err
    assert "\tat " not in err
    assert len(err) < 3_000


def test_operators(folder: Folder) -> None:
    code, out, err = folder.outcomes["operators"]
    assert (code, err) == (0, "")
    assert out.splitlines() == ['"window_start","window_end","time","total"', "1,2,2,5", "2,3,3,3"]
    assert folder.outcomes["operators on two sides"] == (0, "", "")
    pairs = pa.parquet.read_table(folder / "pairs").sort_by([("time", "ascending"), ("right_time", "ascending")])
    # The right a2 finds the left a1; the left ones find themselves, and the last right one only its like.
    assert pairs.select(["time", "left_x", "right_x"]).to_pylist() == [{"time": 2, "left_x": 3, "right_x": 2}]


@pytest.mark.parametrize("name", PIPES_WITH_TIES)
def test_rows_of_operators_stand_in_the_order_of_one_process(folder: Folder, name: str) -> None:
    code, out, err = folder.outcomes[f"{name} spark"]

    assert (code, err) == (0, "")
    assert out.count("\n") > 100
    assert out == folder.outcomes[f"{name} local"][1]


@pytest.mark.nightly
def test_a_terminal_gets_a_table(folder: Folder) -> None:
    """In a process of its own, as on a user's machine: nothing but a line of Java's comes before the table."""
    command = [sys.executable, "-m", "trendweave", *folder.commands["from parquet"]]
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = b""
        while part := read_some(lambda: os.read(ours, 65_536)):
            shown += part
    os.close(ours)
    lines = shown.decode().replace("\r", "\n").splitlines()
    assert process.returncode == 0, lines
    assert any("sum_A_x" in line and "┃" in line for line in lines)
    before = [line for line in lines[: next(i for i, line in enumerate(lines) if "┏" in line)] if line.strip()]
    assert [line for line in before if not line.lstrip().startswith(("[Stage", "WARNING: "))] == []


def read_some(read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except OSError:  # how Linux says that the other side of a terminal is closed
        return b""
