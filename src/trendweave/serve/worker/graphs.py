"""Reads the graphs that `explain("dot")` writes: nodes, arrows, and boxes around some of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|->|[\w.]+|[{}\[\]=;,]')


@dataclass(frozen=True, slots=True)
class Node:
    """`shape` is one of those of Graphviz; `box` the number of the innermost box that it lies in."""

    name: str
    label: str
    shape: str
    box: int | None


@dataclass(frozen=True, slots=True)
class Arrow:
    """`to_box` is the name of a box at whose edge it ends, instead of at its target."""

    source: str
    target: str
    label: str = ""
    dashed: bool = False
    to_box: str = ""


@dataclass(slots=True)
class Box:
    """`outer` is the number of the box around it."""

    name: str
    outer: int | None
    label: str = ""


@dataclass(slots=True)
class Graph:
    """In the order in which they were written."""

    nodes: dict[str, Node] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)


def read_graph(text: str) -> Graph:
    """Read a graph as this package writes it; what other programs may write is not all known here."""
    graph = Graph()
    tokens = list(_TOKEN.findall(text))
    open_boxes: list[int] = []
    shapes = ["ellipse"]
    place = tokens.index("{") + 1
    while place < len(tokens):
        word = tokens[place]
        if word == "subgraph":
            graph.boxes.append(Box(tokens[place + 1], open_boxes[-1] if open_boxes else None))
            open_boxes.append(len(graph.boxes) - 1)
            shapes.append(shapes[-1])
            place += 3
        elif word == "}":
            if not open_boxes:
                break
            open_boxes.pop()
            shapes.pop()
            place += 1
        elif word == ";":
            place += 1
        else:
            end = _end_of(tokens, place)
            _read_statement(tokens[place:end], graph, open_boxes, shapes)
            place = end
    return graph


def _end_of(tokens: list[str], place: int) -> int:
    """Statements end with a semicolon."""
    return next((end for end in range(place, len(tokens)) if tokens[end] == ";"), len(tokens))


def _read_statement(words: list[str], graph: Graph, boxes: list[int], shapes: list[str]) -> None:
    options = dict(_read_options(words))
    box = boxes[-1] if boxes else None
    if words[0] == "node":
        shapes[-1] = options.get("shape", shapes[-1])
    elif len(words) > 1 and words[1] == "=":
        if words[0] == "label" and box is not None:
            graph.boxes[box].label = _plain(words[2])
    elif len(words) > 1 and words[1] == "->":
        dashed = options.get("style") == "dashed"
        graph.arrows.append(Arrow(words[0], words[2], options.get("label", ""), dashed, options.get("lhead", "")))
    else:
        shape = options.get("shape", shapes[-1])
        graph.nodes[words[0]] = Node(words[0], options.get("label", words[0]), shape, box)


def _read_options(words: list[str]) -> Iterator[tuple[str, str]]:
    """What stands in brackets: names and values."""
    if "[" not in words:
        return
    inner = words[words.index("[") + 1 :]
    for place, word in enumerate(inner):
        if word == "=":
            yield inner[place - 1], _plain(inner[place + 1])


def _plain(word: str) -> str:
    return re.sub(r"\\(.)", r"\1", word[1:-1]) if word.startswith('"') else word
