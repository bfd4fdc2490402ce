"""What is drawn: nodes, arrows between them, and where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from trendweave.pictures.letters import measure

#: A state of a template, one in which trends may end, where trends begin or end, a thing, or a query by its name.
NodeKind: TypeAlias = Literal["state", "final", "start", "end", "box", "query"]


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


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order in which a reader meets them, and arrows."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    notes: tuple[str, ...] = field(default=())
