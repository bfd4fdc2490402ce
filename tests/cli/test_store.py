"""`trendweave store ...`, called in this process; one call as a program shows that it is there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from tests.cli.test_cli import trendweave
from trendweave.cli.commands import app

QUOTES = pa.table({"time": [3.0, 1.0, 2.0, 14.0], "company": ["a", "b", "a", "b"], "price": [1.0, 2.0, 3.0, 4.0]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pq.write_table(QUOTES, tmp_path / "quotes.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["store", *arguments])


def test_a_store_from_first_to_last(folder: Path) -> None:
    assert (
        call("create", "store", "--like", "quotes.parquet", "--key", "company", "--index", "price").output
        == "created\n"
    )
    for _ in range(2):
        assert call("append", "store", "--events", "quotes.parquet").stdout == "4 rows were added\n"
    assert "8 rows in" in call("describe", "store").stdout
    asked = ("aggregate", "store", "COUNT(*), SUM(price)", "--within", "10 s", "--slide", "10 s")
    expected = '"window_start","window_end","count","sum_price"\n0,10,6,12\n10,20,2,8\n'
    for using in ("auto", "index", "replay"):
        assert call(*asked, "--using", using).stdout == expected
    assert call(*asked, "--from", "2", "--to", "10").stdout.splitlines()[1:] == ["0,10,4,8"]
    assert call(*asked, "--explain").stdout.startswith("index: ")
    assert call(*asked, "--out", "result.parquet").stdout == ""
    assert pq.read_table("result.parquet").column("count").to_pylist() == [6, 2]
    assert "files were replaced; there are" in call("compact", "store").stdout
    assert "files were removed" in call("vacuum", "store", "--older-than", "0 s").stdout
    assert "entries by price" in call("index", "store").stdout
    assert "are intact" in call("verify", "store", "--deep").stdout
    assert call("calibrate", "store").stdout.startswith("nanoseconds: ")


def test_a_folder_of_somebody_else(folder: Path) -> None:
    assert "light index: 1 of 1 files" in call("index", ".", "--column", "price").stdout
    next((folder / "_trendweave").rglob("*.light.twx")).write_bytes(b"broken")

    found = call("verify", ".")

    assert "it is too short" in str(found.exception)
    assert call("aggregate", ".", "MAX(price)").stdout.splitlines()[1:] == [",,4"]


def test_as_a_program(folder: Path) -> None:
    found = trendweave("store", "aggregate", str(folder / "nothing"), "COUNT(*)")

    assert (found.returncode, found.stdout) == (1, "")
    assert "TW331: there is no Parquet file in" in found.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("store", "append", "quotes.parquet", "--events", "quotes.parquet"),
        ("store", "describe", "quotes.parquet"),
        ("store", "create", "quotes.parquet", "--like", "quotes.parquet"),
        ("run", "-q", "PATTERN A+", "--store", "quotes.parquet", "--runner", "local"),
    ],
)
def test_a_file_is_no_store(folder: Path, arguments: tuple[str, ...]) -> None:
    result = trendweave(*arguments)
    assert result.returncode == 1
    assert "TW331: quotes.parquet is a file, and a store is a folder\n" in result.stderr
    assert "hint: give the folder of the store; --events of trendweave run reads a file\n" in result.stderr


def test_a_store_that_is_there_is_told_in_words_of_the_command(folder: Path) -> None:
    for _ in range(2):
        result = trendweave("store", "create", "store", "--like", "quotes.parquet")
    assert "TW333: store has files already\n" in result.stderr
    assert "hint: add events with trendweave store append, or use another path\n" in result.stderr
