"""The one style of every picture: letters, lines and shades, on light and on dark paper.

Rules begin with `.tw-picture`, so that a picture in somebody else's page changes nothing but itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

#: "auto" follows the reader: the notebook or page around a picture, or the reader's system where it stands alone.
ThemeName: TypeAlias = Literal["auto", "light", "dark"]
THEMES: tuple[ThemeName, ...] = ("auto", "light", "dark")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"
#: The sizes of letters above a picture, and above several.
TITLE, HEADING = 16, 18


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
