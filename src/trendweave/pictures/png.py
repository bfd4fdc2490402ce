"""SVG -> PNG, by the optional package resvg_py, which brings all it needs but letters."""

from __future__ import annotations

import re

from trendweave.errors import OptionError, Problem
from trendweave.pictures.style import FONT

_BLANK = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"></svg>'
_WORD = _BLANK.replace("></", f' font-family="{FONT}"><text y="15">word</text></')


def draw_pixels(svg: str, scale: float) -> bytes:
    """Draw an SVG text of a fixed theme.

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
