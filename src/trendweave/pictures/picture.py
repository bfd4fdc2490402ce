"""A picture: shapes in one style, to be looked at in a notebook, or written as SVG, as a page, or as PNG.

The rules of the style begin with `.tw-picture`, so that a picture in somebody else's page changes nothing but itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from trendweave.errors import DataError, OptionError, Problem
from trendweave.pictures.highlight import highlight_query
from trendweave.pictures.letters import fit, measure
from trendweave.pictures.shapes import quote, shape, write

#: "auto" follows the reader: the notebook or page around a picture, or the reader's system where it stands alone.
ThemeName: TypeAlias = Literal["auto", "light", "dark"]
THEMES: tuple[ThemeName, ...] = ("auto", "light", "dark")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
#: The sizes of letters above a picture, and above several.
TITLE, HEADING = 16, 18
ENDINGS = (".svg", ".html", ".png")
_BETWEEN = 18
#: A picture inside of a page is not made smaller than this.
_LEAST_WIDTH, _LEAST_SCALE = 420.0, 0.68
#: Pictures of nothing and of a word, which differ where the machine has letters.
_BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"></svg>'
_WORD = _BLANK.replace("></", f' font-family="{FONT}"><text y="15">word</text></')


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
        _check_theme(theme)
        return _draw_pixels(self._write("light" if theme == "auto" else theme, alone=True), scale)

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
        parts.append(shape("g", "\n".join(one.parts), transform=f"translate(0 {y:g})"))
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
    parts = [write(first, 24, 30, "heading", whole)]
    if fits or not (heading and about):
        return parts, 40.0
    return [*parts, write(fit(about, room), 24, 51, "faint", about)], 60.0


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
    return frame_page(title, f"{above}{drawn}\n{below}", theme)


def frame_page(title: str, body: str, theme: ThemeName = "auto") -> str:
    """Write HTML as a page that needs nothing from elsewhere."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n<title>{quote(title)}</title>\n'
        f"<style>{_write_page_style(theme)}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
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


def _draw_pixels(svg: str, scale: float) -> bytes:
    """Draw an SVG text of a fixed theme, by the optional package resvg_py, which brings all it needs but letters.

    Args:
        svg: The picture.
        scale: Pixels per unit.

    Raises:
        OptionError: The package is not there, or the machine has no font, so that no text would be drawn.
    """
    if not 0 < scale <= 20:
        raise OptionError([Problem("TW408", f"scale is above 0 and at most 20, not {scale}", "2 suits most screens")])
    try:
        import resvg_py
    except ImportError as error:
        message = "PNG needs the package resvg_py, which is not installed"
        hint = "pip install 'trendweave[pictures]', or save the picture as .svg or .html, which need nothing"
        raise OptionError([Problem("TW408", message, hint)]) from error
    draw = resvg_py.svg_to_bytes
    if draw(svg_string=_WORD) == draw(svg_string=_BLANK):
        message = "this machine has no fonts, so a PNG would have no text"
        raise OptionError([Problem("TW408", message, "install a font, such as Debian's fonts-dejavu-core")])
    width, height = (float(found) for found in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    return bytes(draw(svg_string=svg, width=round(width * scale), height=round(height * scale)))


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours that change with the paper.

    Attributes:
        ink: Letters.
        faint: Letters that matter less, and axes.
        grid: Lines that help the eye.
        paper: What pictures are drawn on.
        panel: Boxes in them.
    """

    ink: str
    faint: str
    grid: str
    paper: str
    panel: str


LIGHT = Theme("#1f2328", "#5b6570", "#e3e6ea", "#ffffff", "#f4f6f8")
DARK = Theme("#e6e8eb", "#9aa4af", "#353b43", "#16191d", "#20252b")

_RULES = """
.tw-picture { font-family: FONT; font-size: 13px; color: INK; }
.tw-picture text { fill: INK; }
.tw-picture .title { font-size: TITLEpx; font-weight: 600; }
.tw-picture .heading { font-size: HEADINGpx; font-weight: 600; }
.tw-picture .faint { fill: FAINT; }
.tw-picture .small { font-size: 11.5px; }
.tw-picture .mono { font-family: MONO; font-size: 12px; }
.tw-picture .paper { fill: PAPER; }
.tw-picture .panel { fill: PANEL; stroke: GRID; }
.tw-picture .halo { stroke: PAPER; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke; }
.tw-picture .grid { stroke: GRID; stroke-width: 1px; }
.tw-picture .axis { stroke: FAINT; stroke-width: 1px; fill: none; }
.tw-picture .line { fill: none; stroke-width: 2px; stroke-linejoin: round; stroke-linecap: round; }
.tw-picture .trend { stroke: FAINT; stroke-width: 1.5px; stroke-opacity: 0.7; }
.tw-picture .dot { stroke: PAPER; stroke-width: 1.2px; }
.tw-picture .quiet { fill: none; stroke: FAINT; stroke-opacity: 0.55; stroke-width: 1.2px; }
.tw-picture .quiet-dot { fill: FAINT; fill-opacity: 0.6; }
.tw-picture .edge { fill: none; stroke: FAINT; stroke-width: 1.4px; }
.tw-picture .head { fill: FAINT; }
.tw-picture .state { fill: PANEL; stroke-width: 1.8px; }
.tw-picture .dashed { stroke-dasharray: 5 3; }
.tw-picture .running { fill-opacity: 0.35; stroke-dasharray: 4 3; }
"""


def write_style(theme: ThemeName, alone: bool = True) -> str:
    """Write the rules of a picture.

    Args:
        theme: Light, dark, or as the reader has it.
        alone: Whether the picture is a file of its own, with paper below it; else it lies on the paper of a page.
    """
    if theme != "auto":
        return _fill(DARK if theme == "dark" else LIGHT)
    names = Theme("var(--tw-ink)", "var(--tw-faint)", "var(--tw-grid)", "var(--tw-paper)", "var(--tw-panel)")
    if alone:
        light, dark = _declare(LIGHT), _declare(DARK)
        rules = f".tw-picture {{ {light} }}\n@media (prefers-color-scheme: dark) {{ .tw-picture {{ {dark} }} }}"
    else:
        # Letters in the colour of those around are seen on any paper; the reader's system may differ from the page.
        mixed = " ".join(
            f"--tw-{name}: color-mix(in srgb, currentColor {part}%, transparent);"
            for name, part in (("faint", 70), ("grid", 16), ("panel", 6))
        )
        rules = f".tw-picture {{ --tw-ink: currentColor; {mixed} --tw-paper: transparent; }}"
    return f"\n{rules}{_fill(names)}"


def _declare(shades: Theme) -> str:
    return (
        f"--tw-ink: {shades.ink}; --tw-faint: {shades.faint}; --tw-grid: {shades.grid}; "
        f"--tw-paper: {shades.paper}; --tw-panel: {shades.panel};"
    )


def _fill(shades: Theme) -> str:
    rules = _RULES.replace("FONT", FONT).replace("MONO", MONO)
    rules = rules.replace("TITLE", str(TITLE)).replace("HEADING", str(HEADING))
    for name in ("ink", "faint", "grid", "paper", "panel"):
        rules = rules.replace(name.upper(), getattr(shades, name))
    return rules
