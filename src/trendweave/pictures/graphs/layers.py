"""Where nodes stand: in columns from left to right along the arrows, arrows back to earlier columns left aside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from trendweave.pictures.graphs.graph import Edge, Graph, Node
from trendweave.pictures.letters import shorten

#: The widest label that is written beside an arrow, in letters; a longer one loses its middle.
MOST_LETTERS = 46
_SMALL_LETTER = 6.5
_GAP, _BETWEEN = 46.0, 40.0


@dataclass(frozen=True, slots=True)
class Placed:
    """Where everything stands.

    Attributes:
        centres: Per node its middle.
        columns: Per node the number of its column.
        width: That of the drawing.
        height: That of the drawing.
    """

    centres: Mapping[str, tuple[float, float]]
    columns: Mapping[str, int]
    width: float
    height: float


def label_text(edge: Edge) -> str:
    """The label of an arrow, as long as there is place for it."""
    return shorten(edge.label, MOST_LETTERS)


def label_width(edge: Edge) -> float:
    """How wide a label is drawn, about."""
    return _SMALL_LETTER * len(label_text(edge))


def place_nodes(graph: Graph) -> Placed:
    """Find a place for every node."""
    columns = _find_columns(graph)
    order = _order_columns(graph, columns)
    nodes = {node.name: node for node in graph.nodes}
    widths = [max(_room(nodes[name], graph) for name in names) for names in order]
    gaps = [_find_gap(graph, columns, number) for number in range(len(order) - 1)]
    centres: dict[str, tuple[float, float]] = {}
    x = 0.0
    for number, names in enumerate(order):
        ys = _stand_below([nodes[name] for name in names], graph)
        for name, y in zip(names, ys, strict=True):
            centres[name] = (x + widths[number] / 2, y)
        x += widths[number] + (gaps[number] if number < len(gaps) else 0)
    top = min((centres[name][1] - _above(node, graph) for name, node in nodes.items()), default=0.0)
    bottom = max((centres[name][1] + node.height / 2 for name, node in nodes.items()), default=0.0)
    centres = {name: (x_there, y - top) for name, (x_there, y) in centres.items()}
    return Placed(centres, columns, x, bottom - top)


def is_back(edge: Edge, columns: Mapping[str, int]) -> bool:
    """Whether an arrow leads to an earlier column, or to another node of its own."""
    return edge.source != edge.target and columns[edge.target] <= columns[edge.source]


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


def _order_columns(graph: Graph, columns: Mapping[str, int]) -> list[list[str]]:
    """Nodes of each column from top to bottom, near those that lead to them."""
    order: list[list[str]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for node in graph.nodes:
        order[columns[node.name]].append(node.name)
    for _ in range(2):
        places = {name: place / max(len(names), 1) for names in order for place, name in enumerate(names)}
        for number, names in enumerate(order[1:], 1):
            wanted = {}
            for name in names:
                before = [places[e.source] for e in graph.edges if e.target == name and columns[e.source] < number]
                wanted[name] = sum(before) / len(before) if before else places[name]
            names.sort(key=wanted.__getitem__)
            places |= {name: place / len(names) for place, name in enumerate(names)}
    return order


def _room(node: Node, graph: Graph) -> float:
    """The width that a node needs with the label of its loop."""
    loops = [label_width(edge) for edge in graph.edges if edge.source == edge.target == node.name]
    return max([node.width, *loops])


def _above(node: Node, graph: Graph) -> float:
    """What a node needs above its middle, with its loop and the label of that."""
    loops = [edge for edge in graph.edges if edge.source == edge.target == node.name]
    return node.height / 2 + (0 if not loops else 42 if loops[0].label else 26)


def _stand_below(nodes: list[Node], graph: Graph) -> list[float]:
    """The middles of the nodes of a column, around one line that all columns have."""
    ys: list[float] = []
    foot = 0.0
    for node in nodes:
        ys.append(foot + _above(node, graph))
        foot = ys[-1] + node.height / 2 + _BETWEEN
    return [y - (ys[0] + ys[-1]) / 2 for y in ys]


def _find_gap(graph: Graph, columns: Mapping[str, int], number: int) -> float:
    """The way between two columns, as wide as the labels of the arrows that lead over it."""
    over = [edge for edge in graph.edges if columns[edge.source] == number and columns[edge.target] == number + 1]
    return max([_GAP, *(label_width(edge) + 34 for edge in over if edge.label)])
