"""Draws a graph as SVG: from left to right, one box below the other, so that nothing lies on top of another thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trendweave.pictures.texts import quote
from trendweave.serve.worker.graphs import Arrow, Graph, Node

#: The width of a letter of a node and of an arrow, about.
_LETTER, _SMALL = 7.3, 7.0
_HEIGHT, _ROW_GAP, _LOOP, _PAD, _TITLE = 34.0, 20.0, 34.0, 16.0, 22.0
_LONGEST = 56


@dataclass(frozen=True, slots=True)
class Rect:
    """A place on the drawing."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """Halfway down."""
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width


def draw_graph(graph: Graph, title: str) -> str:
    """Draw it; `title` is what those hear who do not see it."""
    if not graph.nodes:
        return ""
    places: dict[str, Rect] = {}
    frames: dict[int, Rect] = {}
    outer = [node.name for node in graph.nodes.values() if node.box is None]
    left, height = _place_group(graph, outer, 8.0, 8.0, places)
    top = 8.0
    right = left
    for number in (number for number, box in enumerate(graph.boxes) if box.outer is None):
        frame = _place_box(graph, number, left + 8 if outer else 8.0, top, places, frames)
        top, right = frame.y + frame.height + 16, max(right, frame.right + 8)
    bottom = max(height, top) + 4
    parts = [
        f'<svg class="graph" viewBox="0 0 {right + 8:.0f} {bottom:.0f}" width="{right + 8:.0f}" '
        f'height="{bottom:.0f}" role="img" aria-label="{quote(title)}">'
    ]
    parts += [_draw_frame(graph.boxes[number].label, frame) for number, frame in frames.items()]
    parts += [_draw_arrow(arrow, graph, places, frames) for arrow in graph.arrows]
    parts += [_draw_node(graph.nodes[name], place) for name, place in places.items()]
    return "".join([*parts, "</svg>"])


def _place_box(graph: Graph, number: int, x: float, y: float, places: dict[str, Rect], frames: dict[int, Rect]) -> Rect:
    """Boxes inside it come first, one below the other, then its own nodes."""
    frames[number] = Rect(x, y, 0, 0)  # outer boxes are drawn before inner ones
    down, right = y + _TITLE + 8, x + _LETTER * len(graph.boxes[number].label) + 2 * _PAD
    for inner, box in enumerate(graph.boxes):
        if box.outer == number:
            frame = _place_box(graph, inner, x + _PAD, down, places, frames)
            down, right = frame.y + frame.height + 12, max(right, frame.right + _PAD)
    own = [node.name for node in graph.nodes.values() if node.box == number]
    if own:
        end, down = _place_group(graph, own, x + _PAD, down, places)
        right = max(right, end)
    frames[number] = Rect(x, y, right - x, down - y)
    return frames[number]


def _place_group(
    graph: Graph, names: Sequence[str], x: float, y: float, places: dict[str, Rect]
) -> tuple[float, float]:
    """Put nodes into columns by the arrows between them; where they end to the right, and below."""
    if not names:
        return x, y
    inside = [arrow for arrow in graph.arrows if arrow.source in names and arrow.target in names]
    columns = _find_columns(names, inside)
    loops = any(arrow.source == arrow.target for arrow in inside)
    skips = any(columns[arrow.target] - columns[arrow.source] > 1 for arrow in inside)
    backs = any(columns[arrow.target] < columns[arrow.source] for arrow in inside)
    above = _LOOP if loops or skips else 0.0
    pitch = above + _HEIGHT + _ROW_GAP + (18 if backs else 0)
    lowest = y
    for column in range(max(columns.values()) + 1):
        own = [name for name in names if columns[name] == column]
        width = max(_width_of(graph.nodes[name]) for name in own)
        for row, name in enumerate(own):
            size = _width_of(graph.nodes[name])
            places[name] = Rect(x + (width - size) / 2, y + above + row * pitch, size, _HEIGHT)
            lowest = max(lowest, y + (row + 1) * pitch)
        x += width + _gap_after(column, columns, inside)
    last = max(places[name].right for name in names)
    loop_labels = [places[a.source].x + _SMALL * len(_cut(a.label)) + 12 for a in inside if a.source == a.target]
    return max([last, *loop_labels]) + _PAD, lowest


def _gap_after(column: int, columns: dict[str, int], arrows: Sequence[Arrow]) -> float:
    """Room for what stands at the arrows between two columns."""
    labels = [len(_cut(a.label)) for a in arrows if columns[a.source] == column and columns[a.target] == column + 1]
    loops = [len(_cut(a.label)) for a in arrows if a.source == a.target and columns[a.source] == column]
    return max(46.0, _SMALL * max(labels, default=0) + 28, _SMALL * max(loops, default=0) - 50)


def _find_columns(names: Sequence[str], arrows: Sequence[Arrow]) -> dict[str, int]:
    """The longest way that leads to a node, along arrows that go forwards in the order of writing."""
    order = {name: place for place, name in enumerate(names)}
    columns = dict.fromkeys(names, 0)
    forwards = [arrow for arrow in arrows if order[arrow.source] < order[arrow.target]]
    for name in names:
        for arrow in forwards:
            if arrow.target == name:
                columns[name] = max(columns[name], columns[arrow.source] + 1)
    return columns


def _width_of(node: Node) -> float:
    return 14.0 if node.shape == "point" else max(46.0, _LETTER * len(_cut(node.label)) + 28)


def _draw_node(node: Node, place: Rect) -> str:
    if node.shape == "point":
        return f'<circle class="start" cx="{place.x + 7:.1f}" cy="{place.middle:.1f}" r="5"/>'
    turn = 6 if node.shape == "box" else _HEIGHT / 2
    kind = "node ends" if node.shape == "doublecircle" else "node"
    shape = (
        f'<rect class="{kind}" x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.0f}" rx="{turn:.0f}"/>'
    )
    if node.shape == "doublecircle":
        shape += (
            f'<rect class="inner" x="{place.x + 4:.1f}" y="{place.y + 4:.1f}" width="{place.width - 8:.1f}" '
            f'height="{place.height - 8:.0f}" rx="{turn - 4:.0f}"/>'
        )
    middle = place.x + place.width / 2
    text = f'<text x="{middle:.1f}" y="{place.middle + 5:.1f}" text-anchor="middle">{quote(_cut(node.label))}</text>'
    return f"<g>{shape}{text}<title>{quote(node.label)}</title></g>"


def _draw_frame(label: str, frame: Rect) -> str:
    return (
        f'<rect class="frame" x="{frame.x:.1f}" y="{frame.y:.1f}" width="{frame.width:.1f}" '
        f'height="{frame.height:.1f}" rx="10"/><text class="caption" x="{frame.x + 12:.1f}" '
        f'y="{frame.y + 20:.1f}">{quote(label)}</text>'
    )


def _draw_arrow(arrow: Arrow, graph: Graph, places: dict[str, Rect], frames: dict[int, Rect]) -> str:
    start, end = places[arrow.source], places[arrow.target]
    boxes = {box.name: frames[number] for number, box in enumerate(graph.boxes) if number in frames}
    if arrow.to_box in boxes:
        end = boxes[arrow.to_box]
    if arrow.source == arrow.target:
        path, x, y, anchor = _loop(start)
    elif end.x >= start.right:
        path, x, y, anchor = _forwards(start, end)
    else:
        path, x, y, anchor = _backwards(start, end)
    style = ' class="arrow dashed"' if arrow.dashed else ' class="arrow"'
    text = ""
    if arrow.label:
        text = (
            f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{quote(_cut(arrow.label))}'
            f"<title>{quote(arrow.label)}</title></text>"
        )
    return f'<path{style} d="{path[0]}"/><path class="head" d="{path[1]}"/>{text}'


_Drawn = tuple[tuple[str, str], float, float, str]


def _loop(place: Rect) -> _Drawn:
    x, y = place.x + place.width / 2, place.y
    line = f"M{x - 10:.1f} {y:.1f}C{x - 26:.1f} {y - 30:.1f} {x + 26:.1f} {y - 30:.1f} {x + 10:.1f} {y - 3:.1f}"
    return (line, _head(x + 10, y, 0.35, 1)), place.x + 2, y - 26, "start"


def _forwards(start: Rect, end: Rect) -> _Drawn:
    x1, y1, x2, y2 = start.right, start.middle, end.x - 2, end.middle
    between = (x1 + x2) / 2
    far = x2 - x1 > 90 and abs(y1 - y2) < 1 and end.x - start.right > 240
    if abs(y1 - y2) < 1 and not far:
        return (f"M{x1:.1f} {y1:.1f}L{x2 - 6:.1f} {y2:.1f}", _head(x2, y2)), between, y1 - 7, "middle"
    line = f"M{x1:.1f} {y1:.1f}C{between:.1f} {y1:.1f} {between:.1f} {y2:.1f} {x2 - 6:.1f} {y2:.1f}"
    return (line, _head(x2, y2)), between, (y1 + y2) / 2 - 7, "middle"


def _backwards(start: Rect, end: Rect) -> _Drawn:
    x1, x2, y = start.x + start.width / 2, end.x + end.width / 2, max(start.y + start.height, end.y + end.height)
    line = f"M{x1:.1f} {y:.1f}C{x1:.1f} {y + 30:.1f} {x2:.1f} {y + 30:.1f} {x2:.1f} {y + 4:.1f}"
    return (line, _head(x2, y + 1, 0, -1)), (x1 + x2) / 2, y + 34, "middle"


def _head(x: float, y: float, across: float = 1, down: float = 0) -> str:
    """The point of an arrow that goes in a direction."""
    length = (across**2 + down**2) ** 0.5
    dx, dy = across / length * 8, down / length * 8
    return f"M{x:.1f} {y:.1f}L{x - dx - dy / 2:.1f} {y - dy + dx / 2:.1f}L{x - dx + dy / 2:.1f} {y - dy - dx / 2:.1f}Z"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
