"""Plans as pictures: the templates of a trend query, and the constraints between situations."""

from __future__ import annotations

from collections.abc import Iterable

from trendweave.pictures.graphs import Edge, Graph, NodeKind, make_graph
from trendweave.pictures.graphs import Node as Shape
from trendweave.pictures.picture import Picture, stack
from trendweave.planning.show.drawing import Arrow, Cluster, Drawn, Node, draw_plan
from trendweave.planning.situated_plan import QueryPlan

#: A larger template would be a tangle; `explain("dot")` gives it to Graphviz.
MOST_STATES = 40


def make_template(plan: QueryPlan) -> Picture:
    """Draw what a query looks for: its templates, or the constraints between its situations.

    Args:
        plan: The plan of a query of any kind.
    """
    parts = list(draw_plan(plan))
    clusters = [part for part in parts if isinstance(part, Cluster)] or [Cluster("", "", tuple(parts))]
    titled = sum(part.name != "situations" for part in clusters) > 1
    graphs = [_make_graph(part.title if titled or part.name == "situations" else "", part.inside) for part in clusters]
    return stack([make_graph(graph) for graph in graphs], "template", plan.text)


def _make_graph(title: str, parts: Iterable[Drawn]) -> Graph:
    nodes = [part for part in parts if isinstance(part, Node)]
    states = sum(node.shape in ("circle", "double") and bool(node.label) for node in nodes)
    if states > MOST_STATES:
        note = f'{states:,} states are too many to draw; explain("dot") is for Graphviz'
        return Graph(title or "template", (), (), (note,))
    shapes = [Shape(node.name, _find_kind(node), node.lines, hint=node.hint) for node in nodes]
    arrows = [Edge(one.source, one.target, one.label, one.dashed) for one in parts if isinstance(one, Arrow)]
    return Graph(title, tuple(shapes), tuple(arrows))


def _find_kind(node: Node) -> NodeKind:
    kinds: dict[str, NodeKind] = {"point": "start", "circle": "state", "box": "box"}
    return kinds.get(node.shape, "final" if node.label else "end")
