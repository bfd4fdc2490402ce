"""The parser's tables are kept between processes, and made anew where they cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark

from trendweave.kernel_cache import files
from trendweave.language import parser

TEXT = "RETURN COUNT(*) PATTERN Stock S+ WITHIN 10 seconds SLIDE 5 seconds"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    return tmp_path / "kernels"


def make_parser() -> Lark:
    """As a new process would."""
    return parser._grammar.__wrapped__("trends")


def test_the_second_of_two_processes_makes_no_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = make_parser().parse(TEXT)
    (path,) = folder.iterdir()
    monkeypatch.setattr(Lark, "save", lambda *given: pytest.fail("tables are made again"))
    assert make_parser().parse(TEXT) == first
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"no pickle"])
def test_tables_that_cannot_be_read_are_made_anew(folder: Path, content: bytes) -> None:
    first = make_parser().parse(TEXT)
    (path,) = folder.iterdir()
    parser.write_kept(path.name, content)
    assert make_parser().parse(TEXT) == first
    assert make_parser().parse(TEXT) == first


def test_a_parser_needs_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "read_kept", lambda *given: None)
    monkeypatch.setattr(parser, "write_kept", lambda *given: None)
    assert make_parser().parse(TEXT).data == "trend_query"
