"""Where nodes stand: in columns from left to right along the arrows, arrows back to earlier columns left aside.

An arrow over several columns has a place of its own in those between, so that it does not run through nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from trendweave.pictures.graphs.alignment import align_rows
from trendweave.pictures.graphs.graph import Edge, Graph, Node
from trendweave.pictures.letters import measure, wrap

#: The letters of a line of a label, about.
_LINE = 26
#: How high a line of a label is.
LABEL_HEIGHT = 14.0
_SMALL = 11.5
_GAP, _BETWEEN = 46.0, 30.0
#: What an arrow needs that passes a column.
_PASSING = 12.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything stands.

    Attributes:
        centres: Per node its middle.
        columns: Per node the number of its column.
        crowded: Nodes to which several arrows with labels lead.
        passed: Per arrow that leads over several columns, where it enters and leaves each column between, and how high.
        width: That of the drawing.
        height: That of the drawing.
    """

    centres: Mapping[str, tuple[float, float]]
    columns: Mapping[str, int]
    crowded: frozenset[str]
    passed: Mapping[Edge, tuple[tuple[float, float, float], ...]]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class _Slot:
    """What has a place in a column: a node, or an arrow that passes. What it needs above and below its middle."""

    above: float
    below: float
    width: float


def label_lines(edge: Edge) -> tuple[str, ...]:
    """The label of an arrow, in lines."""
    return wrap(edge.label, _LINE, ("AND",))


def label_width(edge: Edge) -> float:
    """How wide a label is drawn, about."""
    return max((measure(line, _SMALL) for line in label_lines(edge)), default=0.0)


def place_nodes(graph: Graph) -> Placed:
    """Find a place for every node, and for arrows that pass columns."""
    columns = _find_columns(graph)
    slots = {node.name: _slot_of(node, graph) for node in graph.nodes}
    steps, passing = _split_arrows(graph, columns)
    for edge, names in passing.items():
        above = _PASSING + LABEL_HEIGHT * len(label_lines(edge))
        slots |= {name: _Slot(above, _PASSING, label_width(edge) if edge.label else 0.0) for name in names}
    places = columns | {name: columns[edge.source] + 1 + i for edge, ns in passing.items() for i, name in enumerate(ns)}
    order = _order_columns(places, steps)
    widths = [max(slots[name].width for name in names) for names in order]
    lefts, x = list[float](), 0.0
    for number, width in enumerate(widths):
        lefts.append(x)
        x += width + (_find_gap(graph, columns, number) if number + 1 < len(widths) else 0)
    room = {name: (slot.above + _BETWEEN / 2, slot.below + _BETWEEN / 2) for name, slot in slots.items()}
    ys = align_rows(order, room, steps)
    top = min((ys[name] - slot.above for name, slot in slots.items()), default=0.0)
    bottom = max((ys[name] + slot.below for name, slot in slots.items()), default=0.0)
    centres = {node.name: (_middle(lefts, widths, columns[node.name]), ys[node.name] - top) for node in graph.nodes}
    passed = {
        edge: tuple((lefts[places[n]], lefts[places[n]] + widths[places[n]], ys[n] - top) for n in names)
        for edge, names in passing.items()
    }
    labelled = [edge.target for edge in graph.edges if edge.label and edge.source != edge.target]
    crowded = frozenset(name for name in labelled if labelled.count(name) > 1)
    return Placed(centres, columns, crowded, passed, x, bottom - top)


def is_back(edge: Edge, columns: Mapping[str, int]) -> bool:
    """Whether an arrow leads to an earlier column, or to another node of its own."""
    return edge.source != edge.target and columns[edge.target] <= columns[edge.source]


def _middle(lefts: list[float], widths: list[float], column: int) -> float:
    return lefts[column] + widths[column] / 2


def _find_columns(graph: Graph) -> dict[str, int]:
    """The longest way to each node, without arrows that lead back to where a walk came from."""
    following = defaultdict[str, list[str]](list)
    for edge in graph.edges:
        if edge.source != edge.target:
            following[edge.source].append(edge.target)
    ahead: set[tuple[str, str]] = set()
    done: dict[str, bool] = {}
    order: list[str] = []
    for first in graph.nodes:
        if first.name in done:
            continue
        done[first.name] = False
        stack = [(first.name, iter(following[first.name]))]
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


def _split_arrows(
    graph: Graph, columns: Mapping[str, int]
) -> tuple[list[tuple[str, str]], dict[Edge, tuple[str, ...]]]:
    """Arrows forwards as steps from one column to the next, and the names of the places that long ones pass."""
    steps: list[tuple[str, str]] = []
    passing: dict[Edge, tuple[str, ...]] = {}
    for number, edge in enumerate(graph.edges):
        between = columns[edge.target] - columns[edge.source] - 1
        if between < 0:
            continue
        names = tuple(f"\0{number}-{place}" for place in range(between))
        if names:
            passing[edge] = names
        way = (edge.source, *names, edge.target)
        steps += pairwise(way)
    return steps, passing


def _order_columns(places: Mapping[str, int], steps: list[tuple[str, str]]) -> list[list[str]]:
    """Names of each column from top to bottom, near those that lead to them."""
    order: list[list[str]] = [[] for _ in range(max(places.values(), default=-1) + 1)]
    for name, column in places.items():
        order[column].append(name)
    before = defaultdict[str, list[str]](list)
    for source, target in steps:
        before[target].append(source)
    for _ in range(2):
        heights = {name: place / max(len(names), 1) for names in order for place, name in enumerate(names)}
        for names in order[1:]:
            wanted = {}
            for name in names:
                there = [heights[source] for source in before[name]]
                wanted[name] = sum(there) / len(there) if there else heights[name]
            names.sort(key=wanted.__getitem__)
            heights |= {name: place / len(names) for place, name in enumerate(names)}
    return order


def _slot_of(node: Node, graph: Graph) -> _Slot:
    """What a node needs, with its loop and the label of that."""
    loops = [edge for edge in graph.edges if edge.source == edge.target == node.name]
    above = node.height / 2
    if loops:
        above += 26 + max(LABEL_HEIGHT * len(label_lines(loop)) for loop in loops)
    elif any(edge.label and node.name in (edge.source, edge.target) for edge in graph.edges):
        # Labels before and behind it may be higher than itself.
        above = max(above, 6 + max(LABEL_HEIGHT * len(label_lines(edge)) for edge in graph.edges))
    return _Slot(above, node.height / 2, max([node.width, *map(label_width, loops)]))


def _find_gap(graph: Graph, columns: Mapping[str, int], number: int) -> float:
    """The way between two columns, as wide as the labels of the arrows that lead over it."""
    over = [edge for edge in graph.edges if columns[edge.source] == number and columns[edge.target] == number + 1]
    labelled = [edge for edge in over if edge.label]
    # Labels of arrows that meet stand beside the middle of their arrows.
    wide = 1.6 if len({edge.target for edge in labelled}) < len(labelled) else 1.0
    return max([_GAP, *(wide * label_width(edge) + 34 for edge in labelled)])
