"""Nodes and arrows: apart from each other, in order, and texts that fit."""

from __future__ import annotations

import trendweave
from trendweave.pictures.graphs import Edge, Graph, Node, Placed, place_nodes
from trendweave.pictures.letters import measure, shorten_apart, wrap, wrap_conditions


def place(steps: tuple[str, ...], names: str) -> tuple[tuple[Node, ...], Placed]:
    nodes = tuple(Node(name, "state", (name, "type")) for name in names)
    return nodes, place_nodes(Graph("", nodes, tuple(Edge(step[0], step[1]) for step in steps)))


def test_nodes_stand_apart_and_arrows_lead_right() -> None:
    nodes, placed = place(("ab", "bc", "ac", "cd", "da", "bb", "ae", "ef", "fd"), "abcdef")
    boxes = [(*placed.centres[node.name], node.width / 2, node.height / 2) for node in nodes]
    for number, (x, y, width, height) in enumerate(boxes):
        assert x - width >= 0
        assert x + width <= placed.width
        assert y - height >= 0
        assert y + height <= placed.height
        for other, below, across, high in boxes[:number]:
            assert abs(x - other) >= width + across or abs(y - below) >= height + high
    for source, target in ("ab", "bc", "cd", "ae", "ef", "fd"):
        assert placed.columns[source] < placed.columns[target]


def test_arrows_over_columns_pass_beside_nodes() -> None:
    nodes, placed = place(("ab", "bc", "cd", "ad", "ac"), "abcd")
    assert {(edge.source, edge.target) for edge in placed.passed} == {("a", "d"), ("a", "c")}
    for enters, leaves, high in (place for places in placed.passed.values() for place in places):
        for node in nodes:
            x, y = placed.centres[node.name]
            if enters <= x <= leaves:
                assert abs(y - high) > node.height / 2, "no arrow runs through a node"


def test_a_chain_is_straight() -> None:
    _, placed = place(("sa", "ab", "bc", "sd", "de"), "sabcde")
    ys = {name: y for name, (_, y) in placed.centres.items()}
    assert ys["a"] == ys["b"] == ys["c"]
    assert ys["d"] == ys["e"]
    assert ys["a"] < ys["s"] < ys["d"], "what leads to both stands between them"


def test_rows_keep_their_order_and_their_room() -> None:
    nodes, placed = place(("ab", "ac", "ad"), "abcd")
    heights = {name: y for name, (_, y) in placed.centres.items()}
    room = nodes[0].height + 30
    assert heights["c"] - heights["b"] == heights["d"] - heights["c"] == room
    assert heights["c"] == heights["a"]


def test_long_texts_are_broken() -> None:
    assert wrap("AVG(price) AS mean OVER 2 ROWS BY company", 30, ("OVER", "BY")) == (
        "AVG(price) AS mean",
        "OVER 2 ROWS",
        "BY company",
    )
    assert wrap("one two three four", 7, most=2) == ("one two", "three …")
    assert wrap("", 10) == ()
    assert wrap_conditions(["a < 1", "b < 2"]) == ("a < 1", "b < 2")
    assert wrap_conditions(list("abcd")) == ("a", "b", "and 2 more conditions")


def test_shortened_names_stay_apart() -> None:
    keys = [f"station of the railway line {number} in the north of Bavaria" for number in (1, 2, 31)]
    shown = shorten_apart([*keys, "short"], 24)
    assert shown["short"] == "short"
    assert list(shown.values())[:3] == [
        "statio…ne 1 in the nort…",
        "statio…ne 2 in the nort…",
        "statio…ne 31 in the nor…",
    ]
    apart = [f"{'a' * 20}{first}{'b' * 60}{second}{'c' * 20}" for first in "xy" for second in "xy"]
    shown = shorten_apart(apart, 24)
    assert len(set(shown.values())) == 4
    assert all(len(short) <= 25 for short in shown.values())
    assert shorten_apart(["same", "same"], 24) == {"same": "same"}


def test_wide_letters_are_wider() -> None:
    assert measure("illi") < measure("abcd") < measure("MWMW") < measure("\u6f22\u5b57\u6f22\u5b57")
    assert measure("ab", 26) == 2 * measure("ab", 13)


def test_conditions_of_situations_are_written_as_in_the_query() -> None:
    text = "RETURN COUNT(*) PATTERN Position P+ DEFINE Low AS altitude < 3000 WHERE P DURING Low AND P.x > 3"
    query = trendweave.query(text)
    drawn = trendweave.plot(query).svg()
    assert ">P DURING Low<" in drawn
    assert ">P.x &gt; 3<" in drawn
    assert "P DURING Low\n" in query.explain()
