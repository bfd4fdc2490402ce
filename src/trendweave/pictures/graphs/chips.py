"""Names side by side, in rows."""

from __future__ import annotations

from collections.abc import Sequence

from trendweave.pictures.colours import assign_colours
from trendweave.pictures.frames import WIDTH, draw_title
from trendweave.pictures.graphs.drawing import draw_node
from trendweave.pictures.graphs.graph import Node
from trendweave.pictures.letters import shorten
from trendweave.pictures.picture import Picture
from trendweave.pictures.texts import quote

_PAD, _BETWEEN, _ROW = 24.0, 10.0, 46.0
_MOST = 60


def make_chips(title: str, names: Sequence[str], note: str = "") -> Picture:
    """Draw names below a title, each in a colour; of many, the first ones, and how many more there are.

    Args:
        title: What they have in common.
        names: The names.
        note: What stands below the title.
    """
    colours = assign_colours(names)
    parts = [draw_title(title, _PAD)]
    if note:
        parts.append(f'<text class="faint" x="{_PAD:g}" y="48">{quote(note)}</text>')
    x, y = _PAD, 80.0 if note else 62.0
    more = len(names) - _MOST
    shown = [*names[:_MOST], *([f"and {more:,} more"] if more > 0 else [])]
    for name in shown:
        node = Node(name, "query", (shorten(name, 34),), colours.get(name), name)
        if x > _PAD and x + node.width > WIDTH - _PAD:
            x, y = _PAD, y + _ROW
        parts += draw_node(node, x + node.width / 2, y)
        x += node.width + _BETWEEN
    return Picture(title, WIDTH, y + 30, tuple(parts))
