"""Pages of the repository as pages of the site: where each goes, and links between them as the site has them.

A page may hold a marker on a line of its own, and the site has something in its place that is made for it:
`<!-- diagrams: grammar.lark -->` the diagrams of a grammar, `<!-- api -->` the list of pages of the API,
`<!-- bars: rates -->` a picture of the results of benchmarks.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tools.site.api_pages import ApiPage, write_api_pages
from tools.site.benchmark_pictures import write_bars
from tools.site.notebook_pages import write_notebook
from tools.site.notebook_running import run_notebook
from tools.site.places import ROOT, find_pages
from tools.site.railroad_diagrams import draw_grammar

_BLOCK = re.compile(r"^( *)```.*?^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<path>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")
_MARKER = re.compile(r"^<!-- (?P<kind>diagrams|api|bars)(?:: (?P<what>\S+))? -->$", re.MULTILINE)
_PICTURES = (".svg", ".png")


def gather(into: Path, run_notebooks: bool = False) -> None:
    """Write the pages of the site, and the pictures that they show, into a folder, which is made anew.

    Args:
        into: The folder.
        run_notebooks: Whether notebooks are run, which takes some seconds each; their pages then show what they give.
    """
    shutil.rmtree(into, ignore_errors=True)
    pages = find_pages()
    api = write_api_pages()
    for source, place in pages.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if source.suffix == ".ipynb":
            text = write_notebook(run_notebook(text) if run_notebooks else text)
        _write(into / place, _fill_markers(rewrite(text, source, pages, into), api))
    for page in api:
        _write(into / page.place, page.text)
    for folder in ("style", "scripts"):
        shutil.copytree(Path(__file__).parent / folder, into / folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def rewrite(text: str, source: Path, pages: dict[Path, Path], into: Path) -> str:
    """A page as the site has it.

    Links to other pages lead to their place in the site, pictures are copied, and what else lies in the repository is
    named without a link.

    Args:
        text: The page.
        source: Where it is in the repository.
        pages: All pages and their places.
        into: The folder of the site's pages.
    """

    def write_link(found: re.Match[str]) -> str:
        path, anchor = found["path"], found["anchor"] or ""
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        target = Path(os.path.normpath(source.parent / path))
        if target.suffix in _PICTURES:
            shutil.copy(ROOT / target, _make_parent(into / "pictures" / target.name))
            return f"![{found['text']}]({_relative(Path('pictures', target.name), pages[source])})"
        if target not in pages:
            return found["text"]
        return f"[{found['text']}]({_relative(pages[target], pages[source])}{anchor})"

    return _outside_blocks(lambda part: _LINK.sub(write_link, part), _simplify_blocks(text))


def _make_parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _relative(target: Path, page: Path) -> str:
    return Path(os.path.relpath(target, page.parent)).as_posix()


def _simplify_blocks(text: str) -> str:
    """Blocks say more than their language, to those who run them."""
    return re.sub(r"^( *```[a-z]+) [a-z ]+$", r"\1", text, flags=re.MULTILINE)


def _outside_blocks(change: Callable[[str], str], text: str) -> str:
    parts, at = [], 0
    for block in _BLOCK.finditer(text):
        parts += [change(text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, change(text[at:])])


def _fill_markers(text: str, api: list[ApiPage]) -> str:
    def fill(found: re.Match[str]) -> str:
        if found["kind"] == "api":
            return "\n".join(f"- [{page.title}]({page.place})" for page in api)
        if found["kind"] == "bars":
            return write_bars(found["what"])
        return "\n\n".join(
            f'<h3 id="{drawn.rule}">{drawn.rule.replace("_", " ")}</h3>\n\n<div class="railroad">{drawn.svg}</div>'
            for drawn in draw_grammar(found["what"])
        )

    return _MARKER.sub(fill, text)
