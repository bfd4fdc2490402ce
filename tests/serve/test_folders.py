"""No name, however it is written, leads out of the served folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trendweave.serve.asking import Refused
from trendweave.serve.folders import find_file, list_files, read_queries


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with some files, and secrets beside it."""
    served = tmp_path / "served"
    (served / "deep").mkdir(parents=True)
    (served / "_notes").mkdir()
    for name in ("a.csv", "deep/b.parquet", "notes.txt", ".hidden.csv", "_notes/c.csv"):
        (served / name).write_text("x")
    (tmp_path / "secret.csv").write_text("x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.csv").write_text("x")
    (served / "link.csv").symlink_to(tmp_path / "secret.csv")
    (served / "text.csv").symlink_to(served / "notes.txt")
    (served / "away").symlink_to(tmp_path / "elsewhere")
    Path(os.fsdecode(os.fsencode(served) + b"/\xff.csv")).write_text("x")
    (served / "circle.csv").symlink_to(served / "circle.csv")
    (served / "inside.csv").symlink_to(served / "a.csv")
    return served


def test_files_of_events_are_listed(folder: Path) -> None:
    assert list_files(folder) == ["a.csv", "deep/b.parquet", "inside.csv"]
    assert list_files(None) == []


@pytest.mark.parametrize(
    ("name", "found"), [("a.csv", "a.csv"), ("deep/b.parquet", "deep/b.parquet"), ("inside.csv", "a.csv")]
)
def test_files_are_found(folder: Path, name: str, found: str) -> None:
    assert find_file(folder, name) == folder / found


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../secret.csv",
            "deep/../../secret.csv",
            "/etc/passwd",
            "",
            ".",
            "deep",
            "notes.txt",
            "a.csv\0.csv",
            "none.csv",
        ),
        *("link.csv", "away/secret.csv", "circle.csv", "text.csv", ".hidden.csv", "_notes/c.csv", "a.csv/x.csv"),
        *("..\\secret.csv", "%2e%2e/secret.csv", "file:///etc/passwd", "~/secret.csv", "x" * 5_000 + ".csv"),
    ],
)
def test_others_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(Refused, match="there is no file"):
        find_file(folder, name)
    with pytest.raises(Refused):
        find_file(folder, str(folder.parent / "secret.csv"))


def test_queries_are_read_with_their_texts(folder: Path) -> None:
    (folder / "deep" / "falling.tw").write_text("RETURN COUNT(*)")
    (folder / "long.tw").write_text("x" * 30_000)
    (folder / "odd.tw").write_bytes(b"\xff")
    (folder / "note.tw").symlink_to(folder / "notes.txt")
    (folder.parent / "secret.tw").write_text("secret")
    (folder / "out.tw").symlink_to(folder.parent / "secret.tw")

    assert read_queries(folder) == [{"name": "deep/falling", "text": "RETURN COUNT(*)"}]
    assert read_queries(None) == []


def test_without_a_folder_there_is_no_file() -> None:
    with pytest.raises(Refused):
        find_file(None, "a.csv")
