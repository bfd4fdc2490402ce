"""What the documentation shows is what happens: its Python snippets are run, and so are the examples in docstrings."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path

import pytest

from trendweave.errors import CODES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPET = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_run_and_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snippets of a page run one after the other, in one namespace; a text block after one is what it prints."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code, shown in SNIPPET.findall(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), names)
        if shown:
            assert printed.getvalue().rstrip() == shown.rstrip()


def test_the_readme_has_snippets() -> None:
    assert len(SNIPPET.findall((ROOT / "README.md").read_text(encoding="utf-8"))) >= 2


@pytest.mark.parametrize("module", ["trendweave", "trendweave.build", "trendweave.build.intervals"])
def test_docstrings(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_every_code_is_documented() -> None:
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (TW\d+) \| (.*?) \|", page, re.MULTILINE))
    assert listed == CODES


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
