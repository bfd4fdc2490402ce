"""The documentation site: its pages, links, diagrams and API; and that it is built without a warning."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

MISSING = [name for name in ("griffe", "railroad", "zensical") if importlib.util.find_spec(name) is None]
with_extra = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; pip install '.[docs]'")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tools.site.gathering import gather

    folder = tmp_path_factory.mktemp("site") / "docs"
    gather(folder)
    return folder


def test_every_page_is_in_the_navigation() -> None:
    from tools.site.places import MODULES, find_pages, place_of_api

    config = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = re.findall(r"[\w/]+\.md", str(config["project"]["nav"]))
    assert sorted(listed) == sorted(map(str, [*find_pages().values(), *map(place_of_api, MODULES)]))


def test_a_notebook_becomes_a_page() -> None:
    from tools.site.notebook_pages import write_notebook

    shown = {"output_type": "display_data", "data": {"text/plain": ["a table"], "text/html": ["<b>a</b>\n\n<i>b</i>"]}}
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["7\n"]}, shown]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "print(7)", "outputs": outputs},
        {"cell_type": "code", "source": "", "outputs": []},
    ]
    assert write_notebook(json.dumps({"cells": cells})) == (
        "# Title\nwords\n\n```python\nprint(7)\n```\n\n```text\n7\n```\n\n"
        '<div class="notebook-output"><b>a</b>\n<i>b</i></div>\n'
    )


@with_extra
def test_it_is_built_without_a_warning_and_asks_no_other_server(pages: Path) -> None:
    from tools.site.finishing import finish

    config = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    place = pages.parent / "zensical.toml"
    place.write_text(config.replace('"build/docs"', '"docs"').replace('"build/site"', '"site"'), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=pages.parent, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = pages.parent / "site"
    shown = (site / "grammar.html").read_text(encoding="utf-8")
    assert shown.count('<svg class="railroad-diagram"') > 60
    finish(site)
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"?https?:[^\"' >]+", text) == [], page.name
        (script,) = re.findall(r'<script src="([^"]*worker_from_disk\.js)"', text)
        assert (page.parent / script).is_file(), "search works on pages that are opened from the disk"


def test_pages_that_ask_another_server_are_refused(tmp_path: Path) -> None:
    from tools.site.finishing import finish

    page = tmp_path / "a.html"
    page.write_text('<a href="https://x.org">read</a><link rel="next" href="b.html">', encoding="utf-8")
    finish(tmp_path)
    for asks in ('<img alt="x" src="https://x.org/a.png">', "<script src=//x.org/a.js></script>"):
        page.write_text(asks, encoding="utf-8")
        with pytest.raises(ValueError, match=r"a\.html loads something from another server: <(img|script)"):
            finish(tmp_path)


def test_results_of_benchmarks_are_drawn() -> None:
    from tools.site.benchmark_pictures import PICTURES, make_bars, read_figures

    text = "<!-- begin greta-q1 -->\n## greta-q1\n| name | metric | value | unit |\n| --- | --- | --- | --- |\n"
    text += (
        "| one | rate | 1,234.5 | M events/s | at least 5 |\n| two | rate | 7 | M events/s |\n<!-- end greta-q1 -->\n"
    )
    figures = list(read_figures(text))
    assert [(one.section, one.name, one.value) for one in figures] == [
        ("greta-q1", "one", 1234.5),
        ("greta-q1", "two", 7.0),
    ]
    assert make_bars("rates", text).svg().count("greta-q1  1,234.5</title>") == 1
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    for name in PICTURES:
        assert make_bars(name, results).svg().count("</title></rect>") >= 3


@with_extra
def test_links_of_other_places_are_those_of_the_site(tmp_path: Path) -> None:
    from tools.site.gathering import rewrite

    pages = {Path("README.md"): Path("index.md"), Path("docs/cli.md"): Path("cli.md")}
    pages |= {Path("examples/cookbook/README.md"): Path("cookbook/index.md")}
    links = "[a](docs/cli.md#run) [b](examples/cookbook/README.md) [c](LICENSE) [d](https://x.org)"
    text = f"{links}\n```python spark\n[a](b)\n```\n"
    assert rewrite(text, Path("README.md"), pages, tmp_path) == (
        "[a](cli.md#run) [b](cookbook/index.md) c [d](https://x.org)\n```python\n[a](b)\n```\n"
    )
    back = rewrite("[a](../../README.md)", Path("examples/cookbook/README.md"), pages, tmp_path)
    assert back == "[a](../index.md)"


@with_extra
def test_every_public_name_has_its_section(pages: Path) -> None:
    import trendweave

    api = (pages / "api" / "trendweave.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^## (\w+)$", api, re.MULTILINE)) == set(trendweave.__all__)
    assert "### Query.run" in api
    assert "- `events`: " in api


@with_extra
def test_diagrams_say_what_the_grammar_reads(pages: Path) -> None:
    from tools.site.railroad_diagrams import KINDS, SPELLINGS, draw_grammar

    drawn = [diagram for name in ("grammar.lark", "intervals.lark") for diagram in draw_grammar(name)]
    rules = [diagram.rule for diagram in drawn]
    assert len(set(rules)) == len(rules)
    assert {link for diagram in drawn for link in re.findall(r'href="#(\w+)"', diagram.svg)} <= set(rules)
    terminals = dict(
        re.findall(r"^(_?[A-Z_]+)(?:\.\d)?: /(.*?)/i?(?= |$)", _grammar_texts(), re.MULTILINE),
    )
    for name, pattern in terminals.items():
        for spelling in () if name in KINDS else SPELLINGS.get(name, (name.replace("_", " "),)):
            # What must follow is no part of the word.
            word = re.sub(r"\(\?[=!].*", "", pattern)
            assert re.fullmatch(word, spelling, re.IGNORECASE), f"{name} is drawn as {spelling}"


def _grammar_texts() -> str:
    folder = ROOT / "src" / "trendweave" / "language"
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.lark")))
