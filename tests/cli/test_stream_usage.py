"""`trendweave stream`: which options go together. Nothing here starts Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trendweave.cli.commands import app

FILES = ("--from", "files", "--events", "events", "--checkpoint", "checkpoint")
KAFKA = ("--from", "kafka", "--servers", "h:1", "--topic", "t", "--schema", "time long", "--checkpoint", "checkpoint")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--from"),
        (["--from", "files", "--events", "events"], "--checkpoint"),
        (["--from", "files", "--checkpoint", "c"], "--events: --from files needs it"),
        (["--from", "kafka", "--checkpoint", "c"], "--servers: --from kafka needs it"),
        ([*KAFKA[:-4], "--checkpoint", "c"], "--schema: --from kafka needs it"),
        ([*KAFKA, "--events", "events"], "--events: has no meaning with --from kafka --to console"),
        ([*FILES, "--topic", "t"], "--topic: has no meaning with --from files --to console"),
        ([*FILES, "--servers", "h:1"], "--servers: has no meaning with --from files --to console"),
        ([*FILES, "--format", "csv"], "--schema: a stream of csv files needs it"),
        ([*FILES, "--format", "xml"], "--format"),
        ([*FILES, "--to", "files"], "--out: --to files needs it"),
        ([*FILES, "--out", "rows"], "--out: has no meaning with --from files --to console"),
        ([*FILES, "--to", "files", "--out", "rows", "--early"], "--early: has no meaning"),
        ([*FILES, "--out-key", "k"], "--out-key: has no meaning with --from files --to console"),
        ([*FILES, "--to", "kafka", "--servers", "h:1"], "--out-topic: --to kafka needs it"),
        ([*FILES, "--trigger", "1 s", "--available-now"], "--trigger: has no meaning with --available-now"),
        ([*FILES, "--trigger", "often"], "--trigger: 'often' is not a duration"),
        ([*FILES, "--trigger", "0 s"], "must be larger than zero"),
        ([*FILES, "--buckets", "0"], "--buckets"),
        ([*FILES, "--master", "here"], "--master: a master is local"),
        ([*FILES, "--conf", "x"], "--conf: 'x' is not of the form KEY=VALUE"),
        ([*FILES, "--read-option", "x"], "--read-option: 'x' is not of the form KEY=VALUE"),
    ],
)
def test_wrong_usage(tmp_path: Path, options: list[str], said: str) -> None:
    query = tmp_path / "query.tw"
    query.write_text("RETURN COUNT(*) PATTERN A WITHIN 10 s SLIDE 10 s")

    result = CliRunner().invoke(app, ["stream", str(query), *options], env={"COLUMNS": "200"})

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.replace("│", " ").replace("'--", "--").replace("':", ":").split())


def test_a_wrong_query_is_told_before_spark_starts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trendweave", "stream", "-", *FILES]
    done = subprocess.run(
        command, input="RETURN COUNT(*) PATTERN", capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("language error\nTW101")
