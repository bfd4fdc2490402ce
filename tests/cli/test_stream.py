"""`trendweave stream` on files: the rows of the batch, Ctrl-C and restart, and what is told when something is wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trendweave
from tests.cli import many_commands
from trendweave.cli.files import write_json_line, write_table

pytestmark = [pytest.mark.spark, pytest.mark.nightly]

QUERY = "RETURN k, COUNT(*) AS number PATTERN SEQ(A+, B) WHERE [k, g] GROUP-BY k WITHIN 20 s SLIDE 10 s"
COLUMNS = "time timestamp, type string, k string, g bigint"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
FILES = 30
SECONDS_OF_A_FILE = 5
DELAY = 2
PATIENCE = 240  # seconds; a stream on a busy machine takes half a minute to start

Outcome = tuple[int, str, str]


def events_of(number: int) -> pa.Table:
    """Ten events, two a second, of two keys."""
    seconds = [number * SECONDS_OF_A_FILE + half / 2 for half in range(2 * SECONDS_OF_A_FILE)]
    return pa.table(
        {
            "time": pa.array([BEGIN + timedelta(seconds=second) for second in seconds], pa.timestamp("us", "UTC")),
            "type": ["A" if int(second) % 3 else "B" for second in seconds],
            "k": ["x" if index % 4 else "y" for index in range(len(seconds))],
            "g": [index % 2 for index in range(len(seconds))],
        }
    )


def expected_rows() -> list[dict]:
    """Of the batch, as far as the watermark gets."""
    events = pa.concat_tables([events_of(number) for number in range(FILES)])
    watermark = max(events.column("time").to_pylist()) - timedelta(seconds=DELAY)
    found = trendweave.query(QUERY).run(events)
    return [row for row in found.to_pylist() if row["window_end"] <= watermark]


def without_zone(value: object) -> object:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def as_counter(rows: list[dict]) -> Counter[str]:
    return Counter(write_json_line(row) for row in rows)


@dataclass
class Folder:
    """Events, and commands on them."""

    path: Path

    def command(self, *options: str, checkpoint: str, query: str = "query.tw", events: str = "events") -> list[str]:
        source = ["--from", "files", "--events", events, "--checkpoint", checkpoint, "--watermark", f"{DELAY} seconds"]
        return ["stream", query, *source, "--buckets", "3", "--master", "local[2]", *options]

    def run(self, commands: dict[str, list[str]]) -> dict[str, Outcome]:
        done = subprocess.run(
            [sys.executable, many_commands.__file__],
            input=json.dumps(list(commands.values())),
            capture_output=True,
            text=True,
            timeout=500,
            cwd=self.path,
        )
        assert done.returncode == 0, done.stderr[-4_000:]
        return dict(zip(commands, map(tuple, json.loads(done.stdout)), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    made = Folder(tmp_path_factory.mktemp("streams"))
    for name in ("events", "nothing", "lines", "csv"):
        (made.path / name).mkdir()
    for number in range(FILES):
        file = made.path / "events" / f"{number:02}.parquet"
        pq.write_table(events_of(number), file)
        os.utime(file, (number + 1, number + 1))  # the age of a file is its place in the stream
    write_table(pa.concat_tables([events_of(number) for number in range(FILES)]), made.path / "csv" / "all.csv")
    good = [row | {"time": row["time"].isoformat()} for row in events_of(0).to_pylist()]
    broken = ['{"time": "never", "type": "A", "k": "x", "g": 0}', "nothing", '{"time": null, "type": "A"}']
    (made.path / "lines" / "1.json").write_text("\n".join([*map(json.dumps, good), *broken]))
    (made.path / "query.tw").write_text(QUERY)
    (made.path / "other.tw").write_text(QUERY.replace("A+", "A"))
    (made.path / "endless.tw").write_text("RETURN COUNT(*) PATTERN A")
    return made


# Ctrl-C. One stream is on a terminal and writes files, the other is read by a program.

ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
ONE_FILE_A_BATCH = ("--read-option", "maxFilesPerTrigger=1")
TO_FILES = ("--to", "files", "--out", "rows")


@pytest.fixture(scope="module")
def on_a_terminal(folder: Folder) -> tuple[int, str]:
    """Exit code and screen of a stream to files that was ended by the keys Ctrl and C, in the middle of its input."""
    command = folder.command(*TO_FILES, *ONE_FILE_A_BATCH, checkpoint="terminal")
    shell = [sys.executable, "-c", ON_A_TERMINAL, sys.executable, "-m", "trendweave", *command]
    environment = os.environ | {"COLUMNS": "100", "LINES": "30", "TERM": "xterm"}
    with subprocess.Popen(
        shell, cwd=folder.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        shown: list[bytes] = []
        reader = threading.Thread(target=lambda: shown.extend(iter(lambda: process.stdout.read1(65_536), b"")))
        reader.start()
        commits = folder.path / "terminal" / "commits"
        wait_until(lambda: process.poll() is not None or len(list(commits.glob("[0-9]*"))) >= 3)
        process.stdin.write(b"\x03")
        process.stdin.flush()
        reader.join(PATIENCE)
        code = process.wait(PATIENCE)
    return code, b"".join(shown).decode(errors="replace")


@pytest.fixture(scope="module")
def in_a_pipe(folder: Folder) -> tuple[int, list[str], str]:
    """Exit code, lines and errors of a stream that was sent SIGINT after it had written a few rows."""
    command = folder.command(*ONE_FILE_A_BATCH, checkpoint="pipe")
    with subprocess.Popen(
        [sys.executable, "-m", "trendweave", *command],
        cwd=folder.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        # Not communicate(), which would not see what readline() has taken beyond its lines.
        lines += process.stdout.readlines()
        errors = process.stderr.read()
        code = process.wait(PATIENCE)
    return code, [line for line in lines if line], errors


def wait_until(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def outcomes(
    folder: Folder, on_a_terminal: tuple[int, str], in_a_pipe: tuple[int, list[str], str]
) -> dict[str, Outcome]:
    """All commands that end by themselves, in one process."""
    now = "--available-now"
    made = {
        # Refused, and the checkpoint is as good as before.
        "another query": folder.command(now, checkpoint="pipe", query="other.tw"),
        "other buckets": folder.command(now, "--buckets", "5", checkpoint="pipe"),
        "the rest to files": folder.command(*TO_FILES, now, checkpoint="terminal"),
        "the rest in a pipe": folder.command(now, checkpoint="pipe"),
        "csv": folder.command(
            *(now, "--format", "csv", "--schema", COLUMNS, "--to", "files", "--out", "rows.json"),
            *("--out-format", "json"),
            checkpoint="csv checkpoint",
            events="csv",
        ),
        "lines": folder.command(
            now, "--early", "--format", "json", "--schema", COLUMNS, checkpoint="lines checkpoint", events="lines"
        ),
        "no window": folder.command(now, checkpoint="none", query="endless.tw"),
        "no folder": folder.command(now, checkpoint="none", events="nowhere"),
        "no files": folder.command(now, checkpoint="none", events="nothing"),
        "no schema": folder.command(now, "--schema", "time what", checkpoint="none"),
        "no column": folder.command(now, "--schema", "time timestamp, type string", checkpoint="none"),
        "no connector": [
            *("stream", "query.tw", "--from", "kafka", "--servers", "127.0.0.1:1", "--topic", "t"),
            *("--schema", COLUMNS, "--checkpoint", "none", "--master", "local[2]"),
        ],
        "no connector to write": folder.command(
            "--to", "kafka", "--servers", "127.0.0.1:1", "--out-topic", "t", checkpoint="none"
        ),
    }
    return folder.run(made)


def test_ctrl_c_on_a_terminal_ends_in_order(on_a_terminal: tuple[int, str], folder: Folder) -> None:
    code, shown = on_a_terminal
    assert code == 0, shown[-3_000:]
    assert "Traceback" not in shown
    assert "Exception" not in shown
    last = shown[shown.rindex("events to rows: stopped") :]
    for name in ("events", "watermark", "late", "dropped", "state", "batches"):
        assert name in last
    done = len(list((folder.path / "terminal" / "commits").glob("[0-9]*")))
    assert 3 <= done < FILES


def test_files_hold_every_row_once_after_a_restart(folder: Folder, outcomes: dict[str, Outcome]) -> None:
    code, out, errors = outcomes["the rest to files"]
    assert (code, out) == (0, ""), errors
    noted = [
        json.loads(line)["path"]
        for log in sorted((folder.path / "rows" / "_spark_metadata").glob("[0-9]*"))
        for line in log.read_text().splitlines()[1:]
    ]
    rows = [row for path in noted for row in pq.read_table(path.removeprefix("file://")).to_pylist()]
    # Spark writes times of UTC in a form of Parquet that has no zones.
    expected = [{name: without_zone(value) for name, value in row.items()} for row in expected_rows()]
    assert as_counter(rows) == as_counter(expected)


def test_a_pipe_gets_every_row_once_after_a_restart(
    in_a_pipe: tuple[int, list[str], str], outcomes: dict[str, Outcome]
) -> None:
    code, first, errors = in_a_pipe
    assert code == 0, errors
    assert "Traceback" not in errors
    code, second, errors = outcomes["the rest in a pipe"]
    assert code == 0, errors
    expected = as_counter(expected_rows())
    assert 3 <= len(first) < sum(expected.values())
    assert Counter(first) + Counter(second.splitlines(keepends=True)) == expected


def test_counts_are_told_at_the_end(in_a_pipe: tuple[int, list[str], str], outcomes: dict[str, Outcome]) -> None:
    told = [
        dict(line.split(": ", 1) for line in text.splitlines())
        for text in (in_a_pipe[2], outcomes["the rest in a pipe"][2])
    ]
    numbers = [int(counts["events"].split()[0]) for counts in told]
    # A micro-batch that was given up is read again by the next start.
    assert sum(numbers) == FILES * 10
    assert [counts["late"] for counts in told] == ["0 dropped"] * 2
    assert told[1]["watermark"] == "2024-01-01 00:02:27.500000"


def test_a_folder_of_csv_to_a_folder_of_json(folder: Folder, outcomes: dict[str, Outcome]) -> None:
    code, out, errors = outcomes["csv"]
    assert (code, out) == (0, ""), errors
    lines = [line for file in (folder.path / "rows.json").glob("*.json") for line in file.read_text().splitlines()]
    found = Counter((row["window_start"][:19], row["k"], row["number"]) for row in map(json.loads, lines))
    expected = expected_rows()
    assert found == Counter((f"{row['window_start']:%Y-%m-%dT%H:%M:%S}", row["k"], row["number"]) for row in expected)
    assert f"rows: {len(expected)}" in errors


def test_early_rows_and_lines_that_cannot_be_read(outcomes: dict[str, Outcome]) -> None:
    code, out, errors = outcomes["lines"]
    assert code == 0, errors
    expected = trendweave.query(QUERY).run(events_of(0)).to_pylist()
    assert Counter(out.splitlines(keepends=True)) == as_counter(expected)
    assert "dropped: 1 rows without a time, 0 without a type, 2 that cannot be read" in errors


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("another query", "TW311: the checkpoint was made for another query"),
        ("other buckets", "TW311: the checkpoint was made with 3 buckets, not 5"),
        ("no window", "TW409: a stream has no end"),
        ("no folder", "TW308: nowhere cannot be read: there is no such folder"),
        ("no files", "TW308: the columns cannot be taken from nothing"),
        ("no schema", "TW308: the schema cannot be read"),
        ("no column", "TW301: unknown column"),
        ("no connector", "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:"),
        ("no connector to write", "--packages org.apache.spark:spark-sql-kafka-0-10_2.13:"),
    ],
)
def test_what_goes_wrong_is_told_shortly(outcomes: dict[str, Outcome], name: str, said: str) -> None:
    code, out, errors = outcomes[name]
    assert (code, out) == (1, ""), errors
    assert said in errors
    assert "hint: " in errors
    assert "Traceback" not in errors
    assert "\tat " not in errors
    assert len(errors) < 3_000
