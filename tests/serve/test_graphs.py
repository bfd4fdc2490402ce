"""Templates and workloads are drawn from what `explain("dot")` writes."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

import trendweave
from trendweave.serve.worker.graphs import Arrow, Node, read_graph
from trendweave.serve.worker.layout import draw_graph

NEGATED = "RETURN COUNT(*) PATTERN SEQ(Request R, NOT Pickup P, Drop D+) WHERE D.x < NEXT(D).x"
QUERIES = [
    NEGATED,
    "RETURN COUNT(*) PATTERN SEQ(A, (B OR C)+, D?) WHERE B.name = 'say \"a > b\"; [x]'",
    "FROM R DEFINE F AS degrees > 38, G AS pulse > 100 PATTERN F during G WITHIN 1 hour RETURN COUNT(G)",
    "FROM S DEFINE Fast AS price > 100 RETURN COUNT(*) PATTERN S S+ WHERE S DURING Fast WITHIN 5 minutes",
]


def test_a_graph_is_read() -> None:
    graph = read_graph(trendweave.query(NEGATED).explain("dot"))

    assert [box.label for box in graph.boxes] == ["pattern", "NOT Pickup P"]
    assert graph.nodes["t0_1"] == Node("t0_1", "Drop D", "doublecircle", 0)
    assert graph.nodes["n0_0"].box == 1
    assert Arrow("t0_0", "t0_1", "NOT Pickup P", dashed=True) in graph.arrows
    assert Arrow("t0_1", "t0_1", "D.x < NEXT(D).x") in graph.arrows


def test_boxes_inside_boxes_and_arrows_to_boxes_are_read() -> None:
    rules = {"one": "RETURN COUNT(*) PATTERN SEQ(A, B+, C)", "two": "RETURN COUNT(*) PATTERN SEQ(D, B+)"}
    graph = read_graph(trendweave.workload(rules).explain("dot"))

    assert [(box.label, box.outer) for box in graph.boxes][1] == ("part B+", 0)
    assert {node.label for node in graph.nodes.values() if node.box == 1} == {"B"}
    assert [arrow.to_box for arrow in graph.arrows if arrow.to_box] == ["cluster_u0"]


@pytest.mark.parametrize("text", QUERIES)
def test_every_node_is_drawn_and_none_on_another(text: str) -> None:
    graph = read_graph(trendweave.query(text).explain("dot"))
    picture = ET.fromstring(draw_graph(graph, "a <title>"))

    labels = ["".join(one.itertext()) for one in picture.iter("text")]
    for node in graph.nodes.values():
        assert not node.label or any(node.label[:20] in label for label in labels)
    rects = [one.attrib for one in picture.iter("rect") if "node" in one.attrib["class"]]
    places = [tuple(float(rect[side]) for side in ("x", "y", "width", "height")) for rect in rects]
    for place, (x, y, width, height) in enumerate(places):
        for other_x, other_y, other_width, other_height in places[:place]:
            apart = x >= other_x + other_width or other_x >= x + width
            assert apart or y >= other_y + other_height or other_y >= y + height
    _, _, right, bottom = map(float, re.findall(r"[\d.]+", picture.attrib["viewBox"]))
    assert all(x + width <= right and y + height <= bottom for x, y, width, height in places)
