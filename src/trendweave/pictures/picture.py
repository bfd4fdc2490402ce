"""A picture: shapes in one style, to be looked at in a notebook, or written as SVG, as a page, or as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trendweave.errors import DataError, OptionError, Problem
from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.letters import fit, measure
from trendweave.pictures.style import FONT, HEADING, THEMES, ThemeName, write_style
from trendweave.pictures.texts import quote

ENDINGS = (".svg", ".html", ".png")
_BETWEEN = 18
#: A picture inside of a page is not made smaller than this.
_LEAST_WIDTH, _LEAST_SCALE = 420.0, 0.68


@dataclass(frozen=True, slots=True, repr=False)
class Picture:
    """What `trendweave.plot` gives. A notebook shows it; `save` writes it.

    Attributes:
        title: What it shows, in a few words.
        width: Its width in its own units.
        height: Its height.
        parts: Elements of SVG.
        note: What stands below it on a page, such as the query.
    """

    title: str
    width: float
    height: float
    parts: tuple[str, ...]
    note: str = ""

    def svg(self, theme: ThemeName = "auto") -> str:
        """The picture as the text of an SVG file, which needs nothing from elsewhere.

        Args:
            theme: "light", "dark", or "auto": as the reader's system is set.
        """
        _check_theme(theme)
        return self._write(theme, alone=True)

    def html(self, theme: ThemeName = "auto") -> str:
        """The picture as a page with its note, which needs nothing from elsewhere.

        Args:
            theme: As for `svg`.
        """
        return write_page(self.title, [self], note=self.note, theme=theme)

    def png(self, scale: float = 2.0, theme: ThemeName = "light") -> bytes:
        """The picture as a PNG image. It needs the package resvg_py: `pip install 'trendweave[pictures]'`.

        Args:
            scale: Pixels per unit; 2 suits screens of many pixels.
            theme: "light" or "dark"; an image cannot follow its reader, so "auto" is light.
        """
        from trendweave.pictures.png import draw_pixels

        _check_theme(theme)
        return draw_pixels(self._write("light" if theme == "auto" else theme, alone=True), scale)

    def save(self, path: str | Path, theme: ThemeName = "auto", scale: float = 2.0) -> Path:
        """Write the picture as the ending of the file says: .svg, .html or .png.

        Args:
            path: Where it goes.
            theme: As for `svg` and `png`.
            scale: As for `png`.

        Returns:
            The path.

        Raises:
            OptionError: The ending is another one, or what PNG needs is not installed.
            DataError: The file cannot be written.
        """
        path = Path(path)
        ending = path.suffix.lower()
        if ending not in ENDINGS:
            message = f"{path.name} is not a file name for a picture"
            raise OptionError([Problem("TW408", message, f"let it end with {', '.join(ENDINGS)}")])
        if ending == ".png":
            content = self.png(scale, theme)
        else:
            content = (self.svg(theme) + "\n" if ending == ".svg" else self.html(theme)).encode()
        write_file(path, content)
        return path

    def inline(self, styled: bool = True) -> str:
        """The picture as a part of somebody else's page or notebook, whose colours it takes.

        Args:
            styled: Whether it brings its style; a page may have that once for all of them, by `write_style`.
        """
        return self._write("auto", alone=False, styled=styled)

    def __repr__(self) -> str:
        return f"<Picture {self.title!r}, {self.width:.0f} by {self.height:.0f}: save() writes it>"

    def _repr_html_(self) -> str:
        return scroll(self)

    def _write(self, theme: ThemeName, *, alone: bool, styled: bool = True) -> str:
        size = f"{self.width:g} {self.height:g}"
        root = "<svg"
        if alone:
            root += f' xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}"'
        inside = "\n".join(self.parts)
        size_there = f' style="max-width: {self.width:g}px; width: 100%; height: auto"' if styled else ""
        style = f"<style>{write_style(theme, alone)}</style>\n" if styled else ""
        paper = '<rect class="paper" width="100%" height="100%"/>\n' if alone else ""
        return (
            f'{root} class="tw-picture" viewBox="0 0 {size}" role="img" '
            f'aria-label="{quote(self.title)}"{size_there}>\n{style}{paper}{inside}\n</svg>'
        )


def scroll(picture: Picture) -> str:
    """A picture inside of a page; where it would become too small to be read, it is moved sideways instead."""
    least = min(picture.width, max(_LEAST_WIDTH, _LEAST_SCALE * picture.width))
    return f'<div style="overflow-x: auto"><div style="min-width: {least:.0f}px">{picture.inline()}</div></div>'


def stack(pictures: Sequence[Picture], title: str, note: str = "", heading: str = "", about: str = "") -> Picture:
    """Put pictures below each other into one.

    Args:
        pictures: From top to bottom.
        title: What all of it shows.
        note: What stands below it on a page.
        heading: What is written above the first one.
        about: What has to be known of it, written behind the heading, or below it where there is no room.
    """
    if len(pictures) == 1 and not heading and not about:
        return Picture(title, pictures[0].width, pictures[0].height, pictures[0].parts, note)
    room = max((one.width for one in pictures), default=0) - 48
    parts, y = _write_heading(heading, about, room)
    for one in pictures:
        parts += [f'<g transform="translate(0 {y:g})">', *one.parts, "</g>"]
        y += one.height + _BETWEEN
    width = max((one.width for one in pictures), default=0)
    return Picture(title, width, max(y - _BETWEEN, 0), tuple(parts), note)


def _write_heading(heading: str, about: str, room: float) -> tuple[list[str], float]:
    """Lines above pictures, and where the first picture begins."""
    whole = ": ".join(filter(None, [heading, about]))
    if not whole:
        return [], 0.0
    fits = measure(whole, HEADING, bold=True) <= room
    first = whole if fits else fit(heading or about, room, HEADING, bold=True)
    hint = "" if fits else f"<title>{quote(whole)}</title>"
    parts = [f'<text class="heading" x="24" y="30">{quote(first)}{hint}</text>']
    if fits or not (heading and about):
        return parts, 40.0
    return [*parts, f'<text class="faint" x="24" y="51">{quote(fit(about, room))}</text>'], 60.0


def write_page(
    title: str, pictures: Sequence[Picture], *, above: str = "", note: str = "", theme: ThemeName = "auto"
) -> str:
    """Write pictures as a page that needs nothing from elsewhere.

    Args:
        title: The title of the page.
        pictures: What it shows, from top to bottom.
        above: What stands above them, as HTML.
        note: What stands below them: a query, or other text.
        theme: Light, dark, or as the reader has it.
    """
    drawn = "\n".join(one._write(theme, alone=False) for one in pictures)
    below = f"<pre>{highlight_query(note)}</pre>\n" if note else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{quote(title)}</title>\n'
        f"<style>{_write_page_style(theme)}</style>\n</head>\n<body>\n{above}{drawn}\n{below}</body>\n</html>\n"
    )


def _write_page_style(theme: ThemeName) -> str:
    dark = "background: #16191d; color: #e6e8eb"
    rules = (
        f"body {{ font: 14px/1.5 {FONT}; max-width: 960px; margin: 24px auto; padding: 0 16px; "
        "background: #ffffff; color: #1f2328; } svg { display: block; margin: 1em 0; } h1 { font-size: 22px; } "
        "pre { font-size: 13px; white-space: pre-wrap; overflow-x: auto; } "
    )
    if theme == "auto":
        return (
            f":root {{ color-scheme: light dark; }} {rules}@media (prefers-color-scheme: dark) {{ body {{ {dark} }} }}"
        )
    return f":root {{ color-scheme: {theme}; }} {rules}" + (f"body {{ {dark} }}" if theme == "dark" else "")


def write_file(path: Path, content: bytes) -> None:
    """Write a picture, or say why it cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        message = f"{path.name} cannot be written: {error}"
        hint = "does the folder exist, and is it writable?"
        raise DataError([Problem("TW308", message, hint)]) from error


def _check_theme(theme: Any) -> None:
    if theme not in THEMES:
        raise OptionError([Problem("TW408", f"theme is one of {', '.join(THEMES)}, not {theme}", "leave it out")])
