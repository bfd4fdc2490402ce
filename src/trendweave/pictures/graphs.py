"""Nodes and arrows: templates, workloads and chains of operators as drawings.

Nodes stand in columns from left to right along the arrows, arrows back to earlier columns left aside. An arrow over
several columns has a place of its own in those between, so that it does not run through nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, TypeAlias

from trendweave.pictures.frames import PAD, WIDTH, draw_title
from trendweave.pictures.letters import measure, shorten, wrap
from trendweave.pictures.picture import TITLE, Picture
from trendweave.pictures.shapes import COLOURS, assign_colours, dot, quote, shape, write

#: A state of a template, one in which trends may end, where trends begin or end, a thing, or a query by its name.
NodeKind: TypeAlias = Literal["state", "final", "start", "end", "box", "query"]
#: The letters of a line of a label, about; its height, and the size of its letters.
_LETTERS, _LABEL, _SMALL = 26, 14.0, 11.5
_GAP, _BETWEEN = 46.0, 30.0
#: What an arrow needs that passes a column.
_PASSING = 12.0
#: Letters of a line of a note.
_NOTE_LETTERS = 110
#: Names that stand side by side, at most, and the height of a row of them.
_MOST_CHIPS, _ROW = 60, 46.0


@dataclass(frozen=True, slots=True)
class Node:
    """Attributes:
    name: Tells it from others.
    kind: Its shape.
    lines: What is written in it; the first line stands out.
    colour: The colour of its border; None for the common one.
    hint: What is told when a pointer is held over it.
    """

    name: str
    kind: NodeKind
    lines: tuple[str, ...] = ()
    colour: str | None = None
    hint: str = ""

    @property
    def width(self) -> float:
        """How wide it is drawn."""
        if self.kind in ("start", "end"):
            return 16.0
        return max(64.0, max((1.04 * measure(line) for line in self.lines), default=0) + 26)

    @property
    def height(self) -> float:
        """How high it is drawn."""
        return 16.0 if self.kind in ("start", "end") else 18.0 * max(len(self.lines), 1) + 18


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow, with what is asked of it; dashed where a NOT guards it."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False

    @property
    def is_loop(self) -> bool:
        """Whether it leads back to where it begins."""
        return self.source == self.target

    @property
    def lines(self) -> tuple[str, ...]:
        """The label, in lines."""
        return wrap(self.label, _LETTERS, ("AND",))

    @property
    def width(self) -> float:
        """How wide the label is drawn, about."""
        return max((measure(line, _SMALL) for line in self.lines), default=0.0)

    @property
    def height(self) -> float:
        """How high the label is drawn."""
        return _LABEL * len(self.lines)


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order in which a reader meets them, and arrows."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything stands.

    Attributes:
        centres: Per node its middle.
        columns: Per node the number of its column.
        passed: Per arrow that leads over several columns, where it enters and leaves each column between, and how high.
        width: That of the drawing.
        height: That of the drawing.
    """

    centres: Mapping[str, tuple[float, float]]
    columns: Mapping[str, int]
    passed: Mapping[Edge, tuple[tuple[float, float, float], ...]]
    width: float
    height: float

    def is_back(self, edge: Edge) -> bool:
        """Whether an arrow leads to an earlier column, or to another node of its own."""
        return not edge.is_loop and self.columns[edge.target] <= self.columns[edge.source]


@dataclass(frozen=True, slots=True)
class _Slot:
    """What has a place in a column: a node, or an arrow that passes. What it needs above and below its middle."""

    above: float
    below: float
    width: float


# Where nodes stand


def place_nodes(graph: Graph) -> Placed:
    """Find a place for every node, and for arrows that pass columns."""
    columns = _find_columns(graph)
    slots, places = {node.name: _find_slot(node, graph) for node in graph.nodes}, dict(columns)
    passing: dict[Edge, tuple[str, ...]] = {}
    before, after = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for number, edge in enumerate(graph.edges):
        first, last = columns[edge.source], columns[edge.target]
        if last <= first:
            continue
        between = {f"\0{number}-{column}": column for column in range(first + 1, last)}
        if between:
            passing[edge] = tuple(between)
            places |= between
            slots |= dict.fromkeys(between, _Slot(_PASSING + edge.height, _PASSING, edge.width))
        for source, target in pairwise((edge.source, *between, edge.target)):
            after[source].append(target)
            before[target].append(source)
    order = _order_columns(places, before)
    widths = [max(slots[name].width for name in names) for names in order]
    lefts, x = list[float](), 0.0
    for number, width in enumerate(widths):
        lefts.append(x)
        x += width + (_find_gap(graph, columns, number) if number + 1 < len(widths) else 0)
    ys = _align(order, slots, before, after)
    top = min((ys[name] - slot.above for name, slot in slots.items()), default=0.0)
    bottom = max((ys[name] + slot.below for name, slot in slots.items()), default=0.0)
    spans = {name: (lefts[column], lefts[column] + widths[column], ys[name] - top) for name, column in places.items()}
    centres = {node.name: (sum(spans[node.name][:2]) / 2, spans[node.name][2]) for node in graph.nodes}
    passed = {edge: tuple(spans[name] for name in names) for edge, names in passing.items()}
    return Placed(centres, columns, passed, x, bottom - top)


def _find_columns(graph: Graph) -> dict[str, int]:
    """The longest way to each node, without arrows that lead back to where a walk came from."""
    following = defaultdict[str, list[str]](list)
    for edge in graph.edges:
        if not edge.is_loop:
            following[edge.source].append(edge.target)
    ahead: set[tuple[str, str]] = set()
    done: dict[str, bool] = {}
    order: list[str] = []
    for first in graph.nodes:
        stack = [(first.name, iter(following[first.name]))] if first.name not in done else []
        done.setdefault(first.name, False)
        while stack:
            name, targets = stack[-1]
            target = next(targets, None)
            if target is None:
                done[name] = True
                order.append(name)
                stack.pop()
            elif done.get(target) is not False:
                ahead.add((name, target))
                if target not in done:
                    done[target] = False
                    stack.append((target, iter(following[target])))
    columns = {node.name: 0 for node in graph.nodes}
    for name in reversed(order):
        for target in following[name]:
            if (name, target) in ahead:
                columns[target] = max(columns[target], columns[name] + 1)
    return columns


def _order_columns(places: Mapping[str, int], before: Mapping[str, list[str]]) -> list[list[str]]:
    """Names of each column from top to bottom, near those that lead to them."""
    order: list[list[str]] = [[] for _ in range(max(places.values(), default=-1) + 1)]
    for name, column in places.items():
        order[column].append(name)
    for _ in range(2):
        heights: dict[str, float] = {}
        for names in order:
            heights |= {name: place / len(names) for place, name in enumerate(names)}
            wanted = {name: _mean([heights[one] for one in before[name]], heights[name]) for name in names}
            names.sort(key=wanted.__getitem__)
            heights |= {name: place / len(names) for place, name in enumerate(names)}
    return order


def _align(
    order: Sequence[Sequence[str]],
    slots: Mapping[str, _Slot],
    before: Mapping[str, list[str]],
    after: Mapping[str, list[str]],
) -> dict[str, float]:
    """How high names stand: near what leads to them and what they lead to, and apart from those of their column."""
    heights: dict[str, float] = {}
    for names in order:
        heights |= _stand_apart(names, dict.fromkeys(names, 0.0), slots)
    # The last walk leads forwards, so that what has one way to it stands straight behind it.
    for near, walk in ((before, order), (after, order[::-1]), (before, order)):
        for names in walk:
            wanted = {name: _mean([heights[one] for one in near[name]], heights[name]) for name in names}
            heights |= _stand_apart(names, wanted, slots)
    return heights


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _stand_apart(names: Sequence[str], wanted: Mapping[str, float], slots: Mapping[str, _Slot]) -> dict[str, float]:
    """Move names of a column apart, as little as their squares tell: neighbours that are too near move together."""
    offsets = [0.0]
    for upper, lower in pairwise(names):
        offsets.append(offsets[-1] + slots[upper].below + slots[lower].above + _BETWEEN)
    # Without the room that they need, heights have to grow: those that do not are averaged.
    groups: list[tuple[float, int]] = []
    for name, offset in zip(names, offsets, strict=False):
        mean, number = wanted[name] - offset, 1
        while groups and groups[-1][0] > mean:
            above, members = groups.pop()
            mean = (above * members + mean * number) / (members + number)
            number += members
        groups.append((mean, number))
    means = [mean for mean, number in groups for _ in range(number)]
    return {name: mean + offset for name, mean, offset in zip(names, means, offsets, strict=False)}


def _find_slot(node: Node, graph: Graph) -> _Slot:
    """What a node needs, with its loop and the label of that."""
    loops = [edge for edge in graph.edges if edge.is_loop and edge.source == node.name]
    above = node.height / 2
    if loops:
        above += 26 + max(loop.height for loop in loops)
    elif any(edge.label and node.name in (edge.source, edge.target) for edge in graph.edges):
        # Labels before and behind it may be higher than itself.
        above = max(above, 6 + max(edge.height for edge in graph.edges))
    return _Slot(above, node.height / 2, max([node.width, *(loop.width for loop in loops)]))


def _find_gap(graph: Graph, columns: Mapping[str, int], number: int) -> float:
    """The way between two columns, as wide as the labels of the arrows that lead over it."""
    labelled = [
        one for one in graph.edges if one.label and (columns[one.source], columns[one.target] - 1) == (number,) * 2
    ]
    # Labels of arrows that meet stand beside the middle of their arrows.
    wide = 1.6 if len({edge.target for edge in labelled}) < len(labelled) else 1.0
    return max([_GAP, *(wide * edge.width + 34 for edge in labelled)])


# How they are drawn


def make_graph(graph: Graph) -> Picture:
    """Draw nodes and arrows from left to right."""
    placed = place_nodes(graph)
    nodes = {node.name: node for node in graph.nodes}
    notes = [line for note in graph.notes for line in wrap(note, _NOTE_LETTERS)]
    top = (44.0 if graph.title else 16.0) + 18 * len(notes)
    labelled = [edge.target for edge in graph.edges if edge.label and not edge.is_loop]
    arrows, labels, low, beyond = list[str](), list[str](), placed.height, 0.0
    for edge in graph.edges:
        drawn, (x, y), below = _draw_arrow(edge, nodes, placed, labelled.count(edge.target) > 1)
        arrows += drawn
        if edge.label:
            labels.append(_draw_label(edge, x, y if below else y - edge.height + _LABEL))
        if placed.is_back(edge):
            low, beyond = max(low, y + edge.height - 8), max(beyond, edge.width)
    boxes = [part for node in graph.nodes for part in draw_node(node, *placed.centres[node.name])]
    parts = [draw_title(graph.title)] if graph.title else []
    parts += [write(note, PAD, 48 + 18 * number, "faint") for number, note in enumerate(notes)]
    parts.append(shape("g", "\n".join([*arrows, *boxes, *labels]), transform=f"translate({PAD:g} {top:g})"))
    title = min(measure(graph.title, TITLE, bold=True), WIDTH - 2 * PAD)
    width = max(placed.width, title, *map(measure, notes), beyond, 240.0) + 2 * PAD
    height = top + low + 22 if graph.nodes else top - 4
    return Picture(graph.title or "template", width, height, tuple(parts))


def _draw_arrow(
    edge: Edge, nodes: Mapping[str, Node], placed: Placed, crowded: bool
) -> tuple[list[str], tuple[float, float], bool]:
    """An arrow, where the middle of its label is, and whether that hangs below it; `crowded` says that other arrows
    with labels lead to the same node."""
    (x1, y1), (x2, y2) = placed.centres[edge.source], placed.centres[edge.target]
    source, target = nodes[edge.source], nodes[edge.target]
    below = False
    if edge.is_loop:
        up = y1 - source.height / 2
        way = f"M{x1 - 14:.1f} {up:.1f}c-12 -30 40 -30 28 -8"
        head, label = _draw_head(x1 + 14, up, (-3, -10), (6, -8)), (x1, up - 28)
    elif placed.is_back(edge):
        y1, y2 = y1 + source.height / 2, y2 + target.height / 2
        low, below = max(y1, y2) + 34, True
        way = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {low:.1f} {x2:.1f} {low:.1f} {x2:.1f} {y2 + 8:.1f}"
        head, label = _draw_head(x2, y2, (-4.5, 9), (4.5, 9)), ((x1 + x2) / 2, low)
    else:
        x1, x2 = x1 + source.width / 2, x2 - target.width / 2 - 8
        way, x, y = f"M{x1:.1f} {y1:.1f}", x1, y1
        for enters, leaves, high in (*placed.passed.get(edge, ()), (x2, x2, y2)):
            half = (enters - x) / 2
            way += f"C{x + half:.1f} {y:.1f} {enters - half:.1f} {high:.1f} {enters:.1f} {high:.1f}H{leaves:.1f}"
            x, y = leaves, high
        head = _draw_head(x2 + 8, y2, (-9, -4.5), (-9, 4.5))
        label, below = _place_label(edge, placed, (x1, y1), (x2, y2), crowded)
    return [shape("path", style="edge dashed" if edge.dashed else "edge", d=way), head], label, below


def _draw_head(x: float, y: float, *others: tuple[float, float]) -> str:
    corners = [(x, y), *((x + right, y + down) for right, down in others)]
    return shape("polygon", style="head", points=" ".join(f"{one:.1f},{other:.1f}" for one, other in corners))


def _place_label(
    edge: Edge, placed: Placed, first: tuple[float, float], last: tuple[float, float], crowded: bool
) -> tuple[tuple[float, float], bool]:
    """Where the label of an arrow to a later column stands, and whether that is below the arrow.

    It is beside the arrow where that is level, before its target; where other labels lead there, too, it is beside the
    middle of the arrow, on the side that they do not come from."""
    (x1, y1), (x2, y2) = first, last
    middle = (x1 + x2) / 2
    if edge in placed.passed:
        enters, leaves, high = placed.passed[edge][0]
        return ((enters + leaves) / 2, high - 6), False
    if abs(y1 - y2) < 2:
        return (middle, y1 - 6), False
    if crowded:
        aside, high = middle + edge.width / 2 + 4, (y1 + y2) / 2
        return ((aside, high - 4), False) if y2 > y1 else ((aside, high + 14), True)
    return ((middle, y2 - 6), False) if y2 < y1 else ((middle, y2 + 15), True)


def _draw_label(edge: Edge, x: float, y: float) -> str:
    lines = [shape("tspan", quote(line), x=x, dy=_LABEL if number else 0.0) for number, line in enumerate(edge.lines)]
    return shape("text", "".join(lines), edge.label, "small halo", x=x, y=y, text_anchor="middle")


def draw_node(node: Node, x: float, y: float) -> list[str]:
    """Draw a node around its middle."""
    if node.kind in ("start", "end"):
        ring = [dot(x, y, 8, style="edge")] if node.kind == "end" else []
        return [*ring, dot(x, y, 5, style="head")]
    colour, round_ = node.colour or COLOURS[0], {"box": 4, "query": node.height / 2}.get(node.kind, 16)
    place = {"x": x - node.width / 2, "y": y - node.height / 2, "width": node.width, "height": node.height}
    look = {"fill": colour, "fill_opacity": "0.16"} if node.kind == "query" else {"style": "state"}
    parts = [shape("rect", hint=node.hint, rx=round_, stroke=colour, **place, **look)]  # type: ignore[arg-type]
    if node.kind == "final":
        inner = {name: value + (4 if name in "xy" else -8) for name, value in place.items()}
        parts.append(shape("rect", rx=round_ - 4, stroke=colour, fill="none", stroke_width=1.2, **inner))  # type: ignore[arg-type]
    first = y - 9 * (len(node.lines) - 1) + 4.5
    for number, line in enumerate(node.lines):
        weight = {"font_weight": "600"} if number == 0 and len(node.lines) > 1 else {}
        parts.append(write(line, x, first + 18 * number, "faint" if number else "", text_anchor="middle", **weight))
    return parts


def make_chips(title: str, names: Sequence[str], note: str = "") -> Picture:
    """Draw names side by side below a title, each in a colour; of many, the first ones, and how many more there are.

    Args:
        title: What they have in common.
        names: The names.
        note: What stands below the title.
    """
    colours = assign_colours(names)
    parts = [draw_title(title), *([write(note, PAD, 48, "faint")] if note else [])]
    x, y, more = PAD, 80.0 if note else 62.0, len(names) - _MOST_CHIPS
    for name in (*names[:_MOST_CHIPS], *([f"and {more:,} more"] if more > 0 else [])):
        node = Node(name, "query", (shorten(name, 34),), colours.get(name), name)
        if x > PAD and x + node.width > WIDTH - PAD:
            x, y = PAD, y + _ROW
        parts += draw_node(node, x + node.width / 2, y)
        x += node.width + 10
    return Picture(title, WIDTH, y + 30, tuple(parts))
