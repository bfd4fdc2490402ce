"""A graph as a picture: states as rounded boxes, arrows with what is asked of them."""

from __future__ import annotations

from trendweave.pictures.frames import WIDTH, draw_title
from trendweave.pictures.graphs.graph import Edge, Graph, Node
from trendweave.pictures.graphs.layers import LABEL_HEIGHT, Placed, is_back, label_lines, label_width, place_nodes
from trendweave.pictures.letters import measure, wrap
from trendweave.pictures.picture import Picture
from trendweave.pictures.style import TITLE
from trendweave.pictures.texts import quote

_PAD = 24.0
#: Letters of a line of a note.
_NOTE_LETTERS = 110
_COMMON = "#0f7fc4"


def make_graph(graph: Graph) -> Picture:
    """Draw nodes and arrows from left to right."""
    placed = place_nodes(graph)
    notes = [line for note in graph.notes for line in wrap(note, _NOTE_LETTERS)]
    top = (44.0 if graph.title else 16.0) + 18 * len(notes)
    parts = [draw_title(graph.title, _PAD)] if graph.title else []
    for number, note in enumerate(notes):
        parts.append(f'<text class="faint" x="{_PAD}" y="{48 + 18 * number}">{quote(note)}</text>')
    parts.append(f'<g transform="translate({_PAD:g} {top:g})">')
    nodes = {node.name: node for node in graph.nodes}
    for edge in graph.edges:
        parts += _draw_edge(edge, nodes, placed)
    for node in graph.nodes:
        parts += draw_node(node, *placed.centres[node.name])
    for edge in graph.edges:
        parts += _draw_label(edge, nodes, placed)
    parts.append("</g>")
    beyond = max((label_width(edge) / 2 for edge in graph.edges if is_back(edge, placed.columns)), default=0)
    title = min(measure(graph.title, TITLE, bold=True), WIDTH - 2 * _PAD)
    width = max(placed.width, title, *map(measure, notes), beyond * 2, 240.0) + 2 * _PAD
    feet = [
        _back(edge, nodes, placed)[4] + LABEL_HEIGHT * len(label_lines(edge)) - 8
        for edge in graph.edges
        if is_back(edge, placed.columns)
    ]
    height = top + max([placed.height, *feet]) + 22 if graph.nodes else top - 4
    return Picture(graph.title or "template", width, height, tuple(parts))


def _ends(edge: Edge, nodes: dict[str, Node], placed: Placed) -> tuple[float, float, float, float]:
    """From the right side of one node to the left side of the other."""
    (x1, y1), (x2, y2) = placed.centres[edge.source], placed.centres[edge.target]
    return x1 + nodes[edge.source].width / 2, y1, x2 - nodes[edge.target].width / 2 - 8, y2


def _draw_edge(edge: Edge, nodes: dict[str, Node], placed: Placed) -> list[str]:
    dashed = " dashed" if edge.dashed else ""
    if edge.source == edge.target:
        x, y = placed.centres[edge.source]
        up = y - nodes[edge.source].height / 2
        path = f"M{x - 14:.1f} {up:.1f}C{x - 26:.1f} {up - 30:.1f} {x + 26:.1f} {up - 30:.1f} {x + 14:.1f} {up - 8:.1f}"
        return [f'<path class="edge{dashed}" d="{path}"/>', _draw_head(x + 14, up, "down")]
    if is_back(edge, placed.columns):
        x1, y1, x2, y2, low = _back(edge, nodes, placed)
        path = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {low:.1f} {x2:.1f} {low:.1f} {x2:.1f} {y2 + 8:.1f}"
        return [f'<path class="edge{dashed}" d="{path}"/>', _draw_head(x2, y2, "up")]
    x1, y1, x2, y2 = _ends(edge, nodes, placed)
    path, x, y = f"M{x1:.1f} {y1:.1f}", x1, y1
    for enters, leaves, high in (*placed.passed.get(edge, ()), (x2, x2, y2)):
        half = (enters - x) / 2
        path += f"C{x + half:.1f} {y:.1f} {enters - half:.1f} {high:.1f} {enters:.1f} {high:.1f}H{leaves:.1f}"
        x, y = leaves, high
    return [f'<path class="edge{dashed}" d="{path}"/>', _draw_head(x2 + 8, y2, "right")]


def _back(edge: Edge, nodes: dict[str, Node], placed: Placed) -> tuple[float, float, float, float, float]:
    (x1, y1), (x2, y2) = placed.centres[edge.source], placed.centres[edge.target]
    y1, y2 = y1 + nodes[edge.source].height / 2, y2 + nodes[edge.target].height / 2
    return x1, y1, x2, y2, max(y1, y2) + 34


def _draw_head(x: float, y: float, way: str) -> str:
    corners = {
        "right": f"{x:.1f},{y:.1f} {x - 9:.1f},{y - 4.5:.1f} {x - 9:.1f},{y + 4.5:.1f}",
        "down": f"{x:.1f},{y:.1f} {x - 3:.1f},{y - 10:.1f} {x + 6:.1f},{y - 8:.1f}",
        "up": f"{x:.1f},{y:.1f} {x - 4.5:.1f},{y + 9:.1f} {x + 4.5:.1f},{y + 9:.1f}",
    }[way]
    return f'<polygon class="head" points="{corners}"/>'


def _draw_label(edge: Edge, nodes: dict[str, Node], placed: Placed) -> list[str]:
    if not edge.label:
        return []
    below = False
    if edge.source == edge.target:
        x, y = placed.centres[edge.source]
        y -= nodes[edge.source].height / 2 + 28
    elif is_back(edge, placed.columns):
        x1, _, x2, _, low = _back(edge, nodes, placed)
        x, y, below = (x1 + x2) / 2, low, True
    elif edge in placed.passed:
        enters, leaves, high = placed.passed[edge][0]
        x, y = (enters + leaves) / 2, high - 6
    else:
        x, y, below = _place_label(edge, nodes, placed)
    lines = label_lines(edge)
    if not below:
        y -= LABEL_HEIGHT * (len(lines) - 1)
    shown = "".join(
        f'<tspan x="{x:.1f}" dy="{LABEL_HEIGHT if number else 0:g}">{quote(line)}</tspan>'
        for number, line in enumerate(lines)
    )
    hint = f"<title>{quote(edge.label)}</title>"
    return [f'<text class="small halo" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{shown}{hint}</text>']


def _place_label(edge: Edge, nodes: dict[str, Node], placed: Placed) -> tuple[float, float, bool]:
    """Where the label of an arrow to the next column stands, and whether that is below the arrow.

    It is beside the arrow where that is level, before its target; where other labels lead there, too, it is beside the
    middle of the arrow, on the side that they do not come from."""
    x1, y1, x2, y2 = _ends(edge, nodes, placed)
    middle = (x1 + x2) / 2
    if abs(y1 - y2) < 2:
        return middle, y1 - 6, False
    if edge.target in placed.crowded:
        aside, high = middle + label_width(edge) / 2 + 4, (y1 + y2) / 2
        return (aside, high - 4, False) if y2 > y1 else (aside, high + 14, True)
    return (middle, y2 - 6, False) if y2 < y1 else (middle, y2 + 15, True)


def draw_node(node: Node, x: float, y: float) -> list[str]:
    """Draw a node around its middle."""
    if node.kind in ("start", "end"):
        ring = f'<circle class="edge" cx="{x:.1f}" cy="{y:.1f}" r="8"/>' if node.kind == "end" else ""
        return [f'{ring}<circle class="head" cx="{x:.1f}" cy="{y:.1f}" r="5"/>']
    left, top = x - node.width / 2, y - node.height / 2
    colour = node.colour or _COMMON
    round_ = {"box": 4, "query": node.height / 2}.get(node.kind, 16)
    box = f'x="{left:.1f}" y="{top:.1f}" width="{node.width:.1f}" height="{node.height:.1f}" rx="{round_:.0f}"'
    fill = f' fill="{colour}" fill-opacity="0.16"' if node.kind == "query" else ""
    shape = "" if node.kind == "query" else ' class="state"'
    parts = [f'<rect{shape} {box} stroke="{colour}"{fill}><title>{quote(node.hint)}</title></rect>']
    if node.kind == "final":
        parts.append(
            f'<rect x="{left + 4:.1f}" y="{top + 4:.1f}" width="{node.width - 8:.1f}" height="{node.height - 8:.1f}" '
            f'rx="{round_ - 4:.0f}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
        )
    first = y - 9 * (len(node.lines) - 1) + 4.5
    for number, line in enumerate(node.lines):
        weight = ' font-weight="600"' if number == 0 and len(node.lines) > 1 else ' class="faint"' if number else ""
        parts.append(
            f'<text{weight} x="{x:.1f}" y="{first + 18 * number:.1f}" text-anchor="middle">{quote(line)}</text>'
        )
    return parts
