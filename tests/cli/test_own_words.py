"""Hints of the command line name its options, not arguments of Python."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

from tests.cli.command import trendweave
from trendweave.cli.files import write_table
from trendweave.cli.own_words import show_warnings, translate


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ('ask for numbers="text"', "ask for --numbers text"),
        ('ask for numbers="decimal" or "text"', "ask for --numbers decimal or text"),
        ("use device='threads', or fewer events at a time", "use --device threads, or fewer events at a time"),
        ("name it with type=, or type=None where", "name it with --type, or --type '' where"),
        ('or give watermark="10 seconds"', "or give --watermark '10 seconds'"),
        ("set buckets=4, or use a new checkpoint", "set --buckets 4, or use a new checkpoint"),
        ("max_trends is 5; max_trends= allows more", "--max-trends is 5; --max-trends allows more"),
        ('write between=("2024-01-01", "2024-02-01")', "write --between 2024-01-01 2024-02-01"),
        ('chunks="2 hours" is too short', "--conf spark.trendweave.chunks='2 hours' is too short"),
        ("S.time=3 and x=4, the time is up", "S.time=3 and x=4, the time is up"),
        ("(or spark.trendweave.buckets=4)", "(or spark.trendweave.buckets=4)"),
        ("read the file: trendweave.query(Path('a.tw').read_text())", "leave -q out: trendweave reads the file itself"),
        ("give events: explain(loop=True, events=...)", "name a file of events with --schema"),
        ("give early=True, or leave it out", "give --early, or leave it out"),
        (
            'name it with time="made at", the one column of timestamps',
            "name it with --time 'made at', the one column of timestamps",
        ),
    ],
)
def test_arguments_become_options(python: str, command: str) -> None:
    assert translate(python) == command


@pytest.mark.parametrize(
    ("query", "options", "said"),
    [
        ("RETURN COUNT(*) PATTERN A+", ("--time", "when"), "  hint: name it with --time\n"),
        (
            "RETURN COUNT(*) PATTERN A+",
            ("--numbers", "int64"),
            "  hint: ask for --numbers decimal or text or log2\n",
        ),
        ("RETURN TRENDS PATTERN A+", ("--max-trends", "7"), "trends to show; --max-trends is 7\n"),
        ("RETURN COUNT(*) PATTERN A+", ("--time", "timee"), "  hint: did you mean --time time?\n"),
        ("RETURN COUNT(*) PATTERN A+", ("--type", "typ"), "  hint: did you mean --type type?\n"),
        ("RETURN COUNT(*) PATTERN A+", ("--type", "my kin"), "  hint: did you mean --type 'my kind'?\n"),
        ("RETURN SUM(a.y) PATTERN A a WHERE a.tme > 1", (), "  hint: did you mean time?\n"),
    ],
)
def test_errors_of_a_run(query: str, options: tuple[str, ...], said: str, tmp_path: Path) -> None:
    columns = {"time": list(range(70)), "type": ["A"] * 70, "my kind": ["A"] * 70, "y": [1] * 70}
    write_table(pa.table(columns), tmp_path / "events.parquet")
    events = ("--events", str(tmp_path / "events.parquet"), "--runner", "local")
    result = trendweave("run", "-q", query, *events, *options)
    assert result.returncode == 1
    assert said in result.stderr


def test_warnings_of_a_run(tmp_path: Path) -> None:
    write_table(pa.table({"time": [1_700_000_000_000], "type": ["A"]}), tmp_path / "events.parquet")
    events = ("--events", str(tmp_path / "events.parquet"), "--runner", "local")
    result = trendweave("run", "-q", "RETURN COUNT(*) PATTERN A+", *events)
    assert result.returncode == 0
    assert "give --time-unit ms if they are milliseconds" in " ".join(result.stderr.split())


def test_others_hear_warnings_in_words_of_python(capsys: pytest.CaptureFixture[str]) -> None:
    heard = list[str]()
    listener = logging.Handler()
    listener.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("trendweave")
    before = logger.handlers[:]
    try:
        show_warnings()
        show_warnings()
        logger.addHandler(listener)
        logger.warning("give time_unit=%r", "ms")
    finally:
        logger.handlers[:] = before
    assert heard == ["give time_unit='ms'"]
    assert capsys.readouterr().err.count("--time-unit ms") == 1
