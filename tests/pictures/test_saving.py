"""Pictures as SVG, pages and PNG, on light and on dark paper."""

from __future__ import annotations

import builtins
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from trendweave.errors import DataError, OptionError
from trendweave.pictures.picture import Picture, stack

SQUARE = Picture(
    "a <square>", 100, 50, ('<rect width="40" height="40" fill="#0f7fc4"/><text y="45">word</text>',), "why"
)


def test_themes() -> None:
    """A fixed theme names colours, so that every reader of SVG knows them; the other one follows its reader."""
    assert "var(" not in SQUARE.svg("light")
    assert "#ffffff" in SQUARE.svg("light")
    assert "#16191d" in SQUARE.svg("dark")
    assert "prefers-color-scheme: dark" in SQUARE.svg()
    inside = SQUARE._repr_html_()
    assert "currentColor" in inside, "the letters of a page are seen on its paper"
    assert "prefers-color-scheme" not in inside, "a light page may be read on a dark system"
    assert 'class="paper" width' not in SQUARE._repr_html_()
    with pytest.raises(OptionError, match="theme is one of auto, light, dark, not red"):
        SQUARE.svg("red")  # type: ignore[arg-type]


def test_rules_touch_nothing_else() -> None:
    """Every rule in a picture is about pictures alone, as notebooks have many things on one page."""
    style = re.findall(r"<style>(.*?)</style>", SQUARE._repr_html_(), re.DOTALL)[0]
    selectors = re.findall(r"([^{}]+)\{", style)
    assert len(selectors) > 10
    assert all(one.strip().startswith((".tw-picture", "@media")) for one in selectors)


def test_files(tmp_path: Path) -> None:
    drawn = ElementTree.parse(SQUARE.save(tmp_path / "a.svg")).getroot()
    assert drawn.get("viewBox") == "0 0 100 50"
    page = SQUARE.save(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "<title>a &lt;square&gt;</title>" in page
    assert "<pre>why</pre>" in page
    noted = Picture("a", 10, 10, (), "RETURN COUNT(*) PATTERN A WHERE A.x < 5").html()
    assert re.search(r"<pre><span[^>]*>RETURN</span>.*A\.x &lt; <span", noted), "queries are in colours"
    with pytest.raises(OptionError, match=r"a\.gif is not a file name for a picture(.|\n)*\.svg, \.html, \.png"):
        SQUARE.save(tmp_path / "a.gif")
    with pytest.raises(DataError, match=r"a\.svg cannot be written"):
        SQUARE.save(tmp_path / "none" / "a.svg")


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="PNG needs resvg_py")
    pixels = SQUARE.save(tmp_path / "a.png", scale=3).read_bytes()
    assert pixels.startswith(b"\x89PNG")
    assert (int.from_bytes(pixels[16:20]), int.from_bytes(pixels[20:24])) == (300, 150)
    assert SQUARE.png(theme="dark") != SQUARE.png(theme="light")
    with pytest.raises(OptionError, match="scale is above 0"):
        SQUARE.png(scale=0)


def test_png_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "resvg_py":
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.delitem(sys.modules, "resvg_py", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(OptionError, match=r"pip install 'trendweave\[pictures\]'"):
        SQUARE.png()


def test_png_without_fonts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resvg = pytest.importorskip("resvg_py", reason="PNG needs resvg_py")
    draw = resvg.svg_to_bytes
    monkeypatch.setattr(resvg, "svg_to_bytes", lambda **options: draw(**options, skip_system_fonts=True))
    with pytest.raises(OptionError, match="no fonts"):
        SQUARE.png()


def test_pictures_below_each_other() -> None:
    both = stack([SQUARE, SQUARE], "two")
    assert both.width == 100
    assert both.height > 100
    assert len(list(ElementTree.fromstring(both.svg()).iter("{http://www.w3.org/2000/svg}rect"))) == 3


def test_wide_pictures_are_moved_instead_of_being_too_small() -> None:
    wide = Picture("wide", 1000, 50, ())
    assert "min-width: 680px" in wide._repr_html_()
    assert "min-width: 100px" in SQUARE._repr_html_()
