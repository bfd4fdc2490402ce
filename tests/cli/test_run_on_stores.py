"""`trendweave run --store` and `explain --store`."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from trendweave import EventStore
from trendweave.cli.commands import app

EVENTS = pa.table(
    {
        "time": pa.array([1, 2, 3, 50, 51, 90, 91], pa.int64()),
        "type": ["A", "B", "A", "A", "B", "A", "B"],
        "x": [1, 5, 9, 2, 7, 8, 8],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "query.tw").write_text(
        "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE a.x > 1 WITHIN 10 s SLIDE 10 s", encoding="utf-8"
    )
    (tmp_path / "plain").mkdir()
    pq.write_table(EVENTS, tmp_path / "plain" / "events.parquet", row_group_size=2)
    made = EventStore.create(tmp_path / "made", EVENTS.schema, type="type", index=["x"])
    made.append(EVENTS)
    return tmp_path


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("store", ["plain", "made"])
@pytest.mark.parametrize("using", ["auto", "index", "replay"])
def test_rows_of_a_store(folder: Path, store: str, using: str) -> None:
    asked = ("run", str(folder / "query.tw"), "--store", str(folder / store), "--runner", "local")
    result = call(*asked, "--using", using, "--numbers", "int64")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ['"window_start","window_end","count"', "50,60,1", "90,100,1"]
    part = call(*asked, "--using", using, "--numbers", "int64", "--between", "0", "91")
    assert part.stdout.splitlines()[1:] == ["50,60,1"]


def test_the_column_of_types_is_found_or_named(folder: Path) -> None:
    """As on files: `type` where it is there, another where it is named, and none where that is said."""
    pq.write_table(EVENTS.rename_columns(["time", "kind", "x"]), folder / "kinds.parquet")
    asked = ("run", "-q", "RETURN COUNT(*) PATTERN A a", "--runner", "local", "--numbers", "int64")
    for name, like in (("typed", "plain/events.parquet"), ("kinds", "kinds.parquet")):
        assert call("store", "create", str(folder / name), "--like", str(folder / like)).exit_code == 0
        assert call("store", "append", str(folder / name), "--events", str(folder / like)).exit_code == 0

    def count(store: str, *options: str) -> str:
        result = call(*asked, "--store", str(folder / store), *options)
        return result.stdout.splitlines()[-1].split(",")[-1] if result.exit_code == 0 else str(result.exception)

    assert [count("typed"), count("plain"), count("typed", "--type", "type")] == ["4", "4", "4"]
    assert [count("typed", "--type", ""), count("plain", "--type", ""), count("kinds")] == ["7", "7", "7"]
    assert count("kinds", "--type", "kind") == "4"
    assert "column knd" in count("kinds", "--type", "knd")
    assert "column knd" in count("plain", "--type", "knd")


def test_what_is_read_is_explained(folder: Path) -> None:
    result = call("explain", str(folder / "query.tw"), "--store", str(folder / "made"))
    assert result.exit_code == 0
    assert "every trend  a, b" in result.stdout or "so little is stored" in result.stdout
    assert "row groups" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give either --events or --store"),
        (("--events", "x.parquet", "--store", "s"), "give either --events or --store"),
        (("--events", "x.parquet", "--using", "index"), "--between and --using are for --store"),
        (("--store", "plain", "--between", "soon", "later"), "no number of seconds"),
    ],
)
def test_wrong_usage(folder: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str) -> None:
    monkeypatch.chdir(folder)
    result = call("run", "query.tw", "--runner", "local", *options)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
