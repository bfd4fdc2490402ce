"""The command line: what it prints, where, and its exit codes."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.command import trendweave, trendweave_process

GOOD = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price > NEXT(S).price WITHIN 1 minute SLIDE 10 s"


@pytest.fixture
def query_file(tmp_path: Path) -> Path:
    path = tmp_path / "query.tw"
    path.write_text(GOOD, encoding="utf-8")
    return path


def test_check_a_file_and_standard_input(query_file: Path) -> None:
    for result in (trendweave("check", str(query_file)), trendweave_process("check", "-", text=GOOD)):
        assert (result.returncode, result.stdout, result.stderr) == (0, "ok\n", "")


def test_check_a_query_of_the_command_itself() -> None:
    for option in ("-q", "--query"):
        assert trendweave("check", option, GOOD).stdout == "ok\n"
    assert "PATTERN Stock S+" in trendweave("explain", "-q", GOOD).stdout
    assert "TW101" in trendweave("check", "-q", "").stderr


def test_the_version() -> None:
    result = trendweave("--version")
    assert (result.returncode, result.stdout) == (0, f"trendweave {version('trendweave')}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Typer writes a script for the shell, which asks the command itself."""
    monkeypatch.setenv("_TRENDWEAVE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", "trendweave ex")
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "trendweave ex")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    result = trendweave()
    assert result.returncode == 0
    assert "explain" in result.stdout
    assert "stream" not in result.stdout


def test_a_wrong_query_is_told_on_stderr() -> None:
    result = trendweave("check", "-", text="RETURN COUNT(*) PATTERN Stock S+ WHERE [x] AND T.price[1] > 5")
    assert (result.returncode, result.stdout) == (1, "")
    result = trendweave("explain", "-", text="RETURN COUNT(*) PATTERN Stock S+ WHERE [x] AND T.price > 5")
    assert result.returncode == 1
    assert result.stderr == (
        "planning error\n"
        "TW201: unknown variable T (line 1, column 48)\n"
        "    RETURN COUNT(*) PATTERN Stock S+ WHERE [x] AND T.price > 5\n"
        "                                                   ^^^^^^^\n"
        "  hint: the pattern has S\n"
    )


def test_check_against_the_columns_of_a_file(query_file: Path, tmp_path: Path) -> None:
    table = pa.table({"ts": [1.0], "kind": ["Stock"], "prise": [1.0]})
    pq.write_table(table, tmp_path / "events.parquet")
    with pa.OSFile(str(tmp_path / "events.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for name in ("events.parquet", "events.arrow"):
        schema = str(tmp_path / name)
        result = trendweave("check", str(query_file), "--schema", schema, "--time", "ts", "--type", "kind")
        assert result.returncode == 1
        assert "TW301: unknown column price" in result.stderr
        assert "did you mean prise?" in result.stderr
    assert "TW308" in trendweave("check", str(query_file), "--schema", str(query_file)).stderr


@pytest.mark.parametrize(
    ("format", "beginning"),
    [("text", "query\n  RETURN COUNT(*)"), ("mermaid", "flowchart LR"), ("dot", "digraph"), ("json", "{\n")],
)
def test_explain(query_file: Path, format: str, beginning: str) -> None:
    result = trendweave("explain", str(query_file), "--format", format)
    assert result.returncode == 0
    assert result.stdout.startswith(beginning)


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "query.tw", "-q", GOOD],
        ["check", "no such file"],
        ["wibble"],
        ["explain", "-", "--format", "png"],
        ["explain", "-q", GOOD, "--loop", "--format", "json"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = trendweave(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr


def test_a_query_is_given_once() -> None:
    result = trendweave("run", "-q", GOOD, "events.csv")
    assert "events.csv is read as a file with the query, and -q gives one" in " ".join(result.stderr.split())


def test_check_finds_windows_that_a_run_refuses(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("time,type\n1,A\n2,A\n")
    query = ("-q", "RETURN COUNT(*) PATTERN A a+ WITHIN 500 ms SLIDE 500 ms")
    checked = trendweave("check", *query, "--schema", str(tmp_path / "e.csv"))
    run = trendweave("run", *query, "--events", str(tmp_path / "e.csv"), "--runner", "local")
    assert (checked.returncode, run.returncode) == (1, 1)
    assert "TW309: WITHIN 500 milliseconds is finer than the time column, which counts seconds" in checked.stderr
    assert checked.stderr == run.stderr
